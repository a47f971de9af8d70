//! Which names of tools are old, and what takes their place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolyard_core::alias::{Alias, Aliases, Phase};
use toolyard_core::catalog::Catalog;
use toolyard_hub::aliases;

use crate::common::Common;
use crate::failure::Failure;
use crate::setup::Source;

/// Characters of a name.
const MOST_CHARS: usize = 128;

/// One old name as texts spell it: alone, or with its server.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) spelled: String,
    /// What is written in its place.
    pub(super) new: String,
    /// How the tool is called instead.
    pub(super) usage: String,
    pub(super) alias: Alias,
}

/// All old names, each once.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) list: Vec<Name>,
}

impl Names {
    /// Gathers the old names of the settings, of built-in servers and of a file.
    pub(super) fn gather(common: &Common, file: Option<&Path>) -> Result<Self, Failure> {
        let mut config = Source::find(common)?.load()?;
        if let Some(file) = file {
            let own = read(file)?;
            let named: BTreeSet<String> = own.iter().map(|alias| alias.old.clone()).collect();
            config.aliases.retain(|alias| !named.contains(&alias.old));
            config.aliases.extend(own);
        }
        let names = Self::of(&aliases::of(&config))?;
        if names.list.is_empty() {
            return Err(Failure::usage("no old name of a tool is known").hint(
                "write them under `aliases` in the configuration, or into a file and give it with --names",
            ));
        }
        Ok(names)
    }

    fn of(aliases: &Aliases) -> Result<Self, Failure> {
        let (nothing, mut list) = (Catalog::default(), Vec::<Name>::new());
        let spelled: BTreeSet<String> = aliases.iter().flat_map(Alias::names).collect();
        let mut seen = BTreeSet::new();
        for alias in aliases.iter() {
            for name in alias.names() {
                if !seen.insert(name.clone()) {
                    continue;
                }
                // One that several servers have had is replaced as the first of them says.
                let whole = alias.names().pop().unwrap_or_default();
                let end = aliases
                    .resolve(&name, &nothing, |_| true)
                    .or_else(|_| aliases.resolve(&whole, &nothing, |_| true))
                    .map_err(|error| Failure::usage(error.to_string()))?
                    .unwrap_or_else(|| alias.clone());
                let bare = end.to.split_once("__").map_or(end.to.as_str(), |(_, tool)| tool);
                let is_whole = name.contains("__") || spelled.contains(bare);
                let new = if is_whole { end.to.clone() } else { bare.to_owned() };
                if new != name {
                    list.push(Name { spelled: name, new, usage: end.usage(None), alias: end });
                }
            }
        }
        Ok(Self { list })
    }
}

/// One old name in a file of names.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Tool(String),
    Call(Replacement),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replacement {
    /// Given where the names are a list.
    old: Option<String>,
    #[serde(alias = "new")]
    to: String,
    #[serde(default, alias = "fixed")]
    arguments: Map<String, Value>,
    #[serde(default, alias = "renamed")]
    rename: BTreeMap<String, String>,
    usage: Option<String>,
    /// Taken as `aliases` has it; it does not matter where names are only looked for.
    #[serde(rename = "phase")]
    _phase: Option<String>,
}

/// Reads a file of names: JSON, or lines of old name, new name and usage.
fn read(file: &Path) -> Result<Vec<Alias>, Failure> {
    let unreadable = |why: String| Failure::usage(format!("`{}` {why}", file.display()));
    let text =
        toolyard_hub::config::read_text(file).map_err(|err| unreadable(format!("cannot be read: {err}")))?;
    let text = text.trim_start_matches('\u{feff}');
    let aliases = match text.trim_start().chars().next() {
        Some('{') => of_object(text).map_err(unreadable)?,
        Some('[') => of_list(text).map_err(unreadable)?,
        Some(_) | None => of_lines(text).map_err(unreadable)?,
    };
    let mut seen = BTreeSet::new();
    for alias in &aliases {
        for name in [&alias.old, &alias.to] {
            if name.is_empty() || name.chars().count() > MOST_CHARS || name.contains(char::is_whitespace) {
                return Err(unreadable(format!("has `{name}`, which is not the name of a tool")));
            }
        }
        if !seen.insert(&alias.old) {
            return Err(unreadable(format!("has the old name `{}` twice", alias.old)));
        }
    }
    Ok(aliases)
}

fn of_object(text: &str) -> Result<Vec<Alias>, String> {
    let written: BTreeMap<String, Written> = serde_json::from_str(text).map_err(|error| unfit(&error))?;
    let one = |(old, written)| match written {
        Written::Tool(to) => alias(old, to),
        Written::Call(call) => of_call(old, call),
    };
    Ok(written.into_iter().map(one).collect())
}

fn of_list(text: &str) -> Result<Vec<Alias>, String> {
    let written: Vec<Replacement> = serde_json::from_str(text).map_err(|error| unfit(&error))?;
    let one = |mut call: Replacement| {
        let old = call.old.take().ok_or("has an element without `old`")?;
        Ok(of_call(old, call))
    };
    written.into_iter().map(one).collect()
}

fn unfit(error: &serde_json::Error) -> String {
    format!("is not a list of names: {error}")
}

fn of_lines(text: &str) -> Result<Vec<Alias>, String> {
    let mut aliases = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut columns = line.splitn(2, char::is_whitespace);
        let (old, rest) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default().trim());
        let (new, usage) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if new.is_empty() {
            return Err(format!("has no new name on line {}: write `OLD NEW`", number + 1));
        }
        let usage = Some(usage.trim().to_owned()).filter(|usage| !usage.is_empty());
        aliases.push(Alias { usage, ..alias(old.to_owned(), new.to_owned()) });
    }
    Ok(aliases)
}

fn of_call(old: String, call: Replacement) -> Alias {
    let Replacement { to, arguments, rename, usage, .. } = call;
    Alias { fixed: arguments, renamed: rename, usage, ..alias(old, to) }
}

fn alias(old: String, to: String) -> Alias {
    Alias { old, to, fixed: Map::new(), renamed: BTreeMap::new(), usage: None, phase: Phase::Warn }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(aliases: Vec<Alias>) -> Vec<(String, String)> {
        let names = Names::of(&Aliases::gather(aliases, [])).unwrap();
        names.list.into_iter().map(|name| (name.spelled, name.new)).collect()
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect()
    }

    #[test]
    fn c8_lines_and_json_say_the_same() {
        let lines = "# old names\ncreate_product\tmanage_product  manage_product(action=\"create\")\n\nb c\n";
        let object = r#"{"create_product": {"to": "manage_product", "usage": "manage_product(action=\"create\")"}, "b": "c"}"#;
        let list = r#"[{"old": "b", "new": "c"}, {"old": "create_product", "new": "manage_product", "usage": "manage_product(action=\"create\")"}]"#;
        let sorted = |mut aliases: Vec<Alias>| {
            aliases.sort_by(|a, b| a.old.cmp(&b.old));
            aliases
        };
        let expected = sorted(of_lines(lines).unwrap());
        assert_eq!(expected.len(), 2);
        assert_eq!(sorted(of_object(object).unwrap()), expected);
        assert_eq!(sorted(of_list(list).unwrap()), expected);
        assert!(of_lines("alone").unwrap_err().contains("line 1"));
    }

    #[test]
    fn c8_a_new_name_that_is_itself_an_old_one_is_followed_or_written_in_full() {
        let chain = vec![alias("a".into(), "b".into()), alias("b".into(), "c".into())];
        assert_eq!(spelled(chain), pairs(&[("a", "c"), ("b", "c")]));
        let apart = vec![alias("a".into(), "s__b".into()), alias("b".into(), "t__c".into())];
        assert_eq!(spelled(apart), pairs(&[("a", "s__b"), ("s__a", "s__b"), ("b", "c"), ("t__b", "t__c")]));
        assert!(Names::of(&Aliases::gather(vec![alias("x".into(), "x".into())], [])).is_err());
    }
}
