//! What was called: who, which tool, with what kind of arguments, and how it ended.
//!
//! Writing it down never delays or fails a call: a task of its own writes, what it cannot keep up with is
//! dropped and counted, and a full disk is said once. Values of arguments are written only where the
//! configuration says so.

mod file; //  lines in files that are rotated
mod shape; // arguments without their values

pub(crate) use shape::of as shape_of;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use toolyard_core::tool::{Effect, Hints, ToolId, clean};
use toolyard_telemetry::Metrics;

use crate::caller::Caller;
use crate::config;
use crate::jsonrpc::{Fields, canonical};
use crate::pins::{Notice, Noticed};
use crate::policy::glob_fits;
use crate::seal::{Seal, digest};

/// Lines that wait to be written; more are dropped.
const WAITING: usize = 4096;
/// Characters of a client's name.
const WHO_CHARS: usize = 60;

/// One call as it is written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When it began, in RFC 3339.
    pub at: String,
    /// The name under which the client is registered here, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What the client calls itself, and a mark that tells its sessions apart.
    pub who: String,
    /// The tool as `server__tool`.
    pub tool: String,
    /// What the call does to the world.
    pub effect: Effect,
    /// The names and types of the arguments.
    pub shape: Value,
    /// Tells arguments apart without giving them away.
    pub hash: String,
    /// How it ended.
    pub outcome: Fate,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The arguments themselves, where the configuration says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The tool answered.
    Answered,
    /// The tool answered that it failed.
    Failed,
    /// The server refused the request.
    Refused,
    /// The server could not be reached, or did not answer.
    Unreachable,
    /// The configuration forbids it.
    Denied,
    /// It was to be confirmed first.
    Unconfirmed,
    /// Too many calls, or a server that is left alone for a while.
    HeldBack,
    /// The client gave it up.
    Abandoned,
    /// Not called: a tool that a known server added was approved by being seen.
    Pinned,
    /// Not called: a person approved a tool.
    Approved,
    /// Not called: a tool is withheld until a person approves it.
    Withheld,
    /// Not called: a server comes from elsewhere, or has another version.
    Moved,
}

impl Fate {
    /// Every way that a call can end.
    pub const ALL: [Self; 12] = [
        Self::Answered,
        Self::Failed,
        Self::Refused,
        Self::Unreachable,
        Self::Denied,
        Self::Unconfirmed,
        Self::HeldBack,
        Self::Abandoned,
        Self::Pinned,
        Self::Approved,
        Self::Withheld,
        Self::Moved,
    ];

    /// Returns its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Denied => "denied",
            Self::Unconfirmed => "unconfirmed",
            Self::HeldBack => "held-back",
            Self::Abandoned => "abandoned",
            Self::Pinned => "pinned",
            Self::Approved => "approved",
            Self::Withheld => "withheld",
            Self::Moved => "moved",
        }
    }
}

/// What is looked for in the log.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// A glob over `server__tool`.
    pub tool: Option<String>,
    /// Not longer ago than this.
    pub within: Option<Duration>,
    /// How it ended.
    pub outcome: Option<Fate>,
    /// The latest so many.
    pub limit: usize,
}

/// Returns the calls that were written down in a store's folder, oldest first.
pub fn read(folder: &Path, search: &Search) -> std::io::Result<Vec<Record>> {
    let since = search.within.and_then(|within| Timestamp::now().checked_sub(within).ok());
    let fits = |record: &Record| {
        search.tool.as_deref().is_none_or(|glob| glob_fits(glob, &record.tool))
            && search.outcome.is_none_or(|outcome| outcome == record.outcome)
            && since.is_none_or(|since| record.at.parse().is_ok_and(|at: Timestamp| at >= since))
    };
    file::read(&folder_of(folder), search.limit, |line| {
        serde_json::from_str::<Record>(line).ok().filter(|record| fits(record))
    })
}

fn folder_of(store: &Path) -> PathBuf {
    store.join("audit")
}

/// A call to be written down.
struct Entry {
    at: Timestamp,
    client: Option<String>,
    who: String,
    tool: String,
    effect: Effect,
    arguments: Option<Box<RawValue>>,
    fate: Fate,
    took: Duration,
    rules: config::Audit,
    /// The pin of a definition, in the place of the hash of arguments.
    pin: Option<String>,
}

/// Writes calls down.
#[derive(Debug)]
pub(crate) struct Audit {
    folder: PathBuf,
    seal: Arc<Seal>,
    metrics: Metrics,
    writing: Mutex<Option<Writing>>,
    named: Mutex<Named>,
}

#[derive(Debug)]
struct Writing {
    entries: SyncSender<Entry>,
    task: JoinHandle<()>,
}

impl Audit {
    /// Writes into a store's folder; the seal makes hashes that nobody else can guess.
    pub(crate) fn new(store: &Path, seal: Arc<Seal>, metrics: Metrics) -> Self {
        Self { folder: folder_of(store), seal, metrics, writing: Mutex::default(), named: Mutex::default() }
    }

    /// Begins to write a call down. It is written when it ended or was given up.
    pub(crate) fn begin<'a>(
        &'a self,
        rules: &config::Audit,
        (tool, effect): (&str, Effect),
        arguments: Option<&RawValue>,
        caller: &Caller,
    ) -> Underway<'a> {
        let entry = rules.enabled.then(|| Entry {
            at: Timestamp::now(),
            client: caller.grant.name().map(str::to_owned),
            who: who(&self.named, caller),
            tool: tool.to_owned(),
            effect,
            arguments: arguments.map(ToOwned::to_owned),
            fate: Fate::Abandoned,
            took: Duration::ZERO,
            rules: rules.clone(),
            pin: None,
        });
        Underway { audit: self, tool: tool.to_owned(), fate: Fate::Abandoned, entry, start: Instant::now() }
    }

    /// Writes down what was noticed about the definitions of a server.
    pub(crate) fn note(&self, rules: &config::Audit, server: &str, notice: &Notice) {
        let fate = match notice.what {
            Noticed::FirstUse | Noticed::Renumbered => Fate::Pinned,
            Noticed::Withheld => Fate::Withheld,
            Noticed::Approved => Fate::Approved,
            Noticed::Moved => Fate::Moved,
        };
        let whole = [("*".to_owned(), String::new())];
        let tools = if notice.tools.is_empty() { &whole } else { notice.tools.as_slice() };
        for (tool, pin) in tools.iter().filter(|_| rules.enabled) {
            let id = if tool == "*" { format!("{server}__*") } else { ToolId::new(server, tool).to_string() };
            self.write(Entry {
                at: Timestamp::now(),
                client: None,
                who: "toolyard".to_owned(),
                tool: id,
                effect: Effect::infer(tool, Hints::default()),
                arguments: None,
                fate,
                took: Duration::ZERO,
                rules: rules.clone(),
                pin: Some(pin.clone()),
            });
        }
    }

    fn write(&self, entry: Entry) {
        let mut writing = self.writing.lock();
        let writing = writing.get_or_insert_with(|| {
            let (entries, waiting) = sync_channel(WAITING);
            let (folder, seal) = (self.folder.clone(), Arc::clone(&self.seal));
            let task = std::thread::spawn(move || write_all(&waiting, &folder, &seal));
            Writing { entries, task }
        });
        if let Err(TrySendError::Full(entry)) = writing.entries.try_send(entry) {
            tracing::warn!(tool = %entry.tool, "calls come faster than they can be written down; one is left out");
        }
    }

    /// Waits until everything is written.
    pub(crate) fn close(&self) {
        let writing = self.writing.lock().take();
        if let Some(Writing { entries, task }) = writing {
            drop(entries);
            let _ = task.join();
        }
    }
}

/// A call under way.
pub(crate) struct Underway<'a> {
    audit: &'a Audit,
    tool: String,
    fate: Fate,
    entry: Option<Entry>,
    start: Instant,
}

impl Underway<'_> {
    /// Writes down how the call ended.
    pub(crate) fn end(mut self, fate: Fate) {
        self.fate = fate;
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        let (took, fate) = (self.start.elapsed(), self.fate);
        let (server, tool) = self.tool.split_once("__").unwrap_or(("", &self.tool));
        self.audit.metrics.call(server, tool, fate.name(), took);
        if let Some(entry) = self.entry.take() {
            self.audit.write(Entry { took, fate, ..entry });
        }
    }
}

/// Names a client and tells its sessions apart, as the last one was named if it is the same.
fn who(last: &Mutex<Named>, caller: &Caller) -> String {
    let mut last = last.lock();
    let info = caller.info.as_deref().map_or("", RawValue::get);
    if last.who.is_empty() || *last.principal != *caller.principal || last.info != info {
        *last =
            Named { principal: caller.principal.to_string(), info: info.to_owned(), who: name_of(caller) };
    }
    last.who.clone()
}

/// The client of the last call.
#[derive(Debug, Default)]
struct Named {
    principal: String,
    info: String,
    who: String,
}

/// What state is bound to is not written itself.
fn name_of(caller: &Caller) -> String {
    let info = Fields::parse(caller.info.as_deref()).unwrap_or_default();
    let name = info.text("name").unwrap_or_else(|| "somebody".to_owned());
    let name: String = clean(&name).chars().filter(|c| !c.is_control()).take(WHO_CHARS).collect();
    let mark: String = digest(&["audit", &caller.principal]).chars().take(8).collect();
    format!("{name} {mark}")
}

fn write_all(entries: &Receiver<Entry>, folder: &Path, seal: &Seal) {
    let mut log = file::Log::new(folder);
    let mut is_failing = false;
    while let Ok(entry) = entries.recv() {
        let (bytes, files) = (entry.rules.file_bytes, entry.rules.files);
        let line = serde_json::to_string(&record(entry, seal)).expect("own types serialise");
        match log.append(&line, bytes, files) {
            Ok(()) => is_failing = false,
            Err(err) if !is_failing => {
                is_failing = true;
                tracing::warn!("calls are not written down: `{}` cannot be written: {err}", folder.display());
            }
            Err(_) => {}
        }
    }
}

fn record(entry: Entry, seal: &Seal) -> Record {
    let text = entry.arguments.as_deref().map_or("{}", RawValue::get);
    let arguments: Value = serde_json::from_str(text).unwrap_or_default();
    let canonical = entry.arguments.as_deref().map(canonical).unwrap_or_default();
    Record {
        at: entry.at.round(jiff::Unit::Millisecond).unwrap_or(entry.at).to_string(),
        hash: entry.pin.unwrap_or_else(|| seal.mark(&[&entry.tool, &canonical])),
        client: entry.client,
        who: entry.who,
        tool: entry.tool,
        effect: entry.effect,
        shape: shape::of(&arguments),
        outcome: entry.fate,
        ms: u64::try_from(entry.took.as_millis()).unwrap_or(u64::MAX),
        arguments: entry.rules.values.then(|| shape::without_secrets(&arguments)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn noted(folder: &Path, rules: &config::Audit, calls: &[(&str, Value, Fate)]) {
        let audit = Audit::new(folder, Arc::new(Seal::open(folder)), Metrics::new());
        for (tool, arguments, fate) in calls {
            let raw = crate::jsonrpc::raw(arguments);
            audit.begin(rules, (tool, Effect::Write), Some(&raw), &Caller::nobody()).end(*fate);
        }
        audit.close();
    }

    #[test]
    fn c3_a_call_is_written_down_without_its_values() {
        let folder = tempfile::tempdir().unwrap();
        let arguments =
            json!({"path": "secret-place", "depth": 2, "tags": ["a"], "more": {"on": true, "no": null}});
        let calls = [
            ("fs__write", arguments.clone(), Fate::Answered),
            ("fs__write", arguments, Fate::Failed),
            ("db__run", json!({"path": "elsewhere"}), Fate::Denied),
        ];
        noted(folder.path(), &config::Audit::default(), &calls);
        let all = read(folder.path(), &Search { limit: 9, ..Search::default() }).unwrap();
        assert_eq!(all.len(), 3);
        assert_eq!(
            all[0].shape,
            json!({"path": "string", "depth": "number", "tags": ["string"], "more": {"on": "boolean", "no": "null"}})
        );
        assert_eq!(all[0].hash, all[1].hash);
        assert_ne!(all[0].hash, all[2].hash);
        let text = std::fs::read_to_string(folder.path().join("audit/audit.jsonl")).unwrap();
        assert!(!text.contains("secret-place"), "{text}");
        let found = |search: Search| read(folder.path(), &search).unwrap().len();
        assert_eq!(found(Search { tool: Some("fs__*".to_owned()), limit: 9, ..Search::default() }), 2);
        assert_eq!(found(Search { outcome: Some(Fate::Failed), limit: 9, ..Search::default() }), 1);
        assert_eq!(found(Search { limit: 1, ..Search::default() }), 1);
        let old = serde_json::to_string(&Record { at: "2001-01-01T00:00:00Z".to_owned(), ..all[0].clone() });
        file::Log::new(&folder_of(folder.path())).append(&old.unwrap(), 10_000, 2).unwrap();
        let hour = Some(Duration::from_secs(3600));
        assert_eq!(found(Search { limit: 9, ..Search::default() }), 4);
        assert_eq!(found(Search { within: hour, limit: 9, ..Search::default() }), 3);
    }

    #[test]
    fn c3_values_are_written_where_asked_for_and_secrets_never() {
        let folder = tempfile::tempdir().unwrap();
        let rules = config::Audit { values: true, ..config::Audit::default() };
        let arguments = json!({"path": "a.txt", "apiKey": "key-to-the-yard", "auth": {"password": "word-to-pass", "user": "ana"}});
        noted(folder.path(), &rules, &[("fs__write", arguments, Fate::Answered)]);
        let text = std::fs::read_to_string(folder.path().join("audit/audit.jsonl")).unwrap();
        assert!(text.contains("a.txt") && text.contains("ana"), "{text}");
        assert!(!text.contains("key-to-the-yard") && !text.contains("word-to-pass"), "{text}");
    }

    #[test]
    fn c3_a_call_that_was_given_up_is_written_down_too_and_none_when_switched_off() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::new(folder.path(), Arc::new(Seal::open(folder.path())), Metrics::new());
        let off = config::Audit { enabled: false, ..config::Audit::default() };
        drop(audit.begin(&config::Audit::default(), ("fs__a", Effect::Read), None, &Caller::nobody()));
        drop(audit.begin(&off, ("fs__b", Effect::Read), None, &Caller::nobody()));
        audit.close();
        let all = read(folder.path(), &Search { limit: 9, ..Search::default() }).unwrap();
        assert_eq!(
            all.iter().map(|it| (it.tool.as_str(), it.outcome)).collect::<Vec<_>>(),
            [("fs__a", Fate::Abandoned)]
        );
    }
}
