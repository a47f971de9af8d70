//! Arguments, where they come from, and which of them may be sent without a question.

use serde::Serialize;
use serde_json::{Map, Value};

use super::sources::Sources;
use crate::form::{Field, Form, Missing};
use crate::lexicon::Action;
use crate::thresholds::thresholds;
use crate::tool::Effect;
use crate::tool::purpose::{is_content, is_identity};

/// A form with what could be filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filling {
    /// The arguments, in the order of the schema.
    pub arguments: Vec<Argument>,
    /// The fields that are needed and have no value.
    pub missing: Vec<Missing>,
    /// The names of the caller's values that have no place.
    pub unused: Vec<String>,
    /// What the request says that no argument has.
    pub leftover: Leftover,
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

/// What a request says that no argument has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    /// The texts, in their order: numbers, what stands in quotation marks, names, other words.
    pub texts: Vec<(Remark, String)>,
    /// Whether it asks a question, or says what is not to be done: that orders nothing.
    pub is_no_order: bool,
}

/// What a text is that no argument has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A number.
    Number,
    /// A day or a time.
    Moment,
    /// What stands in quotation marks.
    Quoted,
    /// A name, an identifier, a path: what is written as no ordinary word is.
    Name,
    /// An ordinary word that neither the tool nor its fields have.
    Word,
}

impl Leftover {
    /// Returns how many texts of a kind there are.
    pub fn count(&self, remark: Remark) -> usize {
        self.texts.iter().filter(|(own, _)| *own == remark).count()
    }

    /// Returns what must not get lost: everything but ordinary words.
    pub fn content(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().filter(|(own, _)| *own != Remark::Word).map(|(_, text)| text.as_str())
    }
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
    /// The caller gave it under a name of its own.
    Named,
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

impl Argument {
    /// Whether it is worth a question where a mistake does harm.
    pub fn is_doubtful(&self) -> bool {
        self.confidence < thresholds().arguments.doubtful
    }

    /// Whether a tool that changes something may be sent it without a question.
    pub fn is_certain(&self) -> bool {
        // What looks like a path is no text to be written: a text has to be marked as one.
        let is_text = is_content(&self.name);
        let limits = &thresholds().arguments;
        let least = match self.evidence {
            Evidence::Marked => limits.sure_marked,
            Evidence::Shape if !is_text => limits.sure_shape,
            Evidence::Shape | Evidence::Prose => limits.sure_prose,
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
    /// What the caller gave or the request says and no argument has.
    pub unused: Vec<String>,
}

impl Filling {
    /// Decides what is sent to a tool. A mistake in a call that changes something stays, so there what is not certain is
    /// asked for, and so is what it is to change.
    pub fn settle(self, form: &Form, sources: &Sources<'_>, effect: Effect, action: Action) -> Settled {
        let mut settled = Settled { missing: self.missing, unused: self.unused, ..Settled::default() };
        let is_needed = |it: &Argument| form.required().any(|name| name == it.name);
        // What only the meaning of words speaks for, and may be left out, is left out unless it is likely.
        let is_idle = |it: &Argument| {
            let is_weak =
                it.confidence < thresholds().arguments.implied || it.value.is_boolean() && !it.is_certain();
            it.source == Source::Implied && is_weak && !is_needed(it)
        };
        let found = self.arguments.into_iter().filter(|it| it.source != Source::Given && !is_idle(it));
        for argument in found {
            // Of what the caller named, the whole call says how sure it is.
            let is_named = argument.source == Source::Named;
            if effect == Effect::Read || is_named || argument.is_certain() {
                settled.found.push(argument);
            } else if !argument.is_doubtful() || is_needed(&argument) {
                settled.missing.extend(form.of_parameter(&argument.name).next().map(Field::missing));
                settled.guesses.push(argument);
            }
        }
        // Who calls a tool by its name and says no more means just that.
        if effect != Effect::Read && settled.missing.is_empty() && !sources.task.is_empty() {
            let found = settled.found.iter().map(|it| it.name.as_str());
            let names: Vec<&str> = sources.given.keys().map(String::as_str).chain(found).collect();
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
        let is_found = |it: &&Argument| matches!(it.source, Source::Text | Source::Implied);
        self.arguments.iter().filter(is_found).filter(|it| it.is_doubtful() || !it.is_certain())
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
