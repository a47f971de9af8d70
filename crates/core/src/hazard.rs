//! What one call would do to the world, judged from its tool and its arguments.
//!
//! What is known of a tool is where it begins. The arguments may make a call worse than its tool: a push that is
//! forced, a statement that drops a table, a text that replaces another. They make it less only by proof: the tool does
//! nothing but what it is told, and a reader with a list of what only reads understood every argument whole.

mod ambiguous; // arguments that are read in two ways
mod code; //      calls in program text
mod flags; //     switches and words that stand for an action
mod folded; //    texts as careless readers take them
mod graph; //     questions to graphs
mod http; //      requests of the web
mod lists; //     the words that all of this goes by
mod plain; //     words and names that stand for themselves
mod programs; //  what programs of a command line destroy
mod proof; //     why a call certainly does no more
mod reads; //     command lines that certainly only read
mod replace; //   whole texts in the place of others
mod scripts; //   one-liners of sed and awk
mod shell; //     command lines
mod sql; //       statements for a database
mod switches; //  what programs may be told without changing anything

use serde::Serialize;
use serde_json::{Map, Value};

use crate::tool::words::words;
use crate::tool::{Effect, Hints, Tool, names_destruction};
use flags::Place;
use folded::folded;
use lists::Lists;
use proof::Kind;

pub use ambiguous::{JsonAmbiguity, alike, ambiguous, rounded};

/// What one call would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hazard {
    /// What it does to the world.
    pub effect: Effect,
    /// What in the arguments gives that away, for people: `` `DROP` in `sql` ``.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign: Option<String>,
    /// Why it does less than its tool may do, for people: `` `command` runs only `ls` ``.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// Stands for the value of an argument that is not known yet, such as one that an earlier step will give.
///
/// A text that will be written counts as one that is there; a command, a statement or a mode that is not known is
/// never taken to be harmless.
pub const LATER: &str = "\u{fffc}";

/// Objects within objects that are looked into: as deep as JSON is read at all.
const DEPTH: usize = 128;

/// Judges a call. `known` is what is known of the effect of the tool besides.
///
/// ```
/// # use toolyard_core::catalog::{Advertised, Bounds, Catalog};
/// # use serde_json::{json, value::to_raw_value};
/// use toolyard_core::hazard::assess;
/// use toolyard_core::tool::Effect;
/// # let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 99, nesting: 9 };
/// # let definition = to_raw_value(&json!({"name": "run_command", "inputSchema": {"type": "object"}}));
/// # let listed = Advertised { server: "desk".into(), tools: vec![definition?] };
/// # let (catalog, _) = Catalog::gather([(listed, bounds)]);
/// # let run_command = &catalog.tools()[0];
/// let call = json!({"command": "git push --force origin main"});
/// let hazard = assess(run_command, Effect::Write, &call);
/// assert_eq!(hazard.effect, Effect::Destroy);
/// assert_eq!(hazard.sign.as_deref(), Some("`git push --force` in `command`"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn assess(tool: &Tool, known: Effect, arguments: &Value) -> Hazard {
    let mut scan = Scan { kind: Kind::of(tool), known, is_unproven: false, sign: None };
    scan.value("", arguments, DEPTH);
    let replaced = || replace::sign(tool, arguments.as_object().filter(|_| !is_rehearsal(tool, arguments))?);
    if let Some(sign) = scan.sign.take().or_else(replaced) {
        return Hazard { effect: Effect::Destroy, sign: Some(sign), proof: None };
    }
    let is_named_so = Effect::infer(&tool.name, Hints::default()) == Effect::Destroy;
    let proven = if is_named_so { None } else { scan.kind.proven(tool, arguments) };
    if let Some(proven) = proven.filter(|proven| rank(proven.effect) <= rank(known)) {
        // What the tool can do, or what its server warns of, this call does nothing of.
        return Hazard { effect: proven.effect, sign: None, proof: Some(proven.why) };
    }
    let effect = match known {
        Effect::Destroy if is_rehearsal(tool, arguments) => Effect::Write,
        Effect::Read if scan.is_unproven => Effect::Write,
        Effect::Destroy | Effect::Write | Effect::Read => known,
    };
    Hazard { effect, sign: None, proof: None }
}

/// Whether a text is only words where an argument wants a statement of SQL. The argument is known by its name, and by the
/// terms of what is said about it.
pub(crate) fn is_no_statement(name: &str, terms: &[String], text: &str) -> bool {
    sql::is_key(name, terms) && sql::is_spoken(text)
}

/// Whether a tool offers to destroy, by a switch, by one of the choices of a parameter, or in its own words.
pub(crate) fn offers_destruction(tool: &Tool) -> bool {
    let says_so = |word: &str| {
        let word = word.to_lowercase();
        names_destruction(word.strip_suffix('s').unwrap_or(&word))
    };
    tool.parameters.iter().any(|parameter| {
        let names: Vec<String> = words(&parameter.name).map(str::to_lowercase).collect();
        flags::is_switch(&names, Effect::Write)
            || parameter.kind.split('|').any(|choice| words(choice).any(says_so))
    }) || words(&tool.description).any(says_so)
}

/// Whether a call only says what it would do, by a switch that the tool itself offers.
fn is_rehearsal(tool: &Tool, arguments: &Value) -> bool {
    let names = &Lists::builtin().rehearsals;
    let is_switch = |key: &str| {
        let joined: String = words(key).map(str::to_lowercase).collect();
        names.contains(&joined) && tool.parameters.iter().any(|parameter| parameter.name == key)
    };
    let given = arguments.as_object();
    given.is_some_and(|given| given.iter().any(|(key, value)| is_switch(key) && *value == Value::Bool(true)))
}

/// One look through the arguments of a call.
struct Scan {
    kind: Kind,
    known: Effect,
    /// Whether something may do more than read, or could not be looked into.
    is_unproven: bool,
    sign: Option<String>,
}

impl Scan {
    fn value(&mut self, key: &str, value: &Value, depth: usize) {
        if depth == 0 {
            self.is_unproven = true;
            return;
        }
        if self.sign.is_some() {
            return;
        }
        match value {
            Value::Object(members) => self.object(members, depth),
            Value::Array(items) => self.array(key, items, depth),
            Value::String(text) => self.text(key, text, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn array(&mut self, key: &str, items: &[Value], depth: usize) {
        let lists = Lists::builtin();
        let is_command = key_is(key, &lists.shell_keys);
        if is_command || key_is(key, &lists.argument_keys) {
            let words = texts(items);
            self.is_unproven |= is_command || !self.kind.programs.is_empty();
            self.line(key, if is_command { &words } else { &[] }, if is_command { &[] } else { &words });
        }
        for item in items {
            self.member(key, item, depth);
        }
    }

    fn object(&mut self, members: &Map<String, Value>, depth: usize) {
        self.together(members, depth);
        // A server may take a name, or a word under it, for the one that it looks like.
        let is_other = |text: &str| folded(text) != text;
        let has_other_name = members.keys().any(|key| is_other(key));
        let is_stage = |key: &String| Lists::builtin().stages.contains(key);
        self.is_unproven |= has_other_name || members.keys().any(is_stage);
        if has_other_name || members.values().filter_map(Value::as_str).any(is_other) {
            self.together(&look_alike(members), depth);
        }
        for (key, value) in members {
            self.member(&folded(key), value, depth);
        }
    }

    /// Looks at one value under its name, and at a text also as it looks.
    fn member(&mut self, key: &str, value: &Value, depth: usize) {
        if let Some(text) = value.as_str()
            && folded(text) != text
        {
            self.text(key, &folded(text), depth);
        }
        self.value(key, value, depth - 1);
    }

    /// Looks at what the members of an object say together.
    fn together(&mut self, members: &Map<String, Value>, depth: usize) {
        let lists = Lists::builtin();
        self.is_unproven |= http::is_unsafe(members);
        let place = if depth == DEPTH { Place::Outermost } else { Place::Inside };
        if self.sign.is_none() {
            self.sign = flags::sign(members, self.known, place);
        }
        // A program and its arguments apart: `{"command": "git", "args": ["push", "--force"]}`.
        let program = members.iter().find(|(key, value)| key_is(key, &lists.shell_keys) && value.is_string());
        let rest = members.iter().find(|(key, value)| key_is(key, &lists.argument_keys) && value.is_array());
        if let (Some((key, Value::String(program))), Some((_, Value::Array(rest)))) = (program, rest) {
            let first: Vec<String> = program.split_whitespace().map(str::to_owned).collect();
            self.line(key, &first, &texts(rest));
        }
    }

    fn text(&mut self, key: &str, text: &str, depth: usize) {
        let lists = Lists::builtin();
        let trimmed = text.trim();
        if trimmed.starts_with(['{', '[']) {
            // Models write lists and objects as text where a schema is vague.
            if let Ok(inner) = serde_json::from_str::<Value>(trimmed) {
                if let Some(twice) = ambiguous::repeated(trimmed) {
                    self.sign = Some(format!("`{twice}` is there twice in `{key}`"));
                }
                self.value(key, &inner, depth - 1);
                return;
            }
        }
        let is_command = key_is(key, &lists.shell_keys)
            || (self.kind.is_shell && key_is(key, &lists.shell_keys_of_shells));
        if is_command {
            self.is_unproven |= reads::programs(text).is_none();
            self.found(key, shell::sign(trimmed));
        }
        // What nobody says to anything but a database is a statement for whatever runs what it is told.
        let may_hold = words(key).any(|word| lists.sql_keys.contains(&word.to_lowercase()));
        let is_statement =
            (self.kind.runs() || may_hold && self.kind.takes_sql_in(key)) && sql::is_statement(trimmed);
        let holds_sql = key_is(key, &lists.sql_keys) || is_statement;
        // Commands of a database whose language begins them with a dot.
        self.is_unproven |= holds_sql && !self.kind.is_search && is_dotted(trimmed);
        if holds_sql && (is_statement || self.kind.takes_sql_in(key)) {
            let is_question =
                self.kind.is_search && key_is(key, &lists.question_keys) && sql::is_prose(trimmed);
            self.is_unproven |= !is_question && !self.kind.only_asks(text);
            self.found(key, sql::sign(trimmed));
        }
        if is_command || key_is(key, &lists.argument_keys) {
            let words: Vec<String> = trimmed.split_whitespace().map(str::to_owned).collect();
            self.is_unproven |= !self.kind.programs.is_empty();
            self.line(key, &[], &words);
        }
        if holds_sql || key_is(key, &lists.code_keys) {
            let is_program = key_is(key, &lists.script_keys) && trimmed.contains(['(', '{', ';', '=', '\n']);
            self.is_unproven |= is_program || graph::is_mutation(trimmed);
            self.found(key, code::sign(trimmed));
        }
    }

    /// Looks at words as the arguments of the programs that the tool speaks for.
    fn line(&mut self, key: &str, first: &[String], rest: &[String]) {
        let words: Vec<String> = first.iter().chain(rest).cloned().collect();
        let mut sign = if first.is_empty() { None } else { shell::sign_of_words(&words) };
        for program in &self.kind.programs {
            let is_own = words.first().is_some_and(|word| word == program);
            sign = sign.or_else(|| programs::sign(program, &words[usize::from(is_own)..]));
        }
        self.found(key, sign);
    }

    fn found(&mut self, key: &str, sign: Option<String>) {
        let place = if key.is_empty() { String::new() } else { format!(" in `{key}`") };
        if self.sign.is_none() {
            self.sign = sign.map(|sign| format!("`{sign}`{place}"));
        }
    }
}

/// The members of an object under the names, and with the texts, that a careless reader takes them for. Of what is
/// within them, only texts are kept: the rest is looked at by itself.
fn look_alike(members: &Map<String, Value>) -> Map<String, Value> {
    let plain = |value: &Value| match value {
        Value::String(text) => Value::from(folded(text)),
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().map_or(Value::Null, |text| folded(text).into())).collect()
        }
        Value::Object(items) => items.iter().map(|_| Value::Null).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    };
    members.iter().map(|(key, value)| (folded(key).into_owned(), plain(value))).collect()
}

fn rank(effect: Effect) -> u8 {
    match effect {
        Effect::Read => 0,
        Effect::Write => 1,
        Effect::Destroy => 2,
    }
}

/// Whether a key, or its last word, is in a list: `shell_command` is a `command`.
/// Whether a text has something like `.drop table`; with `.show` nothing changes.
fn is_dotted(text: &str) -> bool {
    text.match_indices('.').any(|(at, _)| {
        let is_behind = |c: char| c.is_alphanumeric() || "_.)]\"'`".contains(c);
        let word = words(&text[at + 1..]).next().unwrap_or_default();
        let begins = !text[..at].ends_with(is_behind) && text[at + 1..].starts_with(char::is_alphabetic);
        begins && !word.eq_ignore_ascii_case("show")
    })
}

fn key_is(key: &str, list: &lists::Set) -> bool {
    let last = words(key).last().unwrap_or_default().to_lowercase();
    list.contains(&last) || list.contains(&key.to_lowercase())
}

fn texts(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
