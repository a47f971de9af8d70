//! The tools of one listing, with their pins.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::known::ApprovedTools;
use super::{Pin, digest};
use crate::store::PinRow;

/// The tools of one listing with their pins.
#[derive(Debug, Default)]
pub(crate) struct Sighting {
    pub(super) tools: Vec<SeenTool>,
}

/// All definitions that a server lists under one name.
#[derive(Debug)]
pub(super) struct SeenTool {
    pub(super) name: String,
    pub(super) pin: String,
    pub(super) raw: String,
    /// The approved pin of which only numbers in texts differ.
    pub(super) like: Option<String>,
    /// Their places in what was looked at.
    pub(super) at: Vec<usize>,
}

impl Sighting {
    /// Returns the names of its tools.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|seen| seen.name.as_str())
    }

    /// Returns the places of its tools in what was looked at.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        self.tools.iter().flat_map(|seen| seen.at.iter().copied())
    }

    /// Reads tools; those whose very text was approved need no second look.
    pub(super) fn of<'t>(
        tools: impl Iterator<Item = &'t Box<RawValue>>,
        approved: Option<&ApprovedTools>,
    ) -> Self {
        let mut names: Vec<(String, Vec<(usize, &str)>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, definition) in tools.enumerate() {
            // One without a name is nobody's tool, and the catalog says so.
            let Some(name) = name_of(definition) else { continue };
            let place = *places.entry(name.clone()).or_insert(names.len());
            match names.get_mut(place) {
                Some((_, texts)) => texts.push((at, definition.get())),
                None => names.push((name, vec![(at, definition.get())])),
            }
        }
        let seen = |(name, texts): (String, Vec<(usize, &str)>)| {
            let raw = digest(texts.iter().map(|(_, text)| *text));
            let same = approved.and_then(|it| it.get(&name)?.iter().find(|row| row.raw == raw));
            let pin = match same {
                Some(row) => row.pin.clone(),
                None => Pin::of_all(texts.iter().map(|(_, text)| *text)).0,
            };
            SeenTool { name, pin, raw, like: None, at: texts.into_iter().map(|(at, _)| at).collect() }
        };
        Self { tools: names.into_iter().map(seen).collect() }
    }
}

impl SeenTool {
    /// Whether only numbers in texts differ from what was approved.
    pub(super) fn is_like(&self, row: &PinRow) -> bool {
        self.like.as_ref() == Some(&row.pin)
    }

    pub(super) fn row(&self) -> PinRow {
        PinRow { tool: self.name.clone(), pin: self.pin.clone(), raw: self.raw.clone() }
    }
}

/// Returns the name of a definition.
fn name_of(definition: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str::<Named>(definition.get()).ok().map(|it| it.name)
}
