//! What may be called: the rules of a configuration, and what is kept count of.
//!
//! Rules are read from top to bottom and the first that fits decides. Without one, what destroys is asked
//! about and everything else runs.

mod breaker; // servers that fail are left alone for a while
mod gate; //    what is counted: calls within a period, calls at once, failures in a row
mod quota; //   the same for each client

use std::time::Duration;

use toolyard_core::hazard::Hazard;
use toolyard_core::metadata::RateLimit;
use toolyard_core::tool::{Effect, Tool};

use crate::access::OutOfScope;
use crate::config::{self, Stance};

pub(crate) use gate::{Ended, Gate};
pub(crate) use quota::{ClientTurn, Quotas};

/// Why a call is not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The configuration forbids the call.
    #[error("tool `{tool}` is not allowed here: `policy.{rule}` in the configuration decides that")]
    Forbidden {
        /// The tool.
        tool: String,
        /// The rule as the configuration names it: `deny`, `allow`, `readOnly` or `rules[0]`.
        rule: String,
    },
    /// The tool waits for a person.
    #[error("{0}")]
    Withheld(String),
    /// The tool is not what it was when it was chosen or asked about.
    #[error(
        "tool `{tool}` was not run: its definition changed after it was chosen; look at it again, then call it anew"
    )]
    Changed {
        /// The tool.
        tool: String,
    },
    /// The text of the tool looks like an attack.
    #[error(
        "tool `{tool}` is quarantined: {why}. `policy.screening` in the configuration decides that; a rule that allows \
         `{tool}` lifts it"
    )]
    Quarantined {
        /// The tool.
        tool: String,
        /// What was found.
        why: String,
    },
    /// The tool was called too often.
    #[error("tool `{tool}` was called {limit}, which is its limit; try again in {wait} s")]
    TooOften {
        /// The tool.
        tool: String,
        /// The limit that was reached.
        limit: RateLimit,
        /// Seconds until the next call is allowed.
        wait: u64,
    },
    /// The server has as many calls as it may have, and none of them ended in time.
    #[error(
        "server `{server}` has {limit} calls under way, which is its limit, and none ended within {waited:?}; \
         try again when they are done, or raise `limits.concurrency`"
    )]
    Busy {
        /// The server.
        server: String,
        /// Calls at the same time.
        limit: usize,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The server failed again and again and is left alone for a while.
    #[error(
        "server `{server}` failed {failures} times in a row and is left alone for now; try again in {wait} s"
    )]
    Resting {
        /// The server.
        server: String,
        /// Failures in a row.
        failures: u32,
        /// Seconds until it is tried again.
        wait: u64,
    },
    /// The client may not do this.
    #[error(transparent)]
    OutOfScope(#[from] OutOfScope),
    /// The client calls too often.
    #[error(
        "client `{client}` made {limit} calls within a minute, which is its limit; try again in {wait} s"
    )]
    ClientTooOften {
        /// The client.
        client: String,
        /// Calls per minute.
        limit: u32,
        /// Seconds until the next call is allowed.
        wait: u64,
    },
    /// The client has as many calls as it may have, and none of them ended in time.
    #[error(
        "client `{client}` has {limit} calls under way, which is its limit, and none ended within {waited:?}; try again \
         when they are done"
    )]
    ClientBusy {
        /// The client.
        client: String,
        /// Calls at the same time.
        limit: usize,
        /// How long it was waited for.
        waited: Duration,
    },
}

/// What is to happen before a call, and what decides that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What is to happen.
    pub stance: Stance,
    /// The rule that decides, as the configuration names it; `None` where none fits.
    pub rule: Option<String>,
    /// What the call would do.
    pub hazard: Hazard,
}

impl Ruling {
    /// Says why the call is refused, when it is.
    pub fn refusal(&self, tool: &Tool) -> Option<Refusal> {
        let rule = self.rule.clone().filter(|_| self.stance == Stance::Deny)?;
        Some(Refusal::Forbidden { tool: tool.id.as_str().to_owned(), rule })
    }

    /// Says why it is asked before the call, in the words of a sentence.
    pub fn reason(&self, tool: &Tool) -> String {
        let id = tool.id.as_str();
        match (&self.hazard.sign, self.hazard.effect, &self.rule) {
            (Some(sign), _, _) => format!("{id} removes something or cannot be undone: {sign}."),
            (None, Effect::Destroy, _) => format!("{id} removes something or cannot be undone."),
            (None, Effect::Write | Effect::Read, Some(rule)) => {
                let proof = self.hazard.proof.as_ref().map(|proof| format!(" ({proof})")).unwrap_or_default();
                format!("`policy.{rule}` asks before {id} is called{proof}.")
            }
            (None, Effect::Write | Effect::Read, None) => format!("{id} changes something."),
        }
    }
}

/// The rules of a configuration.
#[derive(Debug)]
pub struct Policy {
    rules: config::Policy,
}

impl Policy {
    /// Takes the rules.
    pub fn new(rules: config::Policy) -> Self {
        Self { rules }
    }

    /// Decides about a call with this effect, and names what decides.
    pub fn decide(&self, tool: &str, server: &str, effect: Effect) -> (Stance, Option<String>) {
        let fits = |globs: &[String]| globs.iter().any(|glob| glob_fits(glob, tool));
        let denied = |rule: &str| (Stance::Deny, Some(rule.to_owned()));
        // A server may not care for the case of letters, so what forbids does not either.
        let forbids = |globs: &[String]| globs.iter().any(|glob| glob_fits_any_case(glob, tool));
        if forbids(&self.rules.deny) {
            return denied("deny");
        }
        if !self.rules.allow.is_empty() && !fits(&self.rules.allow) {
            return denied("allow");
        }
        if self.rules.read_only && effect != Effect::Read {
            return denied("readOnly");
        }
        let is_meant = |rule: &config::Rule| {
            let names =
                |globs: &[String]| if rule.then == Stance::Allow { fits(globs) } else { forbids(globs) };
            (rule.tools.is_empty() || names(&rule.tools))
                && (rule.servers.is_empty() || rule.servers.iter().any(|it| it == server))
                && (rule.effects.is_empty() || rule.effects.contains(&effect))
        };
        match self.rules.rules.iter().position(is_meant) {
            Some(at) => (self.rules.rules[at].then, Some(format!("rules[{at}]"))),
            None if effect == Effect::Destroy => (Stance::Ask, None),
            None => (Stance::Allow, None),
        }
    }

    /// Decides about a call.
    pub fn rule(&self, tool: &Tool, hazard: Hazard) -> Ruling {
        let (stance, rule) = self.decide(tool.id.as_str(), &tool.server, hazard.effect);
        Ruling { stance, rule, hazard }
    }

    /// Whether the tool exists for clients at all. Its effect is asked for only where that matters.
    pub fn permits(&self, tool: &Tool, effect: impl FnOnce() -> Effect) -> bool {
        let depends = self.rules.read_only || self.rules.rules.iter().any(|rule| !rule.effects.is_empty());
        let effect = if depends { effect() } else { Effect::Read };
        self.decide(tool.id.as_str(), &tool.server, effect).0 != Stance::Deny
    }

    /// Returns how often a tool may be called: every limit counts. `known` is what is known of it besides.
    pub fn limits(&self, tool: &str, known: Option<RateLimit>) -> Vec<RateLimit> {
        let limits = self.rules.rate_limits.iter().filter(|(glob, _)| glob_fits_any_case(glob, tool));
        limits.map(|(_, limit)| *limit).chain(known).collect()
    }
}

/// Whether a name fits a pattern, whatever the case of their letters.
fn glob_fits_any_case(glob: &str, name: &str) -> bool {
    glob_fits(glob, name) || glob_fits(&glob.to_lowercase(), &name.to_lowercase())
}

/// Whether a name fits a pattern in which `*` stands for any characters.
pub fn glob_fits(glob: &str, name: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    let mut rest = rest;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_fit_whole_names() {
        let fits = |glob, name| glob_fits(glob, name);
        assert!(
            fits("git__*", "git__log")
                && fits("*", "x")
                && fits("*__delete_*", "fs__delete_file")
                && fits("a", "a")
        );
        assert!(
            !fits("git__*", "gitlab__log") && !fits("a", "ab") && !fits("a*a", "a") && !fits("*b", "abc")
        );
    }

    fn policy(rules: &serde_json::Value) -> Policy {
        let text = serde_json::json!({"mcpServers": {"fs": {"command": "x"}, "db": {"command": "x"}}, "policy": rules});
        let folders = config::Folders { home: "/h".into(), config: "/c".into(), data: "/d".into() };
        let config = config::parse(&text.to_string(), std::path::Path::new("t.json"), &|_| None, &folders);
        Policy::new(config.unwrap().policy)
    }

    fn decided(policy: &Policy, tool: &str, effect: Effect) -> String {
        let server = tool.split("__").next().unwrap();
        let (stance, rule) = policy.decide(tool, server, effect);
        format!("{stance:?} {}", rule.unwrap_or_default()).trim().to_owned()
    }

    #[test]
    fn c3_without_rules_reads_and_writes_run_and_what_destroys_is_asked_about() {
        let policy = policy(&serde_json::json!({}));
        let decided = [Effect::Read, Effect::Write, Effect::Destroy].map(|it| decided(&policy, "fs__x", it));
        assert_eq!(decided, ["Allow", "Allow", "Ask"]);
    }

    #[test]
    fn c3_the_first_rule_that_fits_decides_and_is_named() {
        let policy = policy(&serde_json::json!({
            "deny": ["*__format_*"],
            "rules": [
                {"tool": "fs__trash_*", "then": "allow"},
                {"server": "db", "effect": ["write", "destroy"], "then": "deny"},
                {"tool": ["fs__write_*", "fs__move_*"], "then": "ask"},
            ],
        }));
        let decided = |tool, effect| decided(&policy, tool, effect);
        assert_eq!(decided("fs__format_disk", Effect::Read), "Deny deny");
        assert_eq!(decided("fs__trash_file", Effect::Destroy), "Allow rules[0]");
        assert_eq!(decided("db__run", Effect::Destroy), "Deny rules[1]");
        assert_eq!(decided("db__run", Effect::Read), "Allow");
        assert_eq!(decided("fs__move_file", Effect::Write), "Ask rules[2]");
        assert_eq!(decided("fs__delete_file", Effect::Destroy), "Ask");
    }

    #[test]
    fn t27_what_forbids_or_asks_does_not_care_for_the_case_of_letters() {
        let policy = policy(&serde_json::json!({
            "deny": ["fs__Delete_*"],
            "rules": [{"tool": "fs__Move_*", "then": "ask"}, {"tool": "fs__read_*", "then": "allow"}, {"then": "deny"}],
        }));
        let decided = |tool| decided(&policy, tool, Effect::Write);
        assert_eq!(decided("fs__DELETE_file"), "Deny deny");
        assert_eq!(decided("fs__delete_FILE"), "Deny deny");
        assert_eq!(decided("fs__moVe_x"), "Ask rules[0]");
        assert_eq!(decided("fs__read_x"), "Allow rules[1]");
        assert_eq!(decided("fs__READ_x"), "Deny rules[2]", "what allows is taken by the letter");
    }

    #[test]
    fn c3_read_only_refuses_whatever_does_more() {
        let policy =
            policy(&serde_json::json!({"readOnly": true, "rules": [{"tool": "fs__*", "then": "allow"}]}));
        assert_eq!(decided(&policy, "fs__read", Effect::Read), "Allow rules[0]");
        assert_eq!(decided(&policy, "fs__write", Effect::Write), "Deny readOnly");
        let refusal = Refusal::Forbidden { tool: "fs__write".to_owned(), rule: "readOnly".to_owned() };
        insta::assert_snapshot!(refusal, @"tool `fs__write` is not allowed here: `policy.readOnly` in the configuration decides that");
    }

    #[test]
    fn r20_every_limit_of_configuration_and_metadata_counts() {
        let policy = policy(&serde_json::json!({
            "rateLimits": {"fs__*": {"calls": 20, "period": 3600}, "*": 50, "fs__read": {"calls": 9}},
        }));
        let limits = |tool, known| {
            let limits = policy.limits(tool, known).into_iter();
            limits.map(|it| format!("{} in {}", it.calls, it.period)).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(limits("fs__read", None), "20 in 3600, 50 in 60, 9 in 60");
        assert_eq!(limits("db__read", Some(RateLimit { calls: 5, period: 1 })), "50 in 60, 5 in 1");
    }
}
