//! What one call would do to the world, judged from its tool and its arguments.
//!
//! What is known of a tool is where it begins; the arguments may make a call worse than its tool: a push that
//! is forced, a statement that drops a table. Only a call that can be read whole is taken to be better.

mod code; //     calls in program text
mod flags; //    switches and words that stand for an action
mod lists; //    the words that all of this goes by
mod programs; // what programs of a command line destroy
mod shell; //    command lines
mod sql; //      statements for a database

use serde::Serialize;
use serde_json::{Map, Value};

use crate::tool::words::words;
use crate::tool::{Effect, Hints, Tool, names_destruction};
use lists::Lists;

/// What one call would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hazard {
    /// What it does to the world.
    pub effect: Effect,
    /// What in the arguments gives that away, for people: `` `DROP` in `sql` ``.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign: Option<String>,
}

/// Objects within objects that are looked into.
const DEPTH: usize = 12;

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
    let mut scan = Scan { kind: Kind::of(tool), known, worst: None, sign: None };
    scan.value("", arguments, DEPTH);
    if let Some(sign) = scan.sign {
        return Hazard { effect: Effect::Destroy, sign: Some(sign) };
    }
    let is_named_so = Effect::infer(&tool.name, Hints::default()) == Effect::Destroy;
    let effect = match scan.worst {
        // The server warns of what its tool can do; this call can be read, and does nothing of it.
        Some(worst) if known == Effect::Destroy && !is_named_so => worst,
        _ if known == Effect::Destroy && is_rehearsal(tool, arguments) => Effect::Write,
        _ => known,
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
        let joined: String = words(key).take(2).map(str::to_lowercase).collect();
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
    /// The programs that the tool speaks for, such as `git`.
    programs: Vec<String>,
}

impl Kind {
    fn of(tool: &Tool) -> Self {
        let lists = Lists::builtin();
        let mut kind = Self::default();
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
}

fn is_sql(lists: &Lists, word: &str) -> bool {
    word.ends_with("sql") || lists.sql_words.contains(word)
}

/// One look through the arguments of a call.
struct Scan {
    kind: Kind,
    known: Effect,
    /// The worst of what could be read whole; `None` where nothing could.
    worst: Option<Effect>,
    sign: Option<String>,
}

impl Scan {
    fn value(&mut self, key: &str, value: &Value, depth: usize) {
        if depth == 0 || self.sign.is_some() {
            return;
        }
        match value {
            Value::Object(members) => self.object(members, depth),
            Value::Array(items) => {
                if key_is(key, &Lists::builtin().argument_keys) {
                    self.line(key, &[], &texts(items));
                }
                for item in items {
                    self.value(key, item, depth - 1);
                }
            }
            Value::String(text) => self.text(key, text, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, members: &Map<String, Value>, depth: usize) {
        let lists = Lists::builtin();
        if let Some(sign) = flags::sign(members, self.known, depth == DEPTH) {
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
                self.value(key, &inner, depth - 1);
                return;
            }
        }
        if self.kind.takes_sql && key_is(key, &lists.sql_keys) {
            self.judged(key, sql::judge(trimmed));
        }
        let is_command = key_is(key, &lists.shell_keys);
        if is_command || (self.kind.is_shell && key_is(key, &lists.shell_keys_of_shells)) {
            self.judged(key, Some(shell::judge(trimmed)));
        }
        if is_command || key_is(key, &lists.argument_keys) {
            let words: Vec<String> = trimmed.split_whitespace().map(str::to_owned).collect();
            self.line(key, &[], &words);
        }
        if key_is(key, &lists.code_keys) || key_is(key, &lists.sql_keys) {
            self.judged(key, code::sign(trimmed).map(|sign| (Effect::Destroy, sign)));
        }
    }

    /// Looks at words as the arguments of the programs that the tool speaks for.
    fn line(&mut self, key: &str, first: &[String], rest: &[String]) {
        let words: Vec<String> = first.iter().chain(rest).cloned().collect();
        let mut sign = (!first.is_empty()).then(|| shell::sign_of_words(&words)).flatten();
        for program in &self.kind.programs {
            let is_own = words.first().is_some_and(|word| word == program);
            sign = sign.or_else(|| programs::sign(program, &words[usize::from(is_own)..]));
        }
        if let Some(sign) = sign {
            self.judged(key, Some((Effect::Destroy, sign)));
        }
    }

    fn judged(&mut self, key: &str, found: Option<(Effect, String)>) {
        let Some((effect, sign)) = found else { return };
        if effect == Effect::Destroy {
            let place = if key.is_empty() { String::new() } else { format!(" in `{key}`") };
            self.sign.get_or_insert_with(|| format!("`{sign}`{place}"));
        }
        let is_worse = |worst: Effect| rank(effect) > rank(worst);
        if self.worst.is_none_or(is_worse) {
            self.worst = Some(effect);
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
