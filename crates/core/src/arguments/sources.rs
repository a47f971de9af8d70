//! What a form is filled from.

use crate::form::Field;
use jiff::civil::DateTime;
use serde_json::{Map, Value};
use toolyard_encoder::{Embedding, FieldReading, RequestReading};

/// What a form is filled from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// What the person said.
    pub task: &'a str,
    /// Arguments that the caller knows; they always win.
    pub given: &'a Map<String, Value>,
    /// Values under names of the caller's own, where it says that these are all.
    pub named: Option<Named<'a>>,
    /// What the argument reader says, where it was asked: of the task, or of [`spoken`] where values are named.
    ///
    /// [`spoken`]: super::spoken
    pub reading: Option<&'a RequestReading>,
    /// Results of earlier steps, the latest last.
    pub earlier: &'a [Value],
    /// The time where the person is.
    pub now: Now,
}

impl<'a> Sources<'a> {
    /// Returns what the reader says of a field by words alone. Beside named values, words say only choices.
    pub(super) fn reading_of_words(&self, at: usize, field: &Field) -> Option<&'a FieldReading> {
        self.reading.filter(|_| self.named.is_none() || !field.choices.is_empty())?.fields.get(at)
    }

    /// Returns what the reader says of a field by the values that the caller named.
    pub(super) fn reading_of_values(&self, at: usize) -> Option<&'a FieldReading> {
        self.reading.filter(|_| self.named.is_some())?.fields.get(at)
    }
}

/// Values under names of the caller's own.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The values.
    pub values: &'a Map<String, Value>,
    /// How alike their names and the fields are, where something compares meanings.
    pub nearness: Option<&'a Nearness>,
}

/// How alike the names of values and the fields of a form are, as an encoder sees them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nearness {
    /// For each value, for each field, the cosine with its name and with its name and description.
    pub cosines: Vec<Vec<[f32; 2]>>,
}

impl Nearness {
    /// Compares the names of values with the fields of a form.
    pub fn of(values: &[Embedding], fields: &[[Embedding; 2]]) -> Self {
        let row = |value: &Embedding| -> Vec<[f32; 2]> {
            fields.iter().map(|field| field.each_ref().map(|it| value.cosine(it))).collect()
        };
        Self { cosines: values.iter().map(row).collect() }
    }
}

/// A moment where a person is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Date and time on the wall.
    pub at: DateTime,
    /// Seconds that the wall is ahead of UTC.
    pub offset: i32,
}
