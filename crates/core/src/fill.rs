//! Arguments from words: which part of a request fills which field of a tool's form.
//!
//! What is sent is in the text, given by the caller, part of an earlier result, a default of the schema, or
//! said in other words; nothing is invented. It fits the schema or it is not sent.

mod advice; //    what a language model may add
mod alike; //     when values are the same
mod assembly; //  fields become arguments
mod ballot; //    which values the fields get
mod candidate; // which values a field could have
mod features; //  what speaks for a value
mod grounds; //   whether a request says a value
mod kind; //      what a file name says
mod owned; //     owner and name, said in one word
mod page; //      a request, read
mod quantity; //  numbers
mod result; //    values of earlier results
mod series; //    values beside the one that was filled in
mod sign; //      values that show themselves
mod token; //     the pieces of a text
mod weights; //   how much each feature counts
mod when; //      dates and times
mod world; //     codes and places

use jiff::civil::DateTime;
use serde::Serialize;
use serde_json::{Map, Value};

pub use advice::{Advice, Consultation};
pub use alike::alike;
pub use ballot::{Ballot, ballots};
pub use result::{Discovery, Which, each_of_result, from_result};
pub use series::{Series, may_list, series};
pub use weights::Scales;

pub use crate::form::{Field, Form, Missing, is_of_type};
use crate::lexicon::Action;
use crate::tool::Effect;
use crate::tool::purpose::{is_content, is_identity};
use ballot::Elected;

/// What a form is filled from.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// What the person said.
    pub task: &'a str,
    /// Arguments that the caller knows; they always win.
    pub given: &'a Map<String, Value>,
    /// Results of earlier steps, the latest last.
    pub earlier: &'a [Value],
    /// The time where the person is.
    pub now: Now,
}

/// A moment where a person is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Date and time on the wall.
    pub at: DateTime,
    /// Seconds that the wall is ahead of UTC.
    pub offset: i32,
}

/// A form with what could be filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filling {
    /// The arguments, in the order of the schema.
    pub arguments: Vec<Argument>,
    /// The fields that are needed and have no value.
    pub missing: Vec<Missing>,
}

/// One argument and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Argument {
    /// The parameter.
    pub name: String,
    /// Its value, which fits the schema.
    pub value: Value,
    /// Where the value comes from.
    pub source: Source,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// How plainly the request says it.
    #[serde(skip)]
    pub evidence: Evidence,
}

/// How plainly a request says a value, the least plain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// In words of a sentence that may as well mean something else.
    Prose,
    /// In a form that sentences do not have, such as an address, a number or a date.
    Shape,
    /// In quotation marks, as JSON, behind a colon, as a tag, right behind the name of its parameter, as a path where a
    /// path is wanted, or as one of the listed choices in its own word.
    Marked,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The caller gave it.
    Given,
    /// It stands in the text, perhaps in another form.
    Text,
    /// Words of the text mean it.
    Implied,
    /// It was part of an earlier result.
    Earlier,
    /// The schema says so.
    Default,
    /// A language model found it in the text.
    Model,
}

/// A value of an earlier result whose name fits less is not taken without being asked for.
const LEAST_FIT: f64 = 0.4;
/// Values that are asked for where it is not clear which of them the schema needs.
const MOST_ASKED: usize = 8;
/// Below this an argument is worth a question where a mistake does harm.
const DOUBT: f64 = 0.5;
/// How sure a value must be before a tool that changes something is sent it, by how plainly it is said. On held-out tools
/// .88, .95 and .94 of such values are right (`examples/fit_arguments` prints the table).
const SURE_MARKED: f64 = 0.35;
const SURE_SHAPE: f64 = 0.9;
const SURE_PROSE: f64 = 0.95;

impl Argument {
    /// Whether it is worth a question where a mistake does harm.
    pub fn is_doubtful(&self) -> bool {
        self.confidence < DOUBT
    }

    /// Whether a tool that changes something may be sent it without a question.
    pub fn is_certain(&self) -> bool {
        // What looks like a path is no text to be written: a text has to be marked as one.
        let is_text = is_content(&self.name);
        let least = match self.evidence {
            Evidence::Marked => SURE_MARKED,
            Evidence::Shape if !is_text => SURE_SHAPE,
            Evidence::Shape | Evidence::Prose => SURE_PROSE,
        };
        self.confidence >= least
    }
}

/// What of a filled form may be sent, and what has to be asked for first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settled {
    /// What was found beside what the caller gave, and may be sent.
    pub found: Vec<Argument>,
    /// What is needed.
    pub missing: Vec<Missing>,
    /// What was found for something that is missing, and is not certain.
    pub guesses: Vec<Argument>,
}

impl Filling {
    /// Decides what is sent to a tool. A mistake in a call that changes something stays, so there what is not certain is
    /// asked for, and so is what it is to change.
    pub fn settle(self, form: &Form, wish: &Wish<'_>, effect: Effect, action: Action) -> Settled {
        let mut settled = Settled { missing: self.missing, ..Settled::default() };
        for argument in self.arguments.into_iter().filter(|it| it.source != Source::Given) {
            if effect == Effect::Read || argument.is_certain() {
                settled.found.push(argument);
            } else if !argument.is_doubtful() || form.required().any(|name| name == argument.name) {
                settled.missing.extend(form.of_parameter(&argument.name).next().map(Field::missing));
                settled.guesses.push(argument);
            }
        }
        // Who calls a tool by its name and says no more means just that.
        if effect != Effect::Read && settled.missing.is_empty() && !wish.task.is_empty() {
            let found = settled.found.iter().map(|it| it.name.as_str());
            let names: Vec<&str> = wish.given.keys().map(String::as_str).chain(found).collect();
            settled.missing.extend(form.unsaid(action, &names));
        }
        settled
    }

    /// Returns the arguments as they are sent.
    pub fn object(&self) -> Map<String, Value> {
        self.arguments.iter().map(|it| (it.name.clone(), it.value.clone())).collect()
    }

    /// Returns the arguments that are not sure.
    pub fn doubtful(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|it| it.is_doubtful())
    }
}

impl Form {
    /// Returns what to ask for where a call is to change or send something and nobody said what: nothing is given, or for a
    /// change nothing but which thing it is about. Something new may well begin empty.
    pub(crate) fn unsaid(&self, action: Action, names: &[&str]) -> Option<Missing> {
        let is_required = |name: &str| self.required().any(|required| required == name);
        let says_which = |name: &&str| is_required(name) && is_identity(name);
        let is_bare = action == Action::Update && names.iter().all(says_which)
            || action == Action::Send && names.is_empty();
        let open =
            || self.fields().iter().filter(|it| it.path.len() == 1 && !names.contains(&it.parameter()));
        let text = || open().find(|it| is_content(it.parameter()));
        let any = || text().or_else(|| open().find(|it| !it.is_flag()));
        is_bare.then(any).flatten().map(Field::missing)
    }
}

/// Fills in a form.
pub fn fill(form: &Form, wish: &Wish<'_>) -> Filling {
    fill_with(form, wish, Scales::builtin())
}

/// Fills in a form with other weights than those that come with the product.
pub fn fill_with(form: &Form, wish: &Wish<'_>, scales: &Scales) -> Filling {
    let mut leaves = ballot::elect(form, wish, scales);
    kind::fill(form, wish, &mut leaves);
    earlier(form, wish, &mut leaves);
    fixed(form, wish, &mut leaves);
    twice(form, wish, &mut leaves);
    leaves.sort_by_key(|leaf| leaf.field);
    needed(form, wish, sound(form, wish, assembly::assemble(form, wish, &leaves)))
}

/// Asks for what the tool needs with these arguments although its schema does not simply require it.
fn needed(form: &Form, wish: &Wish<'_>, mut filling: Filling) -> Filling {
    let is_own = |it: &Argument| it.source == Source::Given;
    let is_callers = !wish.given.is_empty() && filling.arguments.iter().all(is_own);
    if filling.missing.is_empty() && !is_callers {
        let known = filling.object();
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        filling.missing = form.lacks(&names, &known).into_iter().map(Field::missing).collect();
    }
    filling
}

/// Sends nothing of what was found that the schema as a whole does not take, and asks instead.
fn sound(form: &Form, wish: &Wish<'_>, mut filling: Filling) -> Filling {
    let is_own = |it: &Argument| it.source == Source::Given;
    let is_callers = !wish.given.is_empty() && filling.arguments.iter().all(is_own);
    if !filling.missing.is_empty() || is_callers || form.admits(&filling.object()) {
        return filling;
    }
    let is_needed = |it: &Argument| is_own(it) || form.required().any(|name| name == it.name);
    filling.arguments.retain(is_needed);
    if !form.admits(&filling.object()) {
        filling.arguments.retain(is_own);
        let open = form.fields().iter().filter(|field| !wish.given.contains_key(field.parameter()));
        filling.missing = open.take(MOST_ASKED).map(Field::missing).collect();
    }
    filling
}

/// Takes from earlier results what is needed and was not said.
fn earlier(form: &Form, wish: &Wish<'_>, leaves: &mut Vec<Elected>) {
    for (at, field) in form.fields().iter().enumerate() {
        let is_open = field.is_required
            && !wish.given.contains_key(field.parameter())
            && !leaves.iter().any(|leaf| leaf.field == at);
        if !is_open {
            continue;
        }
        let found = wish.earlier.iter().rev().find_map(|result| {
            from_result(form, field, result, Which::First).filter(|found| found.fit >= LEAST_FIT)
        });
        if let Some(Discovery { value, fit }) = found {
            leaves.push(Elected {
                field: at,
                value,
                source: Source::Earlier,
                confidence: fit,
                evidence: Evidence::Marked,
            });
        }
    }
}

/// Gives a field that repeats another one the value of that.
fn twice(form: &Form, wish: &Wish<'_>, leaves: &mut Vec<Elected>) {
    for (at, field) in form.fields().iter().enumerate() {
        let Some(own) = form.repeated_by(field).filter(|_| !wish.given.contains_key(field.parameter()))
        else {
            continue;
        };
        let told = leaves.iter().find(|leaf| leaf.field == own).cloned();
        let given = || wish.given.get(form.fields()[own].parameter()).cloned();
        let given = || {
            Some(Elected {
                field: own,
                value: given()?,
                source: Source::Implied,
                confidence: 1.0,
                evidence: Evidence::Marked,
            })
        };
        leaves.retain(|leaf| leaf.field != at);
        if let Some(leaf) = told.or_else(given).filter(|leaf| form.takes(field, &leaf.value)) {
            leaves.push(Elected { field: at, source: Source::Implied, ..leaf });
        }
    }
}

/// Takes what the schema itself determines: defaults of what is needed, and values without a choice.
fn fixed(form: &Form, wish: &Wish<'_>, leaves: &mut Vec<Elected>) {
    for (at, field) in form.fields().iter().enumerate() {
        let is_open = field.is_required
            && !wish.given.contains_key(field.parameter())
            && !leaves.iter().any(|leaf| leaf.field == at);
        let only = field.choices.first().filter(|_| field.choices.len() == 1 && !field.is_list);
        let value = field.default.as_ref().or(only).filter(|it| is_open && !it.is_null());
        if let Some(value) = value.filter(|value| form.takes(field, value)) {
            leaves.push(Elected {
                field: at,
                value: value.clone(),
                source: Source::Default,
                confidence: 1.0,
                evidence: Evidence::Marked,
            });
        }
    }
}

#[cfg(test)]
mod tests;
