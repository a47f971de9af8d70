//! Tools that wait for a person: how they are shown and approved, and what is refused because of them.
//!
//! An answer counts for the definition that it was asked about. A tool that changed between question and answer does
//! not run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use toolyard_core::tool::{Tool, clean};

use super::Hub;
use super::board::Board;
use crate::caller::Caller;
use crate::fair::{Holding, expendable};
use crate::jsonrpc::{Fields, raw};
use crate::live::Snapshot;
use crate::pins::{Alteration, LostApprovals, Moved, Notice, Noticed, Pin, WithheldTool, difference, shown};
use crate::policy::Refusal;
use crate::seal::digest;
use crate::store::{self, Approval};
use crate::upstream::{News, SkillEntry};

/// How often it is looked whether another process approved something.
const LOOKING: Duration = Duration::from_secs(1);
/// How long a question is remembered that was put by an answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// Questions that are remembered; beyond, the oldest of the client with most goes.
const MOST_QUESTIONS: usize = 1000;

/// A tool that waits, with what a person needs to decide about it.
#[derive(Clone, Debug)]
pub struct UndecidedTool {
    /// The tool, and why it waits.
    pub tool: WithheldTool,
    /// How it was approved the last time, where it was.
    pub approval: Option<Approval>,
    /// Everything that its server lists under the name.
    definitions: Vec<Box<RawValue>>,
}

impl UndecidedTool {
    /// Returns what is not as it was approved; `is_tool` knows the names of other tools. Without the approved text
    /// everything is new.
    pub fn difference(&self, is_tool: impl Fn(&str) -> bool) -> Vec<Alteration> {
        let approved = self.approval.as_ref().and_then(|it| it.definition.as_deref());
        let texts: Vec<&str> = self.definitions.iter().map(|it| it.get()).collect();
        let listed = shown(&texts).unwrap_or_else(|| texts.join("\n"));
        difference(approved, &listed, is_tool)
    }
}

/// The definitions that questions were about, by who was asked about which tool.
#[derive(Debug, Default)]
pub(super) struct Questions(Mutex<HashMap<String, AskedTool>>);

/// A tool as it was asked about.
#[derive(Debug)]
struct AskedTool {
    pin: Pin,
    /// The client whose room it takes.
    owner: String,
    since: Instant,
}

impl Questions {
    fn put(&self, key: String, asked: AskedTool) {
        let mut questions = self.0.lock();
        questions.retain(|_, it| it.since.elapsed() < PATIENCE);
        if questions.len() >= MOST_QUESTIONS {
            let expendable = expendable(questions.iter().map(|(key, it)| Holding {
                key,
                owner: &it.owner,
                size: 1,
                since: Some(it.since),
            }));
            expendable.cloned().and_then(|key| questions.remove(&key));
        }
        questions.insert(key, asked);
    }
}

impl Hub {
    /// Returns the tools that wait for a person, in the order of servers.
    pub fn undecided(&self) -> Vec<UndecidedTool> {
        self.compared(&self.board.waiting())
    }

    /// Returns the tools that differ from what was approved in numbers alone, and wait for nobody.
    pub fn renumbered(&self) -> Vec<UndecidedTool> {
        self.compared(&self.board.renumbered())
    }

    fn compared(&self, tools: &[WithheldTool]) -> Vec<UndecidedTool> {
        let of = |tool: &WithheldTool| {
            let definitions = self.board.definitions(&tool.server, &[tool]).pop().unwrap_or_default();
            let approval = self.board.pins.approval(&tool.server, &tool.name);
            UndecidedTool { tool: tool.clone(), approval, definitions }
        };
        tools.iter().map(of).collect()
    }

    /// Approves tools exactly as they were shown. A server that lists something else by now still waits.
    pub fn approve(&self, tools: &[UndecidedTool]) -> Result<(), store::Error> {
        let mut servers: Vec<&Arc<str>> = tools.iter().map(|it| &it.tool.server).collect();
        servers.dedup();
        for server in servers {
            let own = tools.iter().filter(|it| it.tool.server == *server);
            let own: Vec<_> = own.map(|it| (it.tool.name.clone(), it.definitions.clone())).collect();
            let approved = self.board.pins.approve(server, &own)?;
            let notice = Notice { what: Noticed::Approved, tools: approved };
            self.board.note(&self.config().audit, server, &[notice]);
        }
        self.board.review()?;
        if let Some(changes) = self.board.look_again() {
            let _ = self.around.audience.news.send(News::Catalog(changes));
        }
        Ok(())
    }

    /// Says that it is not known what was approved, where that is so.
    pub fn lost_approvals(&self) -> Option<LostApprovals> {
        self.board.pins.lost()
    }

    /// Says what changed of where a server comes from, where that was lately.
    pub fn moved(&self, server: &str) -> Option<Moved> {
        self.board.pins.moved(server)
    }

    /// Says why a tool cannot be called, where it waits for a person and is one of those that `shows` shows.
    pub(crate) fn waits(&self, tool: &str, shows: impl Fn(&str) -> bool) -> Option<String> {
        let snapshot = self.snapshot();
        let withheld = snapshot.withheld(tool).filter(|it| shows(&it.server))?;
        Some(withheld.sentence())
    }

    /// Says why a call is not made for which a tool was chosen: it is not what it was then.
    pub(crate) fn changed_since(&self, snapshot: &Snapshot, tool: &Tool) -> Option<Refusal> {
        let now = self.snapshot();
        if now.number == snapshot.number {
            return None;
        }
        if let Some(withheld) = now.withheld(tool.id.as_str()) {
            return Some(Refusal::Withheld(withheld.sentence()));
        }
        let current = now.catalog.get(tool.id.as_str())?;
        let is_same = current.definition.get() == tool.definition.get()
            || Pin::of(&current.definition) == Pin::of(&tool.definition);
        (!is_same).then(|| Refusal::Changed { tool: tool.id.as_str().to_owned() })
    }

    /// Says why a call does not pass to a server as it is: its tool waits for a person, or is none that was ever looked
    /// at. A server may not care for the case of letters, so all spellings of a withheld tool are withheld.
    pub(super) fn unapproved(&self, server: &str, name: &str, snapshot: &Snapshot) -> Option<String> {
        let is_exact = snapshot.catalog.find(server, name).is_some();
        let is_it = |it: &&WithheldTool| {
            *it.server == *server
                && (it.name == name || !is_exact && it.name.to_lowercase() == name.to_lowercase())
        };
        if let Some(withheld) = snapshot.withheld.iter().find(is_it) {
            return Some(withheld.sentence());
        }
        if is_exact || !self.board.is_stranger(server, name) {
            return None;
        }
        let shown: String = clean(name).chars().take(100).collect();
        Some(format!("server `{server}` has no tool `{shown}` that was approved"))
    }

    /// Takes the tools out of a page of `tools/list` that wait for a person, and those that are beyond the limit, which
    /// nobody looked at. Whatever else it holds stays as it is.
    pub(crate) fn passable(&self, server: &Arc<str>, result: Box<RawValue>) -> Box<RawValue> {
        let Ok(mut fields) = Fields::parse(Some(&result)) else { return result };
        let Some(tools) = fields.read::<Vec<Box<RawValue>>>("tools") else { return result };
        let Some(approved) = self.board.pass(server, &tools) else { return result };
        if approved.len() == tools.len() {
            return result;
        }
        let kept = tools.iter().enumerate().filter(|(at, _)| approved.contains(at));
        let kept: Vec<&Box<RawValue>> = kept.map(|(_, tool)| tool).collect();
        fields.set("tools", raw(&kept));
        raw(&fields)
    }

    /// Returns the places of those skills of a server that is passed through which wait for nobody. What is no sound entry
    /// is nobody's to approve.
    pub(crate) fn pass_skills(&self, server: &Arc<str>, entries: &[Box<RawValue>]) -> HashSet<usize> {
        let read = entries.iter().enumerate();
        let read: Vec<(usize, Box<RawValue>)> =
            read.filter_map(|(at, entry)| Some((at, SkillEntry::read(entry).ok()?.definition()))).collect();
        let definitions: Vec<Box<RawValue>> = read.iter().map(|(_, it)| it.clone()).collect();
        match self.board.pass(server, &definitions) {
            Some(passed) => passed.into_iter().filter_map(|at| Some(read.get(at)?.0)).collect(),
            None => (0..entries.len()).collect(),
        }
    }

    /// Remembers that somebody was asked about a tool.
    pub fn ask_about(&self, caller: &Caller, tool: &Tool) {
        let (pin, owner, since) = (Pin::of(&tool.definition), caller.owner(), Instant::now());
        self.questions.put(key(&caller.principal, tool), AskedTool { pin, owner, since });
    }

    /// Says why a confirmation does not count: the tool is not what its question was about. Who confirms without having
    /// been asked has seen the tool as it is.
    pub fn void_answer(&self, caller: &Caller, tool: &Tool) -> Option<String> {
        let asked = self.questions.0.lock().remove(&key(&caller.principal, tool));
        let asked = asked.filter(|it| it.since.elapsed() < PATIENCE)?;
        let is_same = asked.pin == Pin::of(&tool.definition);
        (!is_same).then(|| Refusal::Changed { tool: tool.id.as_str().to_owned() }.to_string())
    }
}

fn key(principal: &str, tool: &Tool) -> String {
    digest(&[principal, tool.id.as_str()])
}

/// Shows tools that another process approved, until the hub ends.
pub(super) async fn watch(board: Arc<Board>, news: broadcast::Sender<News>) {
    loop {
        tokio::time::sleep(LOOKING).await;
        let (board, news) = (Arc::clone(&board), news.clone());
        let looking = tokio::task::spawn_blocking(move || {
            if board.pins.refresh()
                && let Some(changes) = board.look_again()
            {
                let _ = news.send(News::Catalog(changes));
            }
        });
        let _ = looking.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t27_thousands_of_questions_to_one_client_displace_none_to_another() {
        let questions = Questions::default();
        let put = |key: &str, owner: &str| {
            let definition = RawValue::from_string("{}".to_owned()).unwrap();
            let (pin, owner, since) = (Pin::of(&definition), owner.to_owned(), Instant::now());
            questions.put(key.to_owned(), AskedTool { pin, owner, since });
        };
        put("bob", "bob");
        for number in 0..2 * MOST_QUESTIONS {
            put(&number.to_string(), "ana");
        }
        let kept = questions.0.lock();
        assert!(kept.contains_key("bob") && kept.len() == MOST_QUESTIONS);
    }
}
