//! A file of metadata for the tools of one server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::RateLimit;
use crate::lexicon::{Action, Categories};
use crate::tool::Effect;

/// What somebody wrote about one server and its tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sidecar {
    /// The server; in a person's own file the name of the configuration.
    pub server: String,
    /// The versions of the server it holds for, such as `>=1.2, <2`; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<String>,
    /// The product's name for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What the server is for, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The field of use of its tools.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// Its tools by the server's own names.
    pub tools: BTreeMap<String, Note>,
}

/// What somebody wrote about one tool. What is empty is inferred.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Note {
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// What it does it to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Its field of use, where it is not the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// What a call does to the world, where its server misleads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Words to file it under.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Words that people use for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// What people want when they need it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub use_cases: Vec<String>,
    /// Requests as people type them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Tools of the same server that are easily confused with it, and when they are meant instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_for: BTreeMap<String, String>,
    /// Arguments of a call, as an example; they fit its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example_call: Option<Map<String, Value>>,
    /// Tools of the same server that usually follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "canChainWith")]
    pub chains_with: Vec<String>,
    /// What people do with it and other tools, in a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typical_workflows: Vec<String>,
    /// Milliseconds that a call takes, until calls were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_latency: Option<u64>,
    /// How often its service lets it be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// Where it comes from, where no person wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Provenance>,
}

/// Where a note comes from that no person wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provenance {
    /// The command that made it.
    pub by: String,
    /// The language model that wrote it.
    pub model: String,
    /// When, as a date and a time.
    pub at: String,
    /// Tells the definition of the tool that it was written for from others.
    pub definition: String,
}

/// Why a file of metadata cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not JSON of this form.
    #[error("{0}")]
    Form(#[from] serde_json::Error),
    /// The range of versions makes no sense.
    #[error("`versions` is `{0}`, which is not a range such as `>=1.2, <2`")]
    Versions(String),
}

impl Sidecar {
    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let sidecar: Self = serde_json::from_str(text)?;
        match &sidecar.versions {
            Some(versions) if bounds(versions).is_none() => Err(Error::Versions(versions.clone())),
            _ => Ok(sidecar),
        }
    }

    /// Says what in it can have no effect or was meant otherwise.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let categories = Categories::builtin();
        let mut check_category = |place: &str, category: &str| {
            if !category.is_empty() && categories.position(category).is_none() {
                let known = categories.names().join(", ");
                problems.push(format!("{place}: there is no category `{category}`; there are {known}"));
            }
        };
        check_category("category", &self.category);
        for (name, note) in &self.tools {
            check_category(&format!("tools.{name}.category"), note.category.as_deref().unwrap_or_default());
        }
        for (name, note) in &self.tools {
            // A note that was made from a listing names tools of the listing, which need not be in the file.
            let named = note.not_for.keys().chain(&note.chains_with);
            let others = named.filter(|_| note.source.is_none());
            for other in others.filter(|other| !self.tools.contains_key(*other)) {
                problems.push(format!("tools.{name}: there is no tool `{other}` in this file"));
            }
            match note.rate_limit {
                Some(limit) if limit.calls == 0 => {
                    problems.push(format!("tools.{name}.rateLimit: is 0, so that it could never be called"));
                }
                Some(limit) if limit.period == 0 => {
                    problems
                        .push(format!("tools.{name}.rateLimit: has no `period`, so that it limits nothing"));
                }
                Some(_) | None => {}
            }
            if note.not_for.contains_key(name) {
                problems.push(format!("tools.{name}.notFor: names the tool itself"));
            }
            let texts = note.examples.iter().chain(&note.use_cases).chain(&note.keywords);
            let texts = texts.chain(&note.typical_workflows);
            if texts.clone().any(|text| text.trim().is_empty()) {
                problems.push(format!("tools.{name}: has an empty text"));
            }
            if let Some(long) = texts.clone().find(|text| text.chars().count() > MAX_TEXT_CHARS) {
                let start: String = long.chars().take(40).collect();
                problems.push(format!("tools.{name}: `{start}…` is longer than {MAX_TEXT_CHARS} characters"));
            }
        }
        problems
    }

    /// Whether it holds for a version of its server; an unknown version is not turned away.
    pub fn holds_for(&self, version: Option<&str>) -> bool {
        let (Some(versions), Some(version)) = (&self.versions, version) else { return true };
        let version = numbers(version);
        bounds(versions).is_some_and(|bounds| bounds.iter().all(|(bound, edge)| bound.admits(&version, edge)))
    }
}

/// One request, not an essay.
const MAX_TEXT_CHARS: usize = 300;

#[derive(Clone, Copy)]
enum Bound {
    AtLeast,
    Above,
    AtMost,
    Below,
    Exactly,
}

impl Bound {
    fn admits(self, version: &[u64], edge: &[u64]) -> bool {
        // `=1.2` holds for every 1.2.x, as people mean it.
        let order = version.cmp(edge);
        match self {
            Self::AtLeast => order.is_ge(),
            Self::Above => order.is_gt(),
            Self::AtMost => order.is_le() || version.starts_with(edge),
            Self::Below => order.is_lt(),
            Self::Exactly => version.starts_with(edge),
        }
    }
}

fn bounds(versions: &str) -> Option<Vec<(Bound, Vec<u64>)>> {
    let signs = [
        (">=", Bound::AtLeast),
        ("<=", Bound::AtMost),
        (">", Bound::Above),
        ("<", Bound::Below),
        ("=", Bound::Exactly),
        ("", Bound::Exactly),
    ];
    versions
        .split(',')
        .map(|part| {
            let part = part.trim();
            let (sign, bound) = signs.iter().find(|(sign, _)| part.starts_with(sign))?;
            let edge = part[sign.len()..].trim();
            let is_version = edge.starts_with(|c: char| c.is_ascii_digit())
                && edge.chars().all(|c| c.is_ascii_digit() || c == '.');
            is_version.then(|| (*bound, numbers(edge)))
        })
        .collect()
}

/// The numbers of a version; what follows `-` or `+` does not count.
fn numbers(version: &str) -> Vec<u64> {
    let release = version.trim_start_matches(['v', 'V']).split(['-', '+']).next().unwrap_or_default();
    release.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_a_file_holds_for_the_versions_it_names() {
        let holds = |versions: &str, version: &str| {
            let text = format!(r#"{{"server": "s", "versions": "{versions}", "tools": {{}}}}"#);
            Sidecar::parse(&text).expect("a range").holds_for(Some(version))
        };
        assert!(holds(">=1.2, <2", "1.10.0"));
        assert!(!holds(">=1.2, <2", "2.0.0"));
        assert!(!holds(">=1.2, <2", "1.1.9"));
        assert!(holds("1.2", "1.2.7-beta"));
        assert!(!holds("=1.2", "1.20.0"));
        assert!(holds("<=1.2", "1.2.9") && !holds("<=1.2", "1.3"));
        assert!(Sidecar::parse(r#"{"server": "s", "versions": "new", "tools": {}}"#).is_err());
    }

    #[test]
    fn r2_a_wrong_key_is_named_with_its_line() {
        let wrong = "{\n  \"server\": \"s\",\n  \"tools\": {\"a\": {\"exmples\": []}}\n}";
        let error = Sidecar::parse(wrong).expect_err("a typing error").to_string();
        assert!(error.contains("exmples") && error.contains("line 3"), "{error}");
    }

    #[test]
    fn r2_what_can_have_no_effect_is_said() {
        let text = r#"{"server": "s", "category": "cooking", "tools": {
            "a": {"notFor": {"b": "…"}, "chainsWith": ["a"], "examples": [" "]}}}"#;
        let problems = Sidecar::parse(text).expect("the form is right").problems();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].starts_with("category: there is no category `cooking`; there are 3d-modeling"));
    }
}
