//! What a caller of `smart_route` says, read with patience: models write objects as text and numbers as words.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::hazard::{ambiguous, rounded};
use toolyard_core::plan::Splitting;

use super::trace::Said;
use crate::jsonrpc::{Fields, raw};

/// Results that can be asked for.
const MOST_RESULTS: usize = 20;
/// Members of the context that are also read beside it.
const CONTEXT: [&str; 5] = ["arguments", "session", "confirm", "more", "feedback"];

/// Why two settings cannot both be meant.
const AT_ODDS: &str =
    "`multiStepMode` asks for several tools and `allowMultiTool` forbids them: leave one of them out";

/// One call of `smart_route`.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) task: String,
    pub(super) previous_result: Option<String>,
    pub(super) server: Option<String>,
    /// How readily the task is taken apart; `None` where it is one step, however it reads.
    pub(super) splitting: Option<Splitting>,
    /// The words of the person whom the caller speaks for.
    pub(super) message: Option<String>,
    /// Values under names of the caller's own, where it says that these are all.
    pub(super) values: Option<Map<String, Value>>,
    /// Values that the caller already knows.
    pub(super) arguments: Option<Box<RawValue>>,
    /// Why the arguments cannot be used, when they cannot.
    pub(super) wrong_arguments: Option<String>,
    pub(super) session: Option<String>,
    pub(super) confirm: Option<String>,
    /// The handle with which a long result goes on.
    pub(super) more: Option<String>,
    pub(super) mode: Mode,
    pub(super) max_results: Option<usize>,
    pub(super) explains: bool,
    /// What the caller says about what was decided before.
    pub(super) feedback: Option<Said>,
}

/// How far a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Runs the tool.
    Run,
    /// Answers with candidates and their schemas.
    Candidates,
    /// Says what would be done.
    DryRun,
}

impl Input {
    pub(super) fn read(arguments: &Fields) -> Self {
        let (mut context, options) = (object(arguments, "context"), object(arguments, "options"));
        // Models put what belongs into the context beside it.
        for key in CONTEXT {
            if let Some(given) = arguments.get(key).filter(|_| context.get(key).is_none()) {
                context.set(key, given.to_owned());
            }
        }
        let flag = |fields: &Fields, key: &str| match fields.read::<Value>(key)? {
            Value::Bool(flag) => Some(flag),
            Value::String(word) => word.trim().parse().ok(),
            Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let text = |fields: &Fields, key: &str| match fields.read::<Value>(key)? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Null => None,
            other @ (Value::Bool(_) | Value::Array(_) | Value::Object(_)) => Some(other.to_string()),
        };
        let some = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let mode = match (flag(&options, "dryRun"), flag(&options, "returnCandidates")) {
            (_, Some(true)) => Mode::Candidates,
            (Some(true), _) => Mode::DryRun,
            _ => Mode::Run,
        };
        let several = (flag(&context, "multiStepMode"), flag(&options, "allowMultiTool"));
        let splitting = match several {
            (Some(true), _) | (None, Some(true)) => Some(Splitting::Bold),
            (Some(false), _) | (None, Some(false)) => None,
            (None, None) => Some(Splitting::Careful),
        };
        let most = options.read::<f64>("maxResults").map(|most| (most.max(1.0) as usize).min(MOST_RESULTS));
        let values = named_values(arguments);
        let (known, wrong_arguments) = match (known_arguments(&context), context.ambiguity()) {
            (Ok(_), Some(ambiguity)) => (None, Some(ambiguity.to_string())),
            (Ok(known), None) => (known, None),
            (Err(why), _) => (None, Some(why)),
        };
        let wrong_arguments = wrong_arguments.or(values.as_ref().err().cloned());
        let wrong_arguments =
            wrong_arguments.or_else(|| (several == (Some(true), Some(false))).then(|| AT_ODDS.to_owned()));
        Self {
            task: text(arguments, "task").unwrap_or_default(),
            previous_result: some(text(&context, "previousResult")),
            server: some(text(&context, "serverPreference")),
            splitting,
            message: some(text(arguments, "message")),
            values: values.unwrap_or_default(),
            arguments: known,
            wrong_arguments,
            session: some(text(&context, "session")),
            confirm: some(text(&context, "confirm")),
            more: some(text(&context, "more")),
            mode,
            max_results: most,
            explains: flag(&options, "explain").unwrap_or(false),
            feedback: Said::read(&context),
        }
    }
}

/// Reads a member that is an object, or the text of one.
pub(in crate::serve) fn object(fields: &Fields, key: &str) -> Fields {
    match fields.get(key) {
        Some(given) if given.get().starts_with('"') => {
            fields.text(key).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
        }
        Some(_) => fields.object(key),
        None => Fields::default(),
    }
}

/// Reads the values that a caller names; an object, or the text of one.
fn named_values(arguments: &Fields) -> Result<Option<Map<String, Value>>, String> {
    let Some(given) = arguments.get("values").filter(|given| given.get() != "null") else { return Ok(None) };
    let text = serde_json::from_str::<String>(given.get()).ok();
    let text = text.as_deref().unwrap_or(given.get()).trim();
    if text.is_empty() {
        return Ok(None);
    }
    if let Some(ambiguity) = ambiguous(text).or_else(|| rounded(text)) {
        return Err(ambiguity.to_string());
    }
    let wrong = |_| "`values` must be an object, e.g. {\"file\": \"a.txt\", \"lines\": 20}".to_owned();
    serde_json::from_str(text).map(Some).map_err(wrong)
}

fn known_arguments(context: &Fields) -> Result<Option<Box<RawValue>>, String> {
    let Some(given) = context.get("arguments").filter(|given| given.get() != "null") else { return Ok(None) };
    if given.get().starts_with('{') {
        return Ok(Some(given.to_owned()));
    }
    let wrong = || "`context.arguments` must be an object, e.g. {\"path\": \"a.txt\"}".to_owned();
    let text = serde_json::from_str::<String>(given.get()).map_err(|_| wrong())?;
    match text.trim() {
        "" => Ok(None),
        text => {
            let parsed = RawValue::from_string(text.to_owned()).ok();
            let parsed = parsed.filter(|parsed| parsed.get().starts_with('{')).ok_or_else(wrong)?;
            match ambiguous(parsed.get()) {
                Some(ambiguity) => Err(ambiguity.to_string()),
                None => Ok(Some(parsed)),
            }
        }
    }
}

/// Returns arguments as they are sent: an empty object when there are none.
pub(super) fn or_empty(arguments: Option<Box<RawValue>>) -> Box<RawValue> {
    arguments.unwrap_or_else(|| raw(&json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolyard_history::Rating;

    fn asked(arguments: Value) -> Input {
        Input::read(&serde_json::from_value(arguments).unwrap())
    }

    #[test]
    fn r1_models_may_write_objects_as_text_and_flags_as_words() {
        let asked = asked(json!({
            "task": 2,
            "context": "{\"session\": \"x\", \"arguments\": \"{\\\"a\\\": 1.50}\"}",
            "options": {"returnCandidates": "true", "maxResults": 2.0},
        }));
        assert_eq!((asked.task.as_str(), asked.session.as_deref()), ("2", Some("x")));
        assert_eq!(asked.arguments.unwrap().get(), "{\"a\": 1.50}");
        assert_eq!((asked.mode, asked.max_results), (Mode::Candidates, Some(2)));
    }

    #[test]
    fn r17_nothing_that_is_said_wrong_is_fatal() {
        let asked = asked(json!({"context": 5, "options": [], "task": {"a": 1}}));
        assert_eq!((asked.task.as_str(), asked.mode), ("{\"a\":1}", Mode::Run));
        let wrong = Input::read(&serde_json::from_value(json!({"context": {"arguments": [1]}})).unwrap());
        assert!(wrong.arguments.is_none() && wrong.wrong_arguments.is_some());
    }

    #[test]
    fn c3_what_is_said_twice_is_not_used() {
        for context in
            [r#"{"arguments": "{\"a\": 1, \"a\": 2}"}"#, r#"{"arguments": {"x": {"a": 1, "a": 2}}}"#]
        {
            let context: Value = json!(context);
            let asked = asked(json!({"task": "x", "context": context}));
            assert!(asked.arguments.is_none(), "{asked:?}");
            assert!(asked.wrong_arguments.unwrap().contains("`a` is there twice"));
        }
    }

    #[test]
    fn r16_feedback_is_a_word_a_tool_or_an_object() {
        let said = |feedback: Value| asked(json!({"task": "x", "context": {"feedback": feedback}})).feedback;
        let is = |route: Option<&str>, verdict: Rating, meant: Option<&str>| {
            Some(Said { route: route.map(str::to_owned), verdict, meant: meant.map(str::to_owned) })
        };
        assert_eq!(said(json!("Right")), is(None, Rating::Right, None));
        assert_eq!(said(json!("wrong")), is(None, Rating::Wrong, None));
        assert_eq!(said(json!("notes__list_notes")), is(None, Rating::Wrong, Some("notes__list_notes")));
        let whole = json!({"route": "01", "verdict": "wrong", "meant": "notes__list_notes"});
        assert_eq!(said(whole), is(Some("01"), Rating::Wrong, Some("notes__list_notes")));
        assert_eq!(said(json!(5)), None);
        assert_eq!(said(json!({})), None);
    }

    #[test]
    fn r1_what_belongs_into_the_context_may_stand_beside_it() {
        let asked = asked(json!({"task": "", "confirm": "h", "arguments": {"a": 1}}));
        assert_eq!(asked.confirm.as_deref(), Some("h"));
        assert_eq!(asked.arguments.unwrap().get(), r#"{"a":1}"#);
    }
}
