//! Old names of tools: what was written becomes what it means.

use std::collections::BTreeMap;

use serde_json::Map;
use toolyard_core::alias::{Alias, Aliases, Phase};
use toolyard_core::catalog::Catalog;
use toolyard_core::tool::ToolId;

use super::super::check::shortened;
use super::super::document::Member;
use super::super::raw::{RawAlias, RawPhase, RawReplacement};
use super::Resolving;

/// The key of the settings.
const ALIASES: &str = "aliases";
/// The key of the phase that holds for all of them.
const ALIAS_PHASE: &str = "aliasPhase";
/// Characters of an old name.
const MOST_CHARS: usize = 128;
/// Names of the hub's own tools, which are nobody's old ones.
const OWN: [&str; 5] = ["smart_route", "find_tools", "describe_tool", "call_tool", "activate_skill"];

impl Resolving<'_, '_, '_> {
    /// Returns the old names of tools, and the phase of those that say nothing of their own.
    pub(super) fn aliases(&mut self) -> (Vec<Alias>, Phase) {
        let phase = self.root.member(ALIAS_PHASE).and_then(|it| self.read::<RawPhase>(&it.node));
        let otherwise = phase.map_or(Phase::default(), read_phase);
        let root = self.root;
        let members = root.member(ALIASES).map_or(&[][..], |it| it.node.members());
        let mut aliases = Vec::new();
        for member in members {
            if let Some(alias) = self.alias(member, otherwise) {
                aliases.push((member.key_at, alias));
            }
        }
        self.check_ends(&aliases);
        (aliases.into_iter().map(|(_, alias)| alias).collect(), otherwise)
    }

    fn alias(&mut self, member: &Member, otherwise: Phase) -> Option<Alias> {
        let raw = match self.read::<RawAlias>(&member.node)? {
            RawAlias::Call(raw) => raw,
            RawAlias::Tool(to) => RawReplacement {
                to,
                arguments: Map::new(),
                rename: BTreeMap::new(),
                usage: None,
                phase: None,
            },
        };
        let old = member.key.as_str();
        let is_name = |c: char| !c.is_whitespace() && !c.is_control();
        if old.chars().count() > MOST_CHARS || !old.chars().all(is_name) {
            let message = format!("`{}` in `aliases` is not the name of a tool", shortened(old));
            self.report.add(member.key_at, message, None);
        } else if OWN.contains(&old) {
            let message = format!("`{old}` is a tool of the hub itself, so `aliases` cannot have it");
            self.report.add(member.key_at, message, None);
        }
        let at = |key: &str| member.node.member(key).map_or(member.node.span.start, |it| it.node.span.start);
        if raw.to.parse::<ToolId>().is_err() {
            let message = format!("`{}` in `aliases` is not the name of a tool", shortened(&raw.to));
            self.report.add(at("to"), message, Some("write it as server__tool".to_owned()));
        }
        for (from, new) in raw.rename.iter().filter(|(_, new)| raw.arguments.contains_key(*new)) {
            let (from, new) = (shortened(from), shortened(new));
            let message = format!("`{from}` is renamed to `{new}`, which `arguments` fixes");
            self.report.add(at("rename"), message, Some("keep one of the two".to_owned()));
        }
        Some(Alias {
            old: old.to_owned(),
            to: raw.to,
            fixed: raw.arguments,
            renamed: raw.rename,
            usage: raw.usage,
            phase: raw.phase.map_or(otherwise, read_phase),
        })
    }

    /// Reports old names that lead nowhere. Whether there is a tool at the end is known when its server runs.
    fn check_ends(&mut self, aliases: &[(usize, Alias)]) {
        let all = Aliases::gather(aliases.iter().map(|(_, alias)| alias.clone()).collect(), []);
        for (at, alias) in aliases {
            if let Err(error) = all.resolve(&alias.old, &Catalog::default(), |_| true) {
                self.report.add(*at, error.to_string(), None);
            }
        }
    }
}

fn read_phase(raw: RawPhase) -> Phase {
    match raw {
        RawPhase::Warn => Phase::Warn,
        RawPhase::Gone => Phase::Gone,
    }
}
