//! The form of one language's file.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::{Action, Language};

/// The words of one language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    pub(crate) language: Language,
    /// Verbs and phrases by the action they ask for; `*` stands for any ending.
    pub(crate) verbs: BTreeMap<Action, Vec<String>>,
    /// Other words with content, and the English for them; `*` stands for any ending.
    pub(crate) glosses: BTreeMap<String, String>,
    /// Words without content.
    pub(crate) stop_words: Vec<String>,
    pub(crate) clauses: Clauses,
    /// Words that ask.
    pub(crate) questions: Vec<String>,
    pub(crate) stand_ins: StandIns,
    pub(crate) calendar: Calendar,
    pub(crate) numbers: Numbers,
    /// Words that nearly every text has. `on`, `off`, `up` and `not` are none of them: they tell tools apart.
    pub(crate) noise: Vec<String>,
    /// What ends with a point that ends nothing, as it is written, without the point.
    pub(crate) abbreviations: Vec<String>,
    pub(crate) intent: Intent,
    pub(crate) prepositions: Prepositions,
    pub(crate) lists: Lists,
    /// Words that turn a meaning around.
    pub(crate) negations: Vec<String>,
    /// Words with which a sentence asks for something.
    pub(crate) requests: Vec<String>,
    pub(crate) answers: Answers,
}

/// What the clauses of a task begin with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clauses {
    /// Where verbs stand in a clause.
    pub(crate) verb: VerbPlace,
    /// What follows is done afterwards.
    pub(crate) then: Vec<String>,
    /// Joins words as often as clauses.
    pub(crate) and: Vec<String>,
    /// What follows is done afterwards although it may be said first.
    pub(crate) before: Vec<String>,
    /// What follows is done first.
    pub(crate) after: Vec<String>,
    /// What follows is a list.
    pub(crate) each: Vec<String>,
    /// Only leads over to a request.
    pub(crate) polite: Vec<String>,
    /// Only says how the answer to the request before is told.
    pub(crate) report: Vec<String>,
    /// Begins to tell what something says or is for, which may hold verbs of its own.
    pub(crate) content: Vec<String>,
    /// Words that are nouns as often as verbs.
    pub(crate) nouns_or_verbs: Vec<String>,
    /// Words that never begin a command.
    pub(crate) never_verbs: Vec<String>,
    /// Words that begin the object of a verb.
    pub(crate) object_starts: Vec<String>,
    /// Endings of verbs that are no commands.
    pub(crate) inflections: Vec<String>,
    /// Verbs that only look as if they had such an ending.
    pub(crate) uninflected: Vec<String>,
}

/// Where verbs stand.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum VerbPlace {
    First,
    Last,
}

/// What stands for something that was said or found before.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StandIns {
    pub(crate) one: Vec<String>,
    pub(crate) many: Vec<String>,
    /// The first of several.
    pub(crate) first: Vec<String>,
    /// The last of several.
    pub(crate) last: Vec<String>,
    /// Words that pick one of several by its age or place.
    pub(crate) superlatives: Vec<String>,
    /// Single words with which a request goes back to what was said before.
    pub(crate) pronouns: Vec<String>,
}

/// Words of dates and times.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calendar {
    /// Months, January being 1.
    pub(crate) months: HashMap<String, i8>,
    /// Days of the week, Monday being 1.
    pub(crate) weekdays: HashMap<String, i8>,
    /// Days counted from today.
    pub(crate) days: HashMap<String, i32>,
    pub(crate) next: Vec<String>,
    pub(crate) last: Vec<String>,
    pub(crate) this: Vec<String>,
    pub(crate) ago: Vec<String>,
    /// Parts of the day, with the hour and minute they begin.
    pub(crate) parts: HashMap<String, (i8, i8)>,
    pub(crate) units: BTreeMap<Unit, Vec<String>>,
    /// Words before a time from now.
    pub(crate) within: Vec<String>,
    /// Words before a time that has passed.
    pub(crate) before: Vec<String>,
    /// Days of the week that are words of their own as well.
    pub(crate) ambiguous: Vec<String>,
    /// Words between a day and its month.
    pub(crate) of: Vec<String>,
    /// Words between a date and a time.
    pub(crate) between: Vec<String>,
    /// Words before a time of day.
    pub(crate) at: Vec<String>,
    /// Words behind a time of day.
    pub(crate) clock: Vec<String>,
    /// Signs behind the numbers of a date.
    pub(crate) marks: DateMarks,
}

/// Signs behind the year, the month and the day of a date, as in `2026年10月8日`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DateMarks {
    pub(crate) year: Vec<String>,
    pub(crate) month: Vec<String>,
    pub(crate) day: Vec<String>,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// Numbers in words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Numbers {
    pub(crate) words: HashMap<String, f64>,
    /// What a number in front is multiplied by.
    pub(crate) scales: HashMap<String, f64>,
    pub(crate) ordinals: HashMap<String, f64>,
    /// Scales that may stand without a number.
    pub(crate) bare_scales: Vec<String>,
    /// What digits end with to be an ordinal.
    pub(crate) ordinal_endings: Vec<String>,
    pub(crate) percent: Vec<String>,
}

/// Words that tell how clear a request is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Intent {
    /// Verbs that say little: a later one tells what is wanted.
    pub(crate) weak_verbs: Vec<String>,
    /// Words that ask for more than an ordinary change.
    pub(crate) forcing: Vec<String>,
    /// Words that stand for what was not said.
    pub(crate) vague: Vec<String>,
}

/// Words before something.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prepositions {
    /// Before what something becomes.
    pub(crate) into: Vec<String>,
    /// Before where something goes.
    pub(crate) to: Vec<String>,
    /// Before where something comes from.
    pub(crate) from: Vec<String>,
    /// Before where something is.
    pub(crate) place: Vec<String>,
    /// Before a repository.
    pub(crate) repository: Vec<String>,
}

/// Words in lists and ranges.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lists {
    pub(crate) and: Vec<String>,
    pub(crate) or: Vec<String>,
    /// Words before a range.
    pub(crate) range_starts: Vec<String>,
    /// Words between the ends of a range.
    pub(crate) range_joins: Vec<String>,
}

/// How people answer which one they mean, and whether they agree.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answers {
    /// Words that pick by number.
    pub(crate) ordinals: HashMap<String, usize>,
    /// Words that pick the last.
    pub(crate) last: Vec<String>,
    /// Words that may stand beside these without saying more.
    pub(crate) fillers: Vec<String>,
    /// Words that an answer begins with which agrees.
    pub(crate) yes: Vec<String>,
    /// Words and phrases of which an answer consists that agrees and says nothing else.
    pub(crate) agreeing: Vec<String>,
    /// Words of which an answer consists that means none of them.
    pub(crate) none: Vec<String>,
}
