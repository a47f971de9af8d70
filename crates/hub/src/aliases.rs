//! Old names of tools: those of the settings, and those that built-in servers bring along.

use toolyard_core::alias::{Alias, Aliases, Renaming};
use toolyard_core::catalog::Catalog;
use toolyard_core::tool::ToolId;
use toolyard_packs::{Kind, OldName};

use crate::config::{Config, Transport};

/// The argument by which calls of built-in servers are confirmed, also where it is one of their own.
const CONFIRM: &str = "confirm";

/// Gathers the old names of a configuration. A name that the settings have is theirs.
pub fn of(config: &Config) -> Aliases {
    let builtin = config.ordered().into_iter().filter_map(|(name, server)| match &server.transport {
        Transport::Builtin(kind) => Some((name, kind)),
        Transport::Stdio { .. } | Transport::Http { .. } | Transport::Sse { .. } => None,
    });
    let builtin: Vec<(&String, &Kind)> = builtin.collect();
    let brought = builtin.iter().flat_map(|(name, kind)| {
        let renamings = renamings(kind).into_iter();
        renamings.map(|renaming| Alias::of_server(name, renaming, config.alias_phase))
    });
    let (mut written, mut brought) = (config.aliases.clone(), brought.collect::<Vec<Alias>>());
    let all = Aliases::gather(written.clone(), brought.clone());
    let prefixes: Vec<_> = builtin.iter().map(|(name, _)| ToolId::server_prefix(name)).collect();
    for alias in written.iter_mut().chain(&mut brought) {
        let end = all.resolve(&alias.old, &Catalog::default(), |_| true).ok().flatten();
        let to = end.map_or_else(|| alias.to.clone(), |end| end.to);
        let is_builtin =
            to.split_once("__").is_some_and(|(server, _)| prefixes.iter().any(|it| it == server));
        if is_builtin {
            // Nobody has confirmed a call because it is written down for all calls.
            alias.fixed.remove(CONFIRM);
        }
    }
    Aliases::gather(written, brought)
}

/// Returns the tools that a built-in server has renamed.
fn renamings(kind: &Kind) -> Vec<Renaming> {
    let renaming = |OldName { old, new, fixed, renamed, usage }| Renaming {
        old,
        new,
        fixed,
        renamed: renamed.into_iter().collect(),
        usage: Some(usage),
    };
    kind.old_names().into_iter().map(renaming).collect()
}
