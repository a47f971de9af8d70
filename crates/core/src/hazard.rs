//! What one call would do to the world, judged from its tool and its arguments.
//!
//! What is known of a tool is where it begins; the arguments may make a call worse than its tool: a push that
//! is forced, a statement that drops a table, a text that replaces another. A warning of a server is put aside only for
//! a call of which every argument is understood, and never for more than a write.

mod code; //     calls in program text
mod flags; //    switches and words that stand for an action
mod lists; //    the words that all of this goes by
mod programs; // what programs of a command line destroy
mod reads; //    command lines that certainly only read
mod repeated; // keys that an object has twice
mod replace; //  whole texts in the place of others
mod shell; //    command lines
mod sql; //      statements for a database

use serde::Serialize;
use serde_json::{Map, Value};

use crate::tool::words::words;
use crate::tool::{Effect, Hints, Tool, names_destruction};
use flags::Place;
use lists::Lists;

pub use repeated::repeated_key;

/// What one call would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hazard {
    /// What it does to the world.
    pub effect: Effect,
    /// What in the arguments gives that away, for people: `` `DROP` in `sql` ``.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign: Option<String>,
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
        return Hazard { effect: Effect::Destroy, sign: Some(sign) };
    }
    let is_named_so = Effect::infer(&tool.name, Hints::default()) == Effect::Destroy;
    let effect = match known {
        // The server warns of what its tool can do; this call is understood, and does nothing of it.
        Effect::Destroy if !is_named_so && scan.kind.is_understood(tool, arguments) => Effect::Write,
        Effect::Destroy if is_rehearsal(tool, arguments) => Effect::Write,
        Effect::Read if scan.is_unproven => Effect::Write,
        Effect::Destroy | Effect::Write | Effect::Read => known,
    };
    Hazard { effect, sign: None }
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

/// What kinds of text a tool takes, as far as its names tell.
#[derive(Clone, Debug, Default)]
struct Kind {
    takes_sql: bool,
    is_shell: bool,
    /// Whether its name says that it looks for something, and not that it runs what it is told.
    is_search: bool,
    /// Whether its name says that it runs what it is told.
    is_runner: bool,
    /// The programs that the tool speaks for, such as `git`.
    programs: Vec<String>,
}

impl Kind {
    fn of(tool: &Tool) -> Self {
        let lists = Lists::builtin();
        let is_runner = words(&tool.name).any(|word| lists.runners.contains(&word.to_lowercase()));
        let reads = Effect::infer(&tool.name, Hints::default()) == Effect::Read;
        let mut kind = Self { is_runner, is_search: reads && !is_runner, ..Self::default() };
        let names = words(&tool.server).chain(words(&tool.name));
        for word in names.map(str::to_lowercase) {
            kind.is_shell |= lists.shell_words.contains(&word);
            if lists.programs.contains_key(&word) && !kind.programs.contains(&word) {
                kind.programs.push(word.clone());
            }
            kind.takes_sql |= is_sql(lists, &word);
        }
        let spoken = tool.parameters.iter().flat_map(|it| words(&it.name)).chain(words(&tool.description));
        kind.takes_sql = kind.takes_sql || spoken.map(str::to_lowercase).any(|word| is_sql(lists, &word));
        kind
    }

    /// Whether a tool runs what it is told, all of that is known to destroy nothing, and nothing else is said.
    fn is_understood(&self, tool: &Tool, arguments: &Value) -> bool {
        let lists = Lists::builtin();
        let Some(given) = arguments.as_object() else { return false };
        let is_told = |key: &str, text: &str| {
            self.takes_sql && key_is(key, &lists.sql_keys) && sql::understood(text).is_some()
                || key_is(key, &lists.shell_keys) && reads::only_reads(text)
        };
        let is_beside = |key: &str, value: &Value| match value {
            Value::Null => true,
            Value::Bool(_) | Value::Number(_) => key_is(key, &lists.beside),
            Value::String(text) => key_is(key, &lists.beside) && text.chars().all(reads::is_plain),
            Value::Array(_) | Value::Object(_) => false,
        };
        let mut is_any_told = false;
        let is_all_known = given.iter().all(|(key, value)| {
            let is_own = tool.parameters.iter().any(|parameter| parameter.name == *key);
            let told = value.as_str().is_some_and(|text| is_told(key, text));
            is_any_told |= told;
            is_own && (told || is_beside(key, value))
        });
        self.is_runner && is_any_told && is_all_known
    }
}

fn is_sql(lists: &Lists, word: &str) -> bool {
    word.ends_with("sql") || lists.sql_words.contains(word)
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
            self.value(key, item, depth - 1);
        }
    }

    fn object(&mut self, members: &Map<String, Value>, depth: usize) {
        let lists = Lists::builtin();
        let place = if depth == DEPTH { Place::Outermost } else { Place::Inside };
        if let Some(sign) = flags::sign(members, self.known, place) {
            self.sign = Some(sign);
            return;
        }
        // A program and its arguments apart: `{"command": "git", "args": ["push", "--force"]}`.
        let program = members.iter().find(|(key, value)| key_is(key, &lists.shell_keys) && value.is_string());
        let rest = members.iter().find(|(key, value)| key_is(key, &lists.argument_keys) && value.is_array());
        if let (Some((key, Value::String(program))), Some((_, Value::Array(rest)))) = (program, rest) {
            let first: Vec<String> = program.split_whitespace().map(str::to_owned).collect();
            self.line(key, &first, &texts(rest));
        }
        for (key, value) in members {
            self.value(key, value, depth - 1);
        }
    }

    fn text(&mut self, key: &str, text: &str, depth: usize) {
        let lists = Lists::builtin();
        let trimmed = text.trim();
        if trimmed.starts_with(['{', '[']) {
            // Models write lists and objects as text where a schema is vague.
            if let Ok(inner) = serde_json::from_str::<Value>(trimmed) {
                if let Some(twice) = repeated_key(trimmed) {
                    self.sign = Some(format!("`{twice}` is there twice in `{key}`"));
                }
                self.value(key, &inner, depth - 1);
                return;
            }
        }
        let is_command = key_is(key, &lists.shell_keys)
            || (self.kind.is_shell && key_is(key, &lists.shell_keys_of_shells));
        if is_command {
            self.is_unproven |= !reads::only_reads(trimmed);
            self.found(key, shell::sign(trimmed));
        }
        let holds_sql = key_is(key, &lists.sql_keys);
        if holds_sql && (self.kind.takes_sql || words(key).any(|word| is_sql(lists, &word.to_lowercase()))) {
            let is_question =
                self.kind.is_search && key_is(key, &lists.question_keys) && sql::is_prose(trimmed);
            self.is_unproven |= !is_question && sql::understood(trimmed) != Some(Effect::Read);
            self.found(key, sql::sign(trimmed));
        }
        if is_command || key_is(key, &lists.argument_keys) {
            let words: Vec<String> = trimmed.split_whitespace().map(str::to_owned).collect();
            self.is_unproven |= !self.kind.programs.is_empty();
            self.line(key, &[], &words);
        }
        if holds_sql || key_is(key, &lists.code_keys) {
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

fn rank(effect: Effect) -> u8 {
    match effect {
        Effect::Read => 0,
        Effect::Write => 1,
        Effect::Destroy => 2,
    }
}

/// Whether a key, or its last word, is in a list: `shell_command` is a `command`.
fn key_is(key: &str, list: &lists::Set) -> bool {
    let last = words(key).last().unwrap_or_default().to_lowercase();
    list.contains(&last) || list.contains(&key.to_lowercase())
}

fn texts(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
