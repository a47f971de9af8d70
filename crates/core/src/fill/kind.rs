//! The format of a file, which the file's own name says: what is written to `report.docx` has the format docx.

use serde_json::Value;

use super::ballot::Elected;
use super::{Evidence, Source, Wish};
use crate::form::{Field, Form};
use crate::lexicon::{file_format, split_ending};

/// How sure it is that a file has the format of its ending.
const ENDING: f64 = 0.9;

/// Fills open fields that ask for the format of a file whose path is known.
pub(super) fn fill(form: &Form, wish: &Wish<'_>, elected: &mut Vec<Elected>) {
    for (at, field) in form.fields().iter().enumerate() {
        let is_open = field.head() == "format"
            && !field.choices.is_empty()
            && !field.is_list
            && !wish.given.contains_key(field.parameter())
            && !elected.iter().any(|it| it.field == at);
        let Some(choice) = Some(field).filter(|_| is_open).and_then(|_| of_file(form, field, wish, elected))
        else {
            continue;
        };
        if field.default.as_ref() != Some(&choice) {
            elected.push(Elected {
                field: at,
                value: choice,
                source: Source::Implied,
                confidence: ENDING,
                evidence: Evidence::Shape,
            });
        }
    }
}

/// Returns the choice that the file has which belongs to a field: `output_file` to `output_format`.
fn of_file(form: &Form, field: &Field, wish: &Wish<'_>, elected: &[Elected]) -> Option<Value> {
    let qualifier =
        |it: &Field| it.name_terms.split_last().map(|(_, rest)| rest.to_vec()).unwrap_or_default();
    let is_its = |(_, it): &(usize, &Field)| it.is_for_paths() && qualifier(it) == qualifier(field);
    let (at, file) = form.fields().iter().enumerate().find(is_its)?;
    let found = elected.iter().find(|it| it.field == at).map(|it| &it.value);
    let path = found.or_else(|| wish.given.get(file.parameter()))?.as_str()?;
    let format = file_format(split_ending(path)?.1)?;
    let is_it = |choice: &&Value| choice.as_str().and_then(file_format) == Some(format);
    field.choices.iter().find(is_it).cloned()
}
