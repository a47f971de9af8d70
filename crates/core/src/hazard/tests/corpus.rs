//! Calls of real servers, one per line of a file: those that destroy, in many disguises, and those of every day.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use serde::Deserialize;

use super::*;

const DESTRUCTIVE: &str = include_str!("../../../tests/data/hazard/destructive.jsonl");
const HARMLESS: &str = include_str!("../../../tests/data/hazard/harmless.jsonl");
pub(super) const ATTACKS: &str = include_str!("../../../tests/data/hazard/attacks.jsonl");
const EVERYDAY: &str = include_str!("../../../tests/data/hazard/everyday.jsonl");
/// Of a hundred harmless calls, so many may be asked about.
const ASKED_PERCENT: usize = 5;
/// Of a hundred everyday calls, so many may be refused where only reads are allowed, or asked about.
const REFUSED_PERCENT: usize = 3;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Call {
    /// What a destructive call is at least, or what an everyday one is.
    #[serde(default)]
    is: Expected,
    pub(super) server: String,
    pub(super) name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    annotations: Value,
    /// The properties of the input schema; without, those of the arguments.
    #[serde(default)]
    parameters: Value,
    pub(super) arguments: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Destroy,
    #[default]
    Changes,
    Write,
    Read,
}

pub(super) fn calls(lines: &str) -> Vec<Call> {
    lines.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

impl Call {
    fn tool(&self) -> Tool {
        let own = self.arguments.as_object().expect("arguments are an object");
        let named = || own.keys().map(|key| (key.clone(), json!({}))).collect::<Map<String, Value>>();
        let parameters = self.parameters.as_object().cloned().unwrap_or_else(named);
        let mut definition = json!({
            "name": self.name, "description": self.description,
            "inputSchema": {"type": "object", "properties": parameters},
        });
        if self.annotations.is_object() {
            definition["annotations"] = self.annotations.clone();
        }
        let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 999, nesting: 99 };
        let listed = Advertised {
            server: self.server.as_str().into(),
            tools: vec![to_raw_value(&definition).unwrap()],
        };
        Catalog::gather([(listed, bounds)]).0.tools()[0].clone()
    }

    pub(super) fn effect(&self) -> Effect {
        let tool = self.tool();
        assess(&tool, tool.effect, &self.arguments).effect
    }
}

#[test]
fn c3_no_destructive_call_is_taken_for_less() {
    let all = calls(DESTRUCTIVE);
    assert!(all.len() >= 150, "{}", all.len());
    let is_less = |call: &&Call| match call.is {
        Expected::Destroy => call.effect() != Effect::Destroy,
        Expected::Changes | Expected::Write | Expected::Read => call.effect() == Effect::Read,
    };
    let missed: Vec<String> = all
        .iter()
        .filter(is_less)
        .map(|it| format!("{:?} {}__{} {}", it.effect(), it.server, it.name, it.arguments))
        .collect();
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), all.len(), missed.join("\n"));
}

#[test]
fn c3_few_harmless_calls_are_asked_about() {
    let all = calls(HARMLESS);
    assert!(all.len() >= 300, "{}", all.len());
    let asked: Vec<String> = all
        .iter()
        .filter(|call| call.effect() == Effect::Destroy)
        .map(|it| format!("{}__{} {}", it.server, it.name, it.arguments))
        .collect();
    let is_rare = asked.len() * 100 <= all.len() * ASKED_PERCENT;
    assert!(is_rare, "{} of {}:\n{}", asked.len(), all.len(), asked.join("\n"));
}

#[test]
fn h1_no_call_that_may_change_something_is_judged_a_read() {
    let all = calls(ATTACKS);
    assert!(all.len() >= 200, "{}", all.len());
    let missed: Vec<String> = all
        .iter()
        .filter(|call| call.effect() == Effect::Read)
        .map(|it| format!("{}__{} {}", it.server, it.name, it.arguments))
        .collect();
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), all.len(), missed.join("\n"));
}

#[test]
#[expect(clippy::print_stderr, reason = "who runs the tests reads the figures")]
fn h1_few_everyday_calls_are_refused_or_asked_about() {
    let all = calls(EVERYDAY);
    assert!(all.len() >= 500, "{}", all.len());
    let is_needless = |call: &&Call| match call.is {
        Expected::Read => call.effect() != Effect::Read,
        Expected::Write | Expected::Changes | Expected::Destroy => call.effect() == Effect::Destroy,
    };
    let needless: Vec<String> = all
        .iter()
        .filter(is_needless)
        .map(|it| format!("{:?} {}__{} {}", it.effect(), it.server, it.name, it.arguments))
        .collect();
    let reads = all.iter().filter(|call| call.is == Expected::Read).count();
    let figures = format!("{} of {} ({reads} of them reads)", needless.len(), all.len());
    eprintln!("refused or asked about without need: {figures}\n{}", needless.join("\n"));
    assert!(needless.len() * 100 <= all.len() * REFUSED_PERCENT, "{figures}:\n{}", needless.join("\n"));
}

/// A way to write the same call differently.
#[derive(Clone, Copy, Debug)]
enum Disguise {
    /// White space around and between words.
    Space,
    /// Another case, where it does not matter.
    Case,
    /// A comment before, after or inside.
    Comment,
    /// Something harmless before or after it.
    Company,
    /// One more argument that says nothing.
    Argument,
    /// The arguments as JSON text, or deep inside others.
    Nested,
    /// A shell within a shell.
    Wrapped,
}

const DISGUISES: [Disguise; 7] = [
    Disguise::Space,
    Disguise::Case,
    Disguise::Comment,
    Disguise::Company,
    Disguise::Argument,
    Disguise::Nested,
    Disguise::Wrapped,
];

/// Applies a disguise to a call. What it cannot be applied to stays as it is.
fn disguised(call: &mut Call, disguise: Disguise, pick: Index) {
    let arguments = call.arguments.as_object_mut().expect("arguments are an object");
    let choose = |from: &[&str]| from[pick.index(from.len())].to_owned();
    let is_sql = arguments.contains_key("sql") || call.server == "supabase";
    let key =
        ["command", "sql", "query"].into_iter().find(|key| arguments.get(*key).is_some_and(Value::is_string));
    match (disguise, key.map(|key| (key, arguments[key].as_str().unwrap_or_default().to_owned()))) {
        (Disguise::Space, Some((key, text))) => {
            let around = choose(&[" ", "\n", "\t", "  \n "]);
            arguments[key] = json!(format!("{around}{text}{around}"));
        }
        (Disguise::Case, Some((key, text))) if is_sql => {
            arguments[key] =
                json!(if pick.index(2) == 0 { text.to_uppercase() } else { text.to_lowercase() });
        }
        (Disguise::Comment, Some((key, text))) if is_sql => {
            let before = choose(&["/* SELECT */ ", "-- x\n", "/**/"]);
            arguments[key] = json!(format!("{before}{text}"));
        }
        (Disguise::Company, Some((key, text))) => {
            let before =
                choose(if is_sql { &["SELECT 1; ", "SELECT 'a'; "] } else { &["ls; ", "true && ", "pwd\n"] });
            arguments[key] = json!(format!("{before}{text}"));
        }
        (Disguise::Wrapped, Some((key, text))) if !is_sql && !text.contains(['\'', '\r', '<']) => {
            let before = choose(&["sh -c '", "bash -lc '", "sudo sh -c '"]);
            arguments[key] = json!(format!("{before}{text}'"));
        }
        (Disguise::Argument, _) => {
            arguments.insert(choose(&["note", "timeout", "limit", "verbose"]), json!("ls"));
        }
        (Disguise::Nested, None) if call.is == Expected::Destroy && call.annotations.is_null() => {
            let key = arguments.keys().next().cloned().unwrap_or_default();
            if let Some(inner) = arguments.get(&key).filter(|it| it.is_array() || it.is_object()) {
                arguments[&key] = json!(inner.to_string());
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn c3_no_disguise_makes_a_destructive_call_a_read(
        which in any::<Index>(),
        disguises in proptest::collection::vec((prop::sample::select(&DISGUISES[..]), any::<Index>()), 1..4),
    ) {
        static ALL: LazyLock<Vec<Call>> = LazyLock::new(|| calls(DESTRUCTIVE));
        let mut call = which.get(&ALL).clone();
        for (disguise, pick) in disguises {
            disguised(&mut call, disguise, pick);
        }
        prop_assert_ne!(call.effect(), Effect::Read, "{:?}", call);
        // The parameters are still those that the tool has, so a warning of its server still counts.
        if call.annotations["destructiveHint"] == true && call.is == Expected::Destroy {
            prop_assert_eq!(call.effect(), Effect::Destroy, "{:?}", call);
        }
    }
}
