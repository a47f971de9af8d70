//! Why a call certainly does no more than read or add: every argument was understood by a reader that can say so.
//!
//! This holds only for tools that do nothing but what they are told: a shell, a database, a graph, a sender of
//! requests. Of every other tool, what it does beside its arguments is not known.

use serde_json::{Map, Value};

use super::lists::Lists;
use super::plain::{is_beside, is_name, is_plain};
use super::{graph, http, key_is, reads, sql};
use crate::tool::words::words;
use crate::tool::{Effect, Hints, Tool};

/// What a call does at most, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proven {
    pub(super) effect: Effect,
    /// For people: `` `command` runs only `ls` ``.
    pub(super) why: String,
}

/// What kinds of text a tool takes, as far as its names tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Kind {
    takes_sql: bool,
    /// Whether its own name or that of its server says that it is a database.
    is_database: bool,
    is_graphql: bool,
    is_cypher: bool,
    pub(super) is_shell: bool,
    /// Whether its name says that it looks for something, and not that it runs what it is told.
    pub(super) is_search: bool,
    /// Whether its name says that it runs what it is told, and whether it says nothing else.
    is_runner: bool,
    only_runs: bool,
    /// The programs that the tool speaks for, such as `git`.
    pub(super) programs: Vec<String>,
}

impl Kind {
    pub(super) fn of(tool: &Tool) -> Self {
        let lists = Lists::builtin();
        let server: Vec<String> = words(&tool.server).map(str::to_lowercase).collect();
        let own: Vec<String> = words(&tool.name).map(str::to_lowercase).collect();
        let is_runner = own.iter().any(|word| lists.runners.contains(word));
        let reads = Effect::infer(&tool.name, Hints::default()) == Effect::Read;
        let mut kind = Self { is_search: reads && !is_runner, is_runner, ..Self::default() };
        for word in server.iter().chain(&own) {
            kind.is_shell |= lists.shell_words.contains(word);
            if lists.programs.contains_key(word) && !kind.programs.contains(word) {
                kind.programs.push(word.clone());
            }
            kind.is_database |= is_sql(lists, word);
            kind.is_graphql |= word == "graphql";
            kind.is_cypher |= matches!(word.as_str(), "cypher" | "neo4j" | "memgraph");
        }
        let spoken = tool.parameters.iter().flat_map(|it| words(&it.name)).chain(words(&tool.description));
        kind.takes_sql = kind.is_database || spoken.map(str::to_lowercase).any(|word| is_sql(lists, &word));
        let is_about_running = |word: &String| {
            lists.runners.contains(word)
                || lists.runner_words.contains(word)
                || lists.shell_words.contains(word)
                || kind.programs.contains(word)
                || is_sql(lists, word)
                || server.contains(word)
        };
        kind.only_runs = is_runner && own.iter().all(is_about_running);
        kind
    }

    /// Whether its name says that it runs what it is told.
    pub(super) fn runs(&self) -> bool {
        self.is_runner
    }

    /// Whether an argument of this name holds a statement.
    pub(super) fn takes_sql_in(&self, key: &str) -> bool {
        self.takes_sql || words(key).any(|word| is_sql(Lists::builtin(), &word.to_lowercase()))
    }

    /// Whether a statement does nothing but ask, in the language of the tool.
    pub(super) fn only_asks(&self, text: &str) -> bool {
        sql::understood(text).is_some_and(|it| it.is_read())
            || self.is_cypher && graph::cypher_reads(text)
            || self.is_graphql && graph::graphql_reads(text)
    }

    /// Says what a call does at most, where the tool only runs what it is told and every argument is understood.
    pub(super) fn proven(&self, tool: &Tool, arguments: &Value) -> Option<Proven> {
        let given = arguments.as_object()?;
        if http::is_sender(tool)
            && let Some(method) = http::only_reads(tool, given)
        {
            return Some(Proven { effect: Effect::Read, why: format!("it is a `{method}` request") });
        }
        if !self.only_runs {
            return None;
        }
        let (told, proven) = self.commands(given).or_else(|| self.statement(given))?;
        let is_own = |key: &str| tool.parameters.iter().any(|parameter| parameter.name == key);
        let is_known = |key: &str, value: &Value| {
            told.contains(&key) || is_beside(key, value) || is_note(key, value) || self.is_binding(key, value)
        };
        given.iter().all(|(key, value)| is_own(key) && is_known(key, value)).then_some(proven)
    }

    /// Reads the command lines of a call; returns the arguments that hold them.
    fn commands<'g>(&self, given: &'g Map<String, Value>) -> Option<(Vec<&'g str>, Proven)> {
        if self.is_database || self.is_graphql || self.is_cypher {
            return None;
        }
        let (keys, lines) = self.lines(given)?;
        let mut programs = Vec::new();
        for line in lines {
            // A tool that speaks for a program is told only what follows its name.
            let line = match self.programs.as_slice() {
                [] => line,
                [program] if line.split_whitespace().next() == Some(program) => line,
                [program] => format!("{program} {line}"),
                _ => return None,
            };
            programs.extend(reads::programs(&line)?);
        }
        programs.dedup();
        let shown: Vec<String> = programs.iter().map(|program| format!("`{program}`")).collect();
        let why = format!("`{}` runs only {}", keys.first()?, shown.join(", "));
        Some((keys, Proven { effect: Effect::Read, why }))
    }

    fn lines<'g>(&self, given: &'g Map<String, Value>) -> Option<(Vec<&'g str>, Vec<String>)> {
        let lists = Lists::builtin();
        let is_command = |key: &str| {
            key_is(key, &lists.shell_keys) || self.is_shell && key_is(key, &lists.shell_keys_of_shells)
        };
        let command = given.iter().find(|(key, _)| is_command(key));
        let rest = given.iter().find(|(key, value)| key_is(key, &lists.argument_keys) && value.is_array());
        let (keys, lines) = match (command, rest) {
            (Some((key, Value::String(line))), None) => (vec![key.as_str()], vec![line.clone()]),
            (Some((key, Value::String(program))), Some((other, Value::Array(rest)))) => {
                // Who runs words one by one and who puts them in a line agree only where nothing ends a command.
                let is_word = |word: &str| !word.is_empty() && word.chars().all(is_plain);
                let program = Some(program).filter(|it| it.split(' ').all(is_word))?;
                (vec![key.as_str(), other.as_str()], vec![format!("{program} {}", joined(rest)?)])
            }
            // Several lines under a name that says so, else the words of one.
            (Some((key, Value::Array(lines))), None) if key.ends_with('s') => {
                let all: Option<Vec<String>> =
                    lines.iter().map(|it| it.as_str().map(str::to_owned)).collect();
                (vec![key.as_str()], all?)
            }
            (Some((key, Value::Array(words))), None) => (vec![key.as_str()], vec![joined(words)?]),
            (None, Some((key, Value::Array(words)))) if !self.programs.is_empty() => {
                (vec![key.as_str()], vec![joined(words)?])
            }
            _ => return None,
        };
        (!lines.is_empty()).then_some((keys, lines))
    }

    /// Reads the statement of a call; returns the argument that holds it.
    fn statement<'g>(&self, given: &'g Map<String, Value>) -> Option<(Vec<&'g str>, Proven)> {
        let lists = Lists::builtin();
        // A shell takes part of a statement for the name of a file that it writes to.
        let is_statement = |key: &str| {
            let is_shell = self.is_shell || key_is(key, &lists.shell_keys) && !self.is_database;
            !is_shell && key_is(key, &lists.sql_keys) && (self.is_graphql || self.takes_sql_in(key))
        };
        let (key, text) = given.iter().find(|(key, value)| is_statement(key) && value.is_string())?;
        let text = text.as_str()?;
        let proven = if self.is_graphql {
            graph::graphql_reads(text)
                .then(|| Proven { effect: Effect::Read, why: format!("`{key}` has no mutation") })
        } else if let Some(it) = sql::understood(text) {
            let why = format!("`{key}` has only `{}`", it.verbs.join("`, `"));
            Some(Proven { effect: it.effect, why })
        } else {
            let why = || format!("`{key}` only matches and returns");
            (self.is_cypher && graph::cypher_reads(text)).then(|| Proven { effect: Effect::Read, why: why() })
        };
        Some((vec![key.as_str()], proven?))
    }

    /// Whether an argument holds values of a statement that are plain wherever they are put.
    fn is_binding(&self, key: &str, value: &Value) -> bool {
        fn are_plain(value: &Value) -> bool {
            match value {
                Value::Null | Value::Bool(_) | Value::Number(_) => true,
                Value::String(text) => is_name(text),
                Value::Array(items) => items.iter().all(are_plain),
                Value::Object(items) => items.values().all(are_plain),
            }
        }
        let is_asked = self.takes_sql || self.is_graphql || self.is_cypher;
        is_asked && Lists::builtin().bindings.contains(&key.to_lowercase()) && are_plain(value)
    }
}

/// Whether an argument only says why, for people.
fn is_note(key: &str, value: &Value) -> bool {
    value.is_string() && Lists::builtin().notes.contains(&key.to_lowercase())
}

/// The words of one command in a line, where each stands for itself.
fn joined(words: &[Value]) -> Option<String> {
    let plain = |word: &Value| {
        word.as_str().filter(|word| !word.is_empty() && word.chars().all(is_plain)).map(str::to_owned)
    };
    Some(words.iter().map(plain).collect::<Option<Vec<_>>>()?.join(" "))
}

fn is_sql(lists: &Lists, word: &str) -> bool {
    word.ends_with("sql") || lists.sql_words.contains(word)
}
