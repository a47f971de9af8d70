//! JSON-RPC messages whose payloads stay raw text.
//!
//! A hub carries what it does not understand. Parameters and results are kept as
//! the bytes that came in, so unknown fields, key order and number formats survive.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use toolyard_core::hazard::{JsonAmbiguity, alike, ambiguous};

/// A request id, compared by its JSON text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id(Box<str>);

impl Id {
    /// Returns the id of a request that we number ourselves.
    pub fn number(id: u64) -> Self {
        Self(id.to_string().into())
    }

    /// Takes the JSON text of an id; `None` unless it is a string or an integer.
    pub fn from_json(text: &str) -> Option<Self> {
        let first = text.bytes().next()?;
        let is_text = first == b'"' && serde_json::from_str::<Cow<'_, str>>(text).is_ok();
        let digits = text.strip_prefix('-').unwrap_or(text);
        // Rust reads more than JSON allows, and an id goes out as it came in.
        let is_integer = text.parse::<i128>().is_ok() && (digits == "0" || !digits.starts_with(['0', '+']));
        (is_text || is_integer).then(|| Self(text.into()))
    }

    /// Returns the id as JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// Returns the number, when it is one of ours.
    pub fn as_number(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The error member of a response.
#[derive(Clone, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct ErrorObject {
    /// A JSON-RPC error code.
    pub code: i64,
    /// One sentence for people; some senders leave it out.
    #[serde(default)]
    pub message: String,
    /// Whatever else the sender said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl ErrorObject {
    /// The message was not JSON.
    pub const PARSE: i64 = -32700;
    /// The message was JSON but no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Nobody answers this method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The request was right; answering it failed.
    pub const INTERNAL: i64 = -32603;
    /// HTTP headers and body disagree.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client lacks a capability that the request needs.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The protocol version is not served here.
    pub const UNSUPPORTED_VERSION: i64 = -32022;

    /// Makes an error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Says that the parameters do not fit.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// Says that nobody answers `method`.
    pub fn unknown_method(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("method `{method}` is not served here"))
    }

    /// Whether only a server of the sessionless era answers with this code.
    pub fn is_modern(&self) -> bool {
        (Self::UNSUPPORTED_VERSION..=Self::HEADER_MISMATCH).contains(&self.code)
    }
}

/// One message, in either direction.
#[derive(Clone, Debug)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// Names the request in the answer.
        id: Id,
        /// What is asked.
        method: String,
        /// With what.
        params: Option<Box<RawValue>>,
    },
    /// Wants no answer.
    Notification {
        /// What happened.
        method: String,
        /// To what.
        params: Option<Box<RawValue>>,
    },
    /// Answers a request.
    Response {
        /// The request that is answered.
        id: Id,
        /// How it went.
        outcome: Result<Box<RawValue>, ErrorObject>,
    },
}

/// Why bytes are not a message.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// Not JSON at all.
    #[error("the message is not valid JSON: {0}")]
    Syntax(serde_json::Error),
    /// Begins with a byte order mark, which some readers skip and others refuse.
    #[error("the message begins with a byte order mark, which JSON does not have; send it without")]
    ByteOrderMark,
    /// JSON, but not JSON-RPC.
    #[error("the message is not a JSON-RPC 2.0 request, notification or response")]
    Shape,
}

impl Malformed {
    /// Returns the error that the sender is told.
    pub fn to_error(&self) -> ErrorObject {
        let code = match self {
            Self::Syntax(_) | Self::ByteOrderMark => ErrorObject::PARSE,
            Self::Shape => ErrorObject::INVALID_REQUEST,
        };
        ErrorObject::new(code, self.to_string())
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "even_null")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    params: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "even_null")]
    result: Option<Box<RawValue>>,
    error: Option<ErrorObject>,
}

/// A member that is null is there, which is not the same as absent.
fn even_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Message {
    /// Reads one message.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.starts_with("\u{feff}".as_bytes()) {
            return Err(Malformed::ByteOrderMark);
        }
        let envelope: Envelope<'_> = serde_json::from_slice(bytes).map_err(|err| match err.classify() {
            serde_json::error::Category::Data => Malformed::Shape,
            serde_json::error::Category::Io
            | serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof => Malformed::Syntax(err),
        })?;
        if envelope.jsonrpc.as_deref() != Some("2.0") {
            return Err(Malformed::Shape);
        }
        let id = match envelope.id {
            Some(raw) => Some(Id::from_json(raw.get()).ok_or(Malformed::Shape)?),
            None => None,
        };
        let method = envelope.method.map(Cow::into_owned);
        match (id, method, envelope.result, envelope.error) {
            (Some(id), Some(method), None, None) => Ok(Self::Request { id, method, params: envelope.params }),
            (None, Some(method), None, None) => Ok(Self::Notification { method, params: envelope.params }),
            (Some(id), None, Some(result), None) => Ok(Self::Response { id, outcome: Ok(result) }),
            // Some senders write `"result": null` beside the error.
            (Some(id), None, result, Some(error)) if result.as_ref().is_none_or(|it| it.get() == "null") => {
                Ok(Self::Response { id, outcome: Err(error) })
            }
            _ => Err(Malformed::Shape),
        }
    }

    /// Writes the message as one line of JSON without the line end.
    pub fn to_line(&self) -> String {
        match self {
            Self::Request { id, method, params } => request_line(id, method, params.as_deref()),
            Self::Notification { method, params } => notification_line(method, params.as_deref()),
            Self::Response { id, outcome } => response_line(Some(id), outcome),
        }
    }
}

/// Writes a request as one line of JSON.
pub fn request_line(id: &Id, method: &str, params: Option<&RawValue>) -> String {
    let mut line = format!(r#"{{"jsonrpc":"2.0","id":{},"method":{}"#, id.0, quoted(method));
    push_params(&mut line, params);
    line
}

/// Writes a notification as one line of JSON.
pub fn notification_line(method: &str, params: Option<&RawValue>) -> String {
    let mut line = format!(r#"{{"jsonrpc":"2.0","method":{}"#, quoted(method));
    push_params(&mut line, params);
    line
}

/// Writes a response as one line of JSON; the id is left out when the request's could not be read.
pub fn response_line(id: Option<&Id>, outcome: &Result<Box<RawValue>, ErrorObject>) -> String {
    let mut line = String::with_capacity(64 + outcome.as_ref().map_or(128, |raw| raw.get().len()));
    line.push_str(r#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        line.push_str(r#","id":"#);
        line.push_str(&id.0);
    }
    match outcome {
        Ok(result) => {
            line.push_str(r#","result":"#);
            push_single_line(&mut line, result.get());
        }
        Err(error) => {
            line.push_str(r#","error":"#);
            push_single_line(&mut line, raw(error).get());
        }
    }
    line.push('}');
    line
}

fn push_params(line: &mut String, params: Option<&RawValue>) {
    if let Some(params) = params {
        line.push_str(r#","params":"#);
        push_single_line(line, params.get());
    }
    line.push('}');
}

/// Raw JSON may be pretty-printed; a line may not contain line ends. Inside
/// strings they are always escaped, so outside they are mere white space.
fn push_single_line(line: &mut String, json: &str) {
    if json.bytes().any(|byte| byte == b'\n' || byte == b'\r') {
        line.extend(json.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
    } else {
        line.push_str(json);
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Turns a value into raw JSON.
pub fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("own types serialise: string keys, no failing impls")
}

/// A JSON object whose values stay raw, in the order they came.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    members: Vec<(String, Box<RawValue>)>,
    /// A name that the text had twice.
    twice: Option<Box<str>>,
}

impl Fields {
    /// Reads an object; absent parameters are an empty one.
    pub fn parse(json: Option<&RawValue>) -> Result<Self, serde_json::Error> {
        json.map_or_else(|| Ok(Self::default()), |json| serde_json::from_str(json.get()))
    }

    /// Returns a member.
    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.members.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    /// Returns a member that is a string.
    pub fn text(&self, key: &str) -> Option<String> {
        self.read(key)
    }

    /// Returns a member that reads as `T`.
    pub fn read<T: for<'de> Deserialize<'de>>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    /// Returns a member that is an object; an absent one is empty.
    pub fn object(&self, key: &str) -> Self {
        self.read(key).unwrap_or_default()
    }

    /// Sets a member, in its old place when there is one.
    pub fn set(&mut self, key: &str, value: Box<RawValue>) {
        match self.members.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.members.push((key.to_owned(), value)),
        }
    }

    /// Removes a member.
    pub fn remove(&mut self, key: &str) -> Option<Box<RawValue>> {
        let at = self.members.iter().position(|(name, _)| name == key)?;
        Some(self.members.remove(at).1)
    }

    /// Keeps the members whose name fits.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.members.retain(|(name, _)| keep(name));
    }

    /// Says why this, or an object within, can be read in two ways: what was judged may not be what a server acts on.
    pub fn ambiguity(&self) -> Option<JsonAmbiguity> {
        let own = self.twice.as_deref().map(|name| JsonAmbiguity::Repeated(name.to_owned()));
        own.or_else(|| alike(self.iter().map(|(name, _)| name)))
            .or_else(|| self.iter().find_map(|(_, value)| ambiguous(value.get())))
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.members.iter().map(|(name, value)| (name.as_str(), &**value))
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for (name, value) in &self.members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Fields::default();
                let mut places: HashMap<String, usize> = HashMap::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    // Of a member that is repeated the last counts, as it does for those who read the
                    // text elsewhere; what was checked here must be what they get.
                    match places.entry(name.clone()) {
                        Entry::Occupied(place) => {
                            fields.members[*place.get()].1 = value;
                            fields.twice.get_or_insert_with(|| name.into());
                        }
                        Entry::Vacant(place) => {
                            place.insert(fields.members.len());
                            fields.members.push((name, value));
                        }
                    }
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Objects and lists within others that are read.
const READ_DEPTH: usize = 128;

/// Writes arguments in one way, whatever their order and layout: a model repeats them by heart. Numbers stay as they are
/// written, because two that differ may be the same once they are read.
pub(crate) fn canonical(arguments: &RawValue) -> String {
    fn written(json: &RawValue, depth: usize) -> Option<String> {
        let (text, depth) = (json.get(), depth.checked_sub(1)?);
        let joined = |parts: Vec<String>| parts.join(",");
        match text.as_bytes().first()? {
            b'{' => {
                let fields = Fields::parse(Some(json)).ok()?;
                let members: BTreeMap<&str, &RawValue> = fields.iter().collect();
                let member = |(name, value): (&&str, &&RawValue)| {
                    Some(format!("{}:{}", quoted(name), written(value, depth)?))
                };
                Some(format!("{{{}}}", joined(members.iter().map(member).collect::<Option<_>>()?)))
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                Some(format!(
                    "[{}]",
                    joined(items.into_iter().map(|it| written(it, depth)).collect::<Option<_>>()?)
                ))
            }
            b'"' => Some(quoted(&serde_json::from_str::<String>(text).ok()?)),
            _ => Some(text.to_owned()),
        }
    }
    written(arguments, READ_DEPTH).unwrap_or_else(|| arguments.get().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn carries_unknown_fields_order_and_numbers_unchanged() {
        let text = r#"{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"z":1.50,"a":[1e3],"ü":"\u00e9"}}"#;
        assert_eq!(Message::parse(text.as_bytes()).unwrap().to_line(), text);
    }

    #[test]
    fn a_pretty_printed_payload_becomes_one_line() {
        let params = RawValue::from_string("{\n  \"a\": \"x\\ny\"\r\n}".to_owned()).unwrap();
        let line = notification_line("n", Some(&params));
        assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{   \"a\": \"x\\ny\"  }}");
    }

    #[test]
    fn tells_what_is_not_json_from_what_is_not_a_message() {
        let said = |text: &str| Message::parse(text.as_bytes()).unwrap_err().to_error().code;
        assert_eq!(said("{"), ErrorObject::PARSE);
        assert_eq!(said("\u{1b}[31mhello"), ErrorObject::PARSE);
        assert_eq!(said("[]"), ErrorObject::INVALID_REQUEST);
        assert_eq!(said(r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#), ErrorObject::INVALID_REQUEST);
        assert_eq!(said(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#), ErrorObject::INVALID_REQUEST);
        assert_eq!(said(r#"{"jsonrpc":"2.0","id":1}"#), ErrorObject::INVALID_REQUEST);
        assert_eq!(said(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), ErrorObject::INVALID_REQUEST);
        assert_eq!(said(r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#), ErrorObject::INVALID_REQUEST);
    }

    #[test]
    fn an_id_is_what_json_calls_a_string_or_an_integer() {
        for id in ["0", "-0", "7", "-12", "123456789012345678901234567890", "\"a\\\"b\""] {
            assert_eq!(Id::from_json(id).as_ref().map(Id::as_json), Some(id));
        }
        for other in ["007", "+7", "-07", "00", "1.5", "1e3", "", "-", "null", "\"a"] {
            assert_eq!(Id::from_json(other), None, "{other}");
        }
    }

    #[test]
    fn an_answer_that_is_null_is_an_answer() {
        let parsed = |text: &str| match Message::parse(text.as_bytes()).unwrap() {
            Message::Response { outcome, .. } => {
                outcome.map(|raw| raw.get().to_owned()).map_err(|err| err.code)
            }
            other @ (Message::Request { .. } | Message::Notification { .. }) => panic!("{other:?}"),
        };
        assert_eq!(parsed(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), Ok("null".to_owned()));
        assert_eq!(parsed(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-1}}"#), Err(-1));
    }

    #[test]
    fn of_a_repeated_member_the_last_counts() {
        let fields: Fields = serde_json::from_str(r#"{"name":"x","a":1,"name":"y"}"#).unwrap();
        assert_eq!(raw(&fields).get(), r#"{"name":"y","a":1}"#);
    }

    #[test]
    fn h2_what_can_be_read_in_two_ways_is_found_however_deep_and_however_it_is_written() {
        let said = |text: &str| {
            let ambiguity = serde_json::from_str::<Fields>(text).unwrap().ambiguity();
            ambiguity.map_or_else(|| "-".to_owned(), |it| it.to_string())
        };
        let all = [
            said(r#"{"name":"x","n\u0061me":"y"}"#),
            said(r#"{"name":"x","Name":"y"}"#),
            said(r#"{"arguments":{"command":"ls","c\u200bommand":"rm"}}"#),
            said(r#"{"arguments":{"command":"ls","Command":"rm"}}"#),
            said(r#"{"arguments":{"a":[{"b":1,"c":{},"b":2}]}}"#),
            said(r#"{"arguments":{"a":[{"b":1,"\uff42":2}]}}"#),
            said(r#"{"arguments":{"text":"\ud800x"}}"#),
            said(r#"{"arguments":{"n":1e999}}"#),
            said(r#"{"arguments":{"command":"ls\u0000"}}"#),
            said(r#"{"arguments":{"a":{"b":1},"c":{"b":1},"d":"{\"b\":1,\"b\":2}"}}"#),
            said(
                r#"{"arguments":{"id":123456789012345678901234567890,"z":-0,"e":"\ud83d\ude00","map":{"a":1,"A":2}}}"#,
            ),
            said(r#"{"arguments":{"path":"a","content":"a\u0000b"}}"#),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        `name` is there twice in one object, so what is meant is not clear; say it once
        `name` and `Name` are one name to some readers, so what is meant is not clear; keep one of them
        `command` and `c\u{200b}ommand` are one name to some readers, so what is meant is not clear; keep one of them
        `command` and `Command` are one name to some readers, so what is meant is not clear; keep one of them
        `b` is there twice in one object, so what is meant is not clear; say it once
        `b` and `\u{ff42}` are one name to some readers, so what is meant is not clear; keep one of them
        `\ud800` is half a character, which servers read differently; write the whole character, or leave it out
        the number `1e999` is too large to be read the same everywhere; write a smaller one, or a text
        `command` has a NUL character, where some servers end the text; leave it out
        -
        -
        -
        ");
        let mark = Message::parse("\u{feff}{}".as_bytes()).unwrap_err().to_error();
        insta::assert_snapshot!(mark, @"the message begins with a byte order mark, which JSON does not have; send it without (code -32700)");
    }

    #[test]
    fn h2_two_numbers_that_are_one_when_they_are_rounded_are_two() {
        let written = |text: &str| canonical(&RawValue::from_string(text.to_owned()).unwrap());
        assert_eq!(
            written(r#"{"b": [1, {"d": "\u0041", "c": null}], "a": 1.50}"#),
            r#"{"a":1.50,"b":[1,{"c":null,"d":"A"}]}"#
        );
        assert_ne!(written("[12345678901234567890123]"), written("[12345678901234567890124]"));
    }

    #[test]
    fn fields_change_in_place() {
        let mut fields: Fields = serde_json::from_str(r#"{"name":"x","arguments":{"n": 1.0}}"#).unwrap();
        fields.set("name", raw(&"y"));
        fields.set("extra", raw(&true));
        assert_eq!(raw(&fields).get(), r#"{"name":"y","arguments":{"n": 1.0},"extra":true}"#);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Message::parse(&bytes);
        }

        #[test]
        fn no_json_panics(id in "[0-9\"a-z{}.-]{0,6}", method in ".{0,8}", rest in ".{0,20}") {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{rest}}}"#, quoted(&method));
            if let Ok(message) = Message::parse(text.as_bytes()) {
                prop_assert!(!message.to_line().contains('\n'));
                prop_assert!(Message::parse(message.to_line().as_bytes()).is_ok());
            }
        }
    }

    #[test]
    fn c3_order_and_layout_of_arguments_do_not_matter_and_their_values_do() {
        let canonical = |text: &str| canonical(&RawValue::from_string(text.to_owned()).unwrap());
        assert_eq!(
            canonical(r#"{"b": [1, {"y":2,"x":1}], "a": "é"}"#),
            canonical(r#"{"a":"\u00e9","b":[1,{"x":1,"y":2}]}"#)
        );
        assert_ne!(canonical(r#"{"a": 1}"#), canonical(r#"{"a": "1"}"#));
        assert_ne!(canonical(r#"{"a": [1, 2]}"#), canonical(r#"{"a": [2, 1]}"#));
    }
}
