//! Which definitions of tools were approved, and which wait for a person.
//!
//! Whether a tool waits follows from what is approved and what is listed, each time anew. So it holds after a restart
//! and a crash, and is over once a server lists the approved definition again.

mod canon; //      one way of writing a definition
mod difference; // what differs between two
mod known; //      what is approved
mod numbers; //    those that stand alone in a text
mod sighting; //   the tools of one listing
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use toolyard_core::tool::{ToolId, clean};

use crate::config::{Policy, Server, Transport, Trust};
use crate::jsonrpc::Fields;
use crate::store::{self, Approval, Approver, FreshPin, OriginRow, PinRow, Store};
use crate::upstream::Listing;
use crate::upstream::skill::MAIN;

use known::{Known, Lost, by_tool};
use sighting::SeenTool;

pub use difference::{Alteration, WordChange, WordRun, difference, remarks};
pub use known::LostApprovals;
pub(crate) use sighting::Sighting;

/// On which day the hub first saw each tool of each server, in days since 1970.
pub(crate) type FirstSeen = HashMap<Arc<str>, HashMap<String, u64>>;

/// Definitions of one server that are approved by being seen; a server that makes up new names for ever fills no disk.
const MOST_PINS: usize = 10_000;
/// Bytes of a definition that is kept to be shown again.
const MOST_TEXT: usize = 64 * 1024;
/// Lines about one server in the log; one that changes all the time is told of so often and not again.
const MOST_LINES: usize = 20;
/// Tools that are named in one line.
const MOST_NAMED: usize = 5;
/// Characters of the address of a skill.
const ADDRESS_CHARS: usize = 200;
/// Characters of a server's version.
const VERSION_CHARS: usize = 60;
/// How long it is shown that a server comes from elsewhere.
const RECENT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Seconds of a day.
const DAY_SECONDS: i64 = 24 * 3600;

/// A digest of what a model or a person sees of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pin(String);

impl Pin {
    /// Returns the pin of a definition.
    pub fn of(definition: &RawValue) -> Self {
        Self::of_all([definition.get()])
    }

    /// Returns the pin of all definitions that a server lists under one name: readers differ in which of them counts.
    fn of_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self(digest(texts.into_iter().map(canon::canonical)))
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a tool waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitingFor {
    /// Nobody approved it yet.
    New,
    /// Whether anybody did is not known: what was approved was lost or cannot be read.
    #[serde(rename = "new")]
    Unknown,
    /// It is not what was approved.
    Changed,
}

impl WaitingFor {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::New | Self::Unknown => "new",
            Self::Changed => "changed",
        }
    }
}

/// A tool that nobody is shown, because it waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldTool {
    /// The name that clients of the hub would use.
    pub id: ToolId,
    /// Its server.
    pub server: Arc<str>,
    /// The name that the server itself uses.
    pub name: String,
    /// Why it waits.
    pub why: WaitingFor,
    /// Its places in the listing of the server.
    pub(crate) at: Vec<usize>,
}

impl WithheldTool {
    /// Says why it cannot be called, and what to do.
    pub fn sentence(&self) -> String {
        let (id, server) = (&self.id, &self.server);
        if let Some(uri) = self.skill() {
            let why = match self.why {
                WaitingFor::Changed => "it changed since it was approved",
                WaitingFor::New | WaitingFor::Unknown => "nobody has approved it yet",
            };
            return format!(
                "skill `{uri}` of server `{server}` is withheld: {why}; `toolyard diff {server}` shows it, `toolyard \
                 approve {server}` accepts it"
            );
        }
        match self.why {
            WaitingFor::Changed => format!(
                "tool `{id}` is withheld: its definition changed since it was approved; `toolyard diff {server}` \
                 shows how, `toolyard approve {server}` accepts it"
            ),
            WaitingFor::New => format!(
                "tool `{id}` is withheld: nobody has approved it yet; `toolyard diff {server}` shows it, \
                 `toolyard approve {server}` accepts it"
            ),
            WaitingFor::Unknown => format!(
                "tool `{id}` is withheld: the store with what was approved was damaged or cannot be read; `toolyard \
                 doctor` says more, `toolyard diff {server}` shows the tool, `toolyard approve {server}` accepts it, \
                 and `toolyard approve --all` everything that waits"
            ),
        }
    }
}

impl WithheldTool {
    /// Returns the address of the skill that waits, where it is none of a server's tools.
    pub fn skill(&self) -> Option<String> {
        let is_skill = self.name.contains("://") && self.name.ends_with(MAIN);
        is_skill.then(|| clean(&self.name).chars().take(ADDRESS_CHARS).collect())
    }
}

/// What a listing is taken by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    trust: Trust,
    /// The digest of the command or address.
    address: String,
    /// Tools that are looked at.
    most: usize,
}

impl Terms {
    /// Returns how many tools are looked at.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Returns the terms of a server; `None` for one that is part of the program.
    pub(crate) fn of(server: &Server, policy: &Policy) -> Option<Self> {
        let trust = server.trusted(policy)?;
        // Values of variables and headers are secrets, and change without changing what a server is.
        let address = match &server.transport {
            Transport::Stdio { command, args, .. } => {
                digest(["stdio", command].into_iter().chain(args.iter().map(String::as_str)))
            }
            Transport::Http { url, .. } => digest(["http", url]),
            Transport::Sse { url, .. } => digest(["sse", url]),
            Transport::Builtin(_) => return None,
        };
        Some(Self { trust, address, most: server.limits.tools })
    }
}

/// Something that was noticed, to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// What.
    pub(crate) what: Noticed,
    /// The tools with their pins; none where the server itself is meant.
    pub(crate) tools: Vec<(String, String)>,
}

/// What was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noticed {
    /// A known server has more tools, which were approved by being seen.
    FirstUse,
    /// Numbers in the texts of tools changed, and nothing else.
    Renumbered,
    /// Tools are withheld.
    Withheld,
    /// A person approved tools.
    Approved,
    /// A server comes from elsewhere, or has another version.
    Moved,
}

/// That a server comes from elsewhere, or has another version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// What changed, in words.
    pub what: String,
    /// When, in seconds since 1970.
    pub since: i64,
}

/// What is approved, as all hubs on the same store know it.
#[derive(Debug)]
pub(crate) struct Pins {
    store: Arc<Store>,
    known: Mutex<Known>,
}

impl Pins {
    /// Reads what was approved.
    pub(crate) fn open(store: Arc<Store>) -> Self {
        let origins = store.origins().into_iter().map(|it| (it.server.clone(), it)).collect();
        let mut known = Known { origins, ..Known::default() };
        known.take(store.approvals());
        Self { store, known: Mutex::new(known) }
    }

    /// Looks at what a server lists. Tools that nobody has seen before are approved where the terms say so.
    pub(crate) fn meet(
        &self,
        server: &str,
        listing: &Listing,
        terms: &Terms,
    ) -> (Arc<Sighting>, Vec<Notice>) {
        let (sighting, mut notices) = self.look(server, &listing.definitions(terms.most), terms);
        notices.extend(self.heard_of(server, listing, terms));
        (Arc::new(sighting), notices)
    }

    /// Does the same for tools alone, such as those of one page.
    pub(crate) fn see(
        &self,
        server: &str,
        tools: &[Box<RawValue>],
        terms: &Terms,
    ) -> (Sighting, Vec<Notice>) {
        self.look(server, &tools[..tools.len().min(terms.most)], terms)
    }

    fn look(&self, server: &str, tools: &[Box<RawValue>], terms: &Terms) -> (Sighting, Vec<Notice>) {
        let mut sighting = {
            let known = self.known.lock();
            Sighting::of(tools.iter(), known.approved.get(server))
        };
        let mut notices: Vec<Notice> =
            self.follow_numbers(server, tools, &mut sighting).into_iter().collect();
        if terms.trust == Trust::FirstUse && !self.known.lock().is_lost(server) {
            notices.extend(self.accept_unknown(server, tools, &sighting));
        }
        notices.extend(self.tell_withheld(server, &sighting));
        (sighting, notices)
    }

    /// Notes where a server comes from, and says when that is not as it was.
    pub(crate) fn heard_of(&self, server: &str, listing: &Listing, terms: &Terms) -> Option<Notice> {
        let version = Fields::parse(listing.info.as_deref()).unwrap_or_default().text("version");
        let version: String = clean(&version.unwrap_or_default()).chars().take(VERSION_CHARS).collect();
        let mut known = self.known.lock();
        let old = known.origins.get(server).cloned();
        let is_elsewhere = old.as_ref().is_some_and(|old| old.address != terms.address);
        let is_other = old.as_ref().is_some_and(|old| old.version != version);
        if old.is_some() && !is_elsewhere && !is_other {
            return None;
        }
        let mut moved = Vec::new();
        if is_elsewhere {
            moved.push("its command or address changed".to_owned());
        }
        if let Some(old) = old.as_ref().filter(|_| is_other) {
            moved.push(format!("its version changed from `{}` to `{version}`", old.version));
        }
        let moved = Some(moved.join("; ")).filter(|moved| !moved.is_empty());
        let address = terms.address.clone();
        let origin =
            OriginRow { server: server.to_owned(), address, version, moved: moved.clone(), since: now() };
        known.origins.insert(server.to_owned(), origin.clone());
        let is_said = moved.is_some() && known.told.entry(server.to_owned()).or_default().says_on(server);
        drop(known);
        // A server that has another version each time is not written down each time either.
        if moved.is_none() || is_said {
            self.kept(self.store.keep_origin(&origin));
        }
        let moved = moved.filter(|_| is_said)?;
        tracing::warn!(server, "{moved}; tools whose definitions are as approved stay");
        Some(Notice { what: Noticed::Moved, tools: Vec::new() })
    }

    /// Whether a tool of a server was approved whose name is meant.
    pub(crate) fn has_approved(&self, server: &str, is_meant: impl Fn(&str) -> bool) -> bool {
        let known = self.known.lock();
        known.approved.get(server).is_some_and(|it| it.keys().any(|name| is_meant(name)))
    }

    /// Returns the tools of a sighting that differ from what was approved in numbers alone. They wait for nobody.
    pub(crate) fn renumbered(&self, server: &Arc<str>, sighting: &Sighting) -> Vec<WithheldTool> {
        let known = self.known.lock();
        let is_like = |seen: &&SeenTool| seen.like.is_some() && known.waiting(server, seen).is_none();
        let like = sighting.tools.iter().filter(is_like);
        like.map(|seen| WithheldTool {
            why: WaitingFor::Changed,
            id: ToolId::new(server, &seen.name),
            server: Arc::clone(server),
            name: seen.name.clone(),
            at: seen.at.clone(),
        })
        .collect()
    }

    /// Returns the tools of a sighting that wait for a person.
    pub(crate) fn withheld(&self, server: &Arc<str>, sighting: &Sighting) -> Vec<WithheldTool> {
        let known = self.known.lock();
        let waits = |seen: &SeenTool| {
            Some(WithheldTool {
                why: known.waiting(server, seen)?,
                id: ToolId::new(server, &seen.name),
                server: Arc::clone(server),
                name: seen.name.clone(),
                at: seen.at.clone(),
            })
        };
        sighting.tools.iter().filter_map(waits).collect()
    }

    /// Approves definitions because a person did: for each tool, all that its server lists under the name.
    pub(crate) fn approve(
        &self,
        server: &str,
        tools: &[(String, Vec<Box<RawValue>>)],
    ) -> Result<Vec<(String, String)>, store::Error> {
        let fresh = |(name, texts): &(String, Vec<Box<RawValue>>)| {
            let texts: Vec<&str> = texts.iter().map(|text| text.get()).collect();
            let (pin, raw) = (Pin::of_all(texts.iter().copied()).0, digest(texts.iter().copied()));
            let row = PinRow { tool: name.clone(), pin, raw };
            FreshPin { row, definition: shown(&texts) }
        };
        let fresh: Vec<FreshPin> = tools.iter().map(fresh).collect();
        let rows = self.store.keep_pins(server, &fresh, Approver::Person)?;
        let mut known = self.known.lock();
        known.approved.insert(server.to_owned(), by_tool(rows));
        known.told.remove(server);
        if let Some(origin) = known.origins.get_mut(server)
            && origin.moved.take().is_some()
        {
            self.kept(self.store.keep_origin(origin));
        }
        Ok(fresh.into_iter().map(|it| (it.row.tool, it.row.pin)).collect())
    }

    /// Returns how the definition of a tool was approved the last time.
    pub(crate) fn approval(&self, server: &str, tool: &str) -> Option<Approval> {
        self.store.approval(server, tool)
    }

    /// Returns what changed of where a server comes from, where that was lately.
    pub(crate) fn moved(&self, server: &str) -> Option<Moved> {
        let known = self.known.lock();
        let origin = known.origins.get(server)?;
        let recent = i64::try_from(RECENT.as_secs()).unwrap_or(i64::MAX);
        let is_recent = origin.since.saturating_add(recent) > now();
        let what = origin.moved.clone().filter(|_| is_recent)?;
        Some(Moved { what, since: origin.since })
    }

    /// Returns on which day each tool of each server was first seen, in days since 1970. Servers that are set up together
    /// differ by minutes, which says nothing.
    pub(crate) fn first_seen(&self) -> FirstSeen {
        let days = |seconds: i64| u64::try_from(seconds / DAY_SECONDS).unwrap_or_default();
        let mut seen = FirstSeen::new();
        for (server, tool, since) in self.store.first_seen() {
            seen.entry(server.into()).or_default().insert(tool, days(since));
        }
        seen
    }

    /// Says that it is not known what was approved, where that is so.
    pub(crate) fn lost(&self) -> Option<LostApprovals> {
        Some(match self.known.lock().lost.as_ref()? {
            Lost::Damaged(damage) => LostApprovals {
                what: format!(
                    "the store was damaged and what was approved is lost with it; tools wait until a person approves \
                     them (`toolyard approve --all`); the damaged file is `{}`",
                    damage.aside.display()
                ),
                file: Some(damage.aside.clone()),
            },
            Lost::Unread(why) => LostApprovals {
                what: format!(
                    "what was approved cannot be read, so no tool is approved by being seen: {why}"
                ),
                file: None,
            },
        })
    }

    /// Notes of which of all servers a person has seen everything that is listed.
    pub(crate) fn reviewed(&self, servers: &[&str], all: &[&str]) -> Result<(), store::Error> {
        let is_every = {
            let known = self.known.lock();
            if known.lost.is_none() {
                return Ok(());
            }
            all.iter().all(|it| servers.contains(it) || !known.is_lost(it))
        };
        self.store.keep_reviewed(servers, is_every)?;
        self.known.lock().take(self.store.approvals());
        Ok(())
    }

    /// Reads again what is approved when another hub changed it; `true` when it is not the same.
    pub(crate) fn refresh(&self) -> bool {
        let revision = self.store.pin_revision();
        {
            let known = self.known.lock();
            let is_read = !matches!(known.lost, Some(Lost::Unread(_)));
            if is_read && Some(known.revision) == revision {
                return false;
            }
        }
        let read = self.store.approvals();
        let mut known = self.known.lock();
        let before = (known.approved.clone(), known.lost.clone());
        known.take(read);
        before != (known.approved.clone(), known.lost.clone())
    }

    /// Approves the tools that nobody has seen before.
    fn accept_unknown(&self, server: &str, tools: &[Box<RawValue>], sighting: &Sighting) -> Option<Notice> {
        let (fresh, is_known): (Vec<FreshPin>, bool) = {
            let known = self.known.lock();
            let approved = known.approved.get(server);
            let room = MOST_PINS.saturating_sub(approved.map_or(0, HashMap::len));
            let is_new = |seen: &&SeenTool| approved.is_none_or(|it| !it.contains_key(&seen.name));
            let fresh = sighting.tools.iter().filter(is_new).take(room).map(|seen| {
                let texts: Vec<&str> = seen.at.iter().map(|at| tools[*at].get()).collect();
                FreshPin { row: seen.row(), definition: shown(&texts) }
            });
            (fresh.collect(), approved.is_some())
        };
        if fresh.is_empty() {
            return None;
        }
        let kept = self.store.keep_pins(server, &fresh, Approver::FirstUse);
        let mut known = self.known.lock();
        match kept {
            Ok(rows) => drop(known.approved.insert(server.to_owned(), by_tool(rows))),
            Err(err) => {
                tracing::warn!(server, "{err}; what is approved of it is forgotten when the hub ends");
                let approved = known.approved.entry(server.to_owned()).or_default();
                for FreshPin { row, .. } in &fresh {
                    approved.entry(row.tool.clone()).or_insert_with(|| vec![row.clone()]);
                }
            }
        }
        // A new server is a person's own doing; what it adds later is not.
        if !is_known || !known.told.entry(server.to_owned()).or_default().says_on(server) {
            return None;
        }
        let tools: Vec<(String, String)> = fresh.into_iter().map(|it| (it.row.tool, it.row.pin)).collect();
        tracing::warn!(server, "it has tools that it did not have before: {}", named(&tools));
        Some(Notice { what: Noticed::FirstUse, tools })
    }

    /// Finds the tools of which only numbers in texts changed, and says so once of each.
    fn follow_numbers(
        &self,
        server: &str,
        tools: &[Box<RawValue>],
        sighting: &mut Sighting,
    ) -> Option<Notice> {
        for seen in &mut sighting.tools {
            let is_changed = self.known.lock().waiting(server, seen) == Some(WaitingFor::Changed);
            // Several definitions of one name are compared as they are.
            if let [at] = seen.at.as_slice()
                && is_changed
                && let Some(listed) = canon::but_for_numbers(tools[*at].get())
            {
                let approved = self.store.approved_texts(server, &seen.name).into_iter();
                let mut like =
                    approved.filter(|(_, it)| canon::but_for_numbers(it).as_ref() == Some(&listed));
                seen.like = like.next().map(|(pin, _)| pin);
            }
        }
        let mut known = self.known.lock();
        let told = known.told.entry(server.to_owned()).or_default();
        let like = sighting.tools.iter().filter(|seen| seen.like.is_some());
        let fresh = like.filter(|seen| told.renumbered.insert(seen.name.clone()));
        let tools: Vec<(String, String)> = fresh.map(|seen| (seen.name.clone(), seen.pin.clone())).collect();
        if tools.is_empty() {
            return None;
        }
        tracing::warn!(
            server,
            "only numbers changed in the texts of {}, which stay; `toolyard diff {server}` shows them",
            named(&tools)
        );
        Some(Notice { what: Noticed::Renumbered, tools })
    }

    /// Says which tools are withheld, each once.
    fn tell_withheld(&self, server: &str, sighting: &Sighting) -> Option<Notice> {
        let mut known = self.known.lock();
        let waiting = sighting.tools.iter().filter(|seen| known.waiting(server, seen).is_some());
        let waiting: Vec<&SeenTool> = waiting.collect();
        let told = known.told.entry(server.to_owned()).or_default();
        let fresh = waiting.into_iter().filter(|seen| told.withheld.insert(seen.name.clone()));
        let tools: Vec<(String, String)> = fresh.map(|seen| (seen.name.clone(), seen.pin.clone())).collect();
        // Names that are made up anew each time are remembered only so long.
        if told.withheld.len() > MOST_PINS {
            told.withheld.clear();
        }
        if tools.is_empty() || !told.says_on(server) {
            return None;
        }
        tracing::warn!(
            server,
            "withheld until a person approves: {}; `toolyard diff {server}` shows why, `toolyard approve {server}` \
             accepts",
            named(&tools)
        );
        Some(Notice { what: Noticed::Withheld, tools })
    }

    fn kept(&self, kept: Result<(), store::Error>) {
        if let Err(err) = kept {
            tracing::debug!("{err}; where servers come from is learnt again");
        }
    }
}

/// Writes the definitions of one name as they are kept for a person; nothing where that is too long.
pub(crate) fn shown(texts: &[&str]) -> Option<String> {
    let text = match texts {
        [one] => (*one).to_owned(),
        several => format!("[{}]", several.join(",")),
    };
    (text.len() <= MOST_TEXT).then_some(text)
}

fn named(tools: &[(String, String)]) -> String {
    let names = tools.iter().take(MOST_NAMED).map(|(name, _)| format!("`{}`", clean(name)));
    let names = names.collect::<Vec<_>>().join(", ");
    match tools.len().saturating_sub(MOST_NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// The whole digest, because whoever writes a definition may look for another one with the same.
fn digest(parts: impl IntoIterator<Item: AsRef<str>>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
