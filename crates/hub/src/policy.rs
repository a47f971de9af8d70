//! What may be called, and how often.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::config;

/// Why a call is not made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The configuration forbids the tool.
    #[error("tool `{tool}` is not allowed here: `policy.{rule}` in the configuration decides that")]
    Forbidden {
        /// The tool.
        tool: String,
        /// `deny` or `allow`.
        rule: &'static str,
    },
    /// The tool was called too often.
    #[error(
        "tool `{tool}` was called {limit} times within a minute, which is its limit; try again in {wait} s"
    )]
    TooOften {
        /// The tool.
        tool: String,
        /// Calls per minute.
        limit: u32,
        /// Seconds until the next call is allowed.
        wait: u64,
    },
}

/// The rules of a configuration, and what was called lately.
#[derive(Debug)]
pub struct Policy {
    rules: config::Policy,
    calls: Mutex<HashMap<String, Vec<Instant>>>,
}

const WINDOW: Duration = Duration::from_secs(60);

impl Policy {
    /// Takes the rules.
    pub fn new(rules: config::Policy) -> Self {
        Self { rules, calls: Mutex::default() }
    }

    /// Whether the tool exists for clients at all.
    pub fn permits(&self, tool: &str) -> Result<(), Refusal> {
        let fits = |globs: &[String]| globs.iter().any(|glob| glob_fits(glob, tool));
        let rule = if fits(&self.rules.deny) {
            "deny"
        } else if !self.rules.allow.is_empty() && !fits(&self.rules.allow) {
            "allow"
        } else {
            return Ok(());
        };
        Err(Refusal::Forbidden { tool: tool.to_owned(), rule })
    }

    /// Counts a call and says whether it may be made.
    pub fn admit(&self, tool: &str, now: Instant) -> Result<(), Refusal> {
        self.permits(tool)?;
        let limits = self.rules.rate_limits.iter().filter(|(glob, _)| glob_fits(glob, tool));
        let Some(limit) = limits.map(|(_, limit)| *limit).min() else { return Ok(()) };
        let mut calls = self.calls.lock().expect("no holder panics");
        let recent = calls.entry(tool.to_owned()).or_default();
        recent.retain(|&at| now.duration_since(at) < WINDOW);
        if recent.len() >= limit as usize {
            let oldest = recent.first().copied().unwrap_or(now);
            let wait = (WINDOW - now.duration_since(oldest)).as_secs() + 1;
            return Err(Refusal::TooOften { tool: tool.to_owned(), limit, wait });
        }
        recent.push(now);
        Ok(())
    }
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

    #[test]
    fn r20_a_tool_that_is_called_too_often_waits() {
        let rules = config::Policy {
            deny: vec!["fs__delete_*".to_owned()],
            allow: vec![],
            rate_limits: vec![("fs__*".to_owned(), 2), ("*".to_owned(), 5)],
        };
        let (policy, start) = (Policy::new(rules), Instant::now());
        let admit = |tool, seconds| {
            policy.admit(tool, start + Duration::from_secs(seconds)).map_err(|err| err.to_string())
        };
        assert_eq!(admit("fs__read", 0), Ok(()));
        assert_eq!(admit("fs__read", 10), Ok(()));
        insta::assert_snapshot!(
            admit("fs__read", 20).unwrap_err(),
            @"tool `fs__read` was called 2 times within a minute, which is its limit; try again in 41 s"
        );
        assert_eq!(admit("fs__list", 20), Ok(()), "another tool has its own count");
        assert_eq!(admit("fs__read", 61), Ok(()));
        insta::assert_snapshot!(
            admit("fs__delete_file", 61).unwrap_err(),
            @"tool `fs__delete_file` is not allowed here: `policy.deny` in the configuration decides that"
        );
    }
}
