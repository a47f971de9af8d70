//! W3C trace context, as it travels in the `_meta` of MCP messages.
//!
//! A context that was parsed is valid: its ids are not zero, and its tracestate may be passed on as it is. A malformed
//! `traceparent` starts a new trace; a malformed `tracestate` is dropped and the trace goes on. That is what the
//! specification asks for.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// The field of `_meta` that names the trace and the caller's span.
pub const TRACEPARENT: &str = "traceparent";
/// The field of `_meta` that carries what tracing systems add for themselves.
pub const TRACESTATE: &str = "tracestate";

/// The length of a `traceparent` of version 00; later versions may only append to it.
const LENGTH: usize = 55;
const SAMPLED: u8 = 0b01;
/// Says that the trace id is random.
const RANDOM: u8 = 0b10;
/// Entries that a tracestate may have.
const STATE_ENTRIES: usize = 32;
/// Bytes of a tracestate that are passed on.
const STATE_BYTES: usize = 512;
/// Entries longer than this are the first to go when a tracestate is too long.
const LONG_ENTRY: usize = 128;

/// Why a `traceparent` is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It has another form.
    #[error("`{0}` is not a traceparent such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`")]
    Malformed(String),
    /// The version ff is forbidden.
    #[error("`{0}` has the version ff, which no traceparent has")]
    Version(String),
    /// An id of zeros names nothing.
    #[error("`{0}` has an id of zeros")]
    Zero(String),
}

/// Names a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// Names one span of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// A place in a trace: which trace, which span, and whether anybody records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    trace: TraceId,
    span: SpanId,
    flags: u8,
    state: Option<Arc<str>>,
}

impl Context {
    /// Starts a new trace that is recorded.
    pub fn root() -> Self {
        Self { trace: TraceId(random()), span: SpanId(random()), flags: SAMPLED | RANDOM, state: None }
    }

    /// Reads a `traceparent` and the `tracestate` beside it.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Result<Self, Error> {
        let shown = || traceparent.chars().take(80).collect::<String>();
        let malformed = || Error::Malformed(shown());
        let bytes = traceparent.as_bytes();
        if bytes.len() < LENGTH || [2, 35, 52].iter().any(|dash| bytes[*dash] != b'-') {
            return Err(malformed());
        }
        let [version] = from_hex(&bytes[..2]).ok_or_else(malformed)?;
        match version {
            0 if bytes.len() > LENGTH => return Err(malformed()),
            0xff => return Err(Error::Version(shown())),
            _known_or_later if bytes.len() > LENGTH && bytes[LENGTH] != b'-' => return Err(malformed()),
            _known_or_later => {}
        }
        let trace: [u8; 16] = from_hex(&bytes[3..35]).ok_or_else(malformed)?;
        let span: [u8; 8] = from_hex(&bytes[36..52]).ok_or_else(malformed)?;
        let [flags] = from_hex(&bytes[53..LENGTH]).ok_or_else(malformed)?;
        if trace == [0; 16] || span == [0; 8] {
            return Err(Error::Zero(shown()));
        }
        Ok(Self {
            trace: TraceId(trace),
            span: SpanId(span),
            flags: flags & (SAMPLED | RANDOM),
            state: tracestate.and_then(checked_state),
        })
    }

    /// Reads the context of a message out of its `_meta`. There is none where it is missing or malformed.
    pub fn from_meta(meta: &Value) -> Option<Self> {
        let traceparent = meta.get(TRACEPARENT)?.as_str()?;
        let tracestate = meta.get(TRACESTATE).and_then(Value::as_str);
        Self::parse(traceparent, tracestate)
            .inspect_err(|err| tracing::debug!("trace context ignored: {err}"))
            .ok()
    }

    /// Writes the context into the `_meta` of a message, in place of any that is there.
    pub fn write_meta(&self, meta: &mut Map<String, Value>) {
        meta.insert(TRACEPARENT.to_owned(), self.traceparent().into());
        match self.tracestate() {
            Some(state) => meta.insert(TRACESTATE.to_owned(), state.into()),
            None => meta.shift_remove(TRACESTATE),
        };
    }

    /// Returns a new span of the same trace.
    pub fn child(&self) -> Self {
        Self { span: SpanId(random()), ..self.clone() }
    }

    /// Writes the `traceparent`.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.trace, self.span, self.flags)
    }

    /// Returns the `tracestate` to pass on.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// Returns the trace.
    pub fn trace_id(&self) -> TraceId {
        self.trace
    }

    /// Returns the span.
    pub fn span_id(&self) -> SpanId {
        self.span
    }

    /// Tells whether the trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    pub(crate) fn flags(&self) -> u8 {
        self.flags
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

/// Returns random bytes that are not all zero.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    while bytes == [0; N] {
        getrandom::fill(&mut bytes).expect("every supported system has a source of random bytes");
    }
    bytes
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Reads lower-case digits, the only ones that the specification allows.
fn from_hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// Returns a tracestate that may be passed on: whole entries, as many as fit.
fn checked_state(state: &str) -> Option<Arc<str>> {
    let trimmed = state.split(',').map(|entry| entry.trim_matches([' ', '\t']));
    let mut entries: Vec<(&str, &str)> = Vec::new();
    for entry in trimmed.filter(|entry| !entry.is_empty()) {
        let (key, value) = entry.split_once('=')?;
        let is_repeated = entries.iter().any(|(known, _)| *known == key);
        if !is_state_key(key) || !is_state_value(value) || is_repeated || entries.len() == STATE_ENTRIES {
            return None;
        }
        entries.push((key, value));
    }
    let length = |entry: &(&str, &str)| entry.0.len() + 1 + entry.1.len();
    while entries.iter().map(|entry| length(entry) + 1).sum::<usize>() > STATE_BYTES + 1 {
        let dropped =
            entries.iter().rposition(|entry| length(entry) > LONG_ENTRY).unwrap_or(entries.len() - 1);
        entries.remove(dropped);
    }
    let written: Vec<String> = entries.iter().map(|(key, value)| format!("{key}={value}")).collect();
    (!written.is_empty()).then(|| written.join(",").into())
}

/// A key is `vendor`, or `tenant@vendor`.
fn is_state_key(key: &str) -> bool {
    let is_plain = |part: &str| {
        part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/'))
    };
    let begins_with_letter = |part: &str| part.starts_with(|first: char| first.is_ascii_lowercase());
    match key.split_once('@') {
        None => begins_with_letter(key) && is_plain(key) && key.len() <= 256,
        Some((tenant, vendor)) => {
            let is_tenant = (1..=241).contains(&tenant.len()) && is_plain(tenant);
            let starts =
                tenant.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
            is_tenant && starts && vendor.len() <= 14 && begins_with_letter(vendor) && is_plain(vendor)
        }
    }
}

fn is_state_value(value: &str) -> bool {
    (1..=256).contains(&value.len())
        && !value.ends_with(' ')
        && value.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b',' && byte != b'=')
}
