//! Skills that come with the built-in servers.
//!
//! They are written as a person writes them, with the usual name of their server before each tool. A skill of the
//! same name that a person wrote takes their place.

use std::path::Path;

use toolyard_core::tool::ToolId;

use super::{Skills, parse};
use crate::config::{Config, Transport};

/// The built-in server of each skill, its file and its text.
const SHIPPED: [(&str, &str, &str); 13] = [
    ("desk", "capture.md", include_str!("../../skills/desk/capture.md")),
    ("desk", "plan-the-day.md", include_str!("../../skills/desk/plan-the-day.md")),
    ("desk", "reading-list.md", include_str!("../../skills/desk/reading-list.md")),
    ("home", "rooms.md", include_str!("../../skills/home/rooms.md")),
    ("studio", "brand-identity.md", include_str!("../../skills/studio/brand-identity.md")),
    ("studio", "file-operations.md", include_str!("../../skills/studio/file-operations.md")),
    ("studio", "image-composer.md", include_str!("../../skills/studio/image-composer.md")),
    (
        "studio",
        "image-prompt-engineering.md",
        include_str!("../../skills/studio/image-prompt-engineering.md"),
    ),
    ("studio", "product-management.md", include_str!("../../skills/studio/product-management.md")),
    ("studio", "research.md", include_str!("../../skills/studio/research.md")),
    ("studio", "session-context.md", include_str!("../../skills/studio/session-context.md")),
    ("studio", "style-references.md", include_str!("../../skills/studio/style-references.md")),
    ("studio", "task-files.md", include_str!("../../skills/studio/task-files.md")),
];

/// Adds the skills of the built-in servers of a configuration. Where two servers bring the same one, the second is
/// told apart by the name of its server.
pub(super) fn add(config: &Config, skills: &mut Skills) {
    let written: Vec<String> = skills.keys().cloned().collect();
    for (server, builtin) in config.servers.iter() {
        let Transport::Builtin(kind) = &builtin.transport else { continue };
        let of_server = SHIPPED.iter().filter(|(pack, ..)| *pack == kind.name());
        for (pack, file, text) in of_server {
            let text = text.replace(&format!("{pack}__"), &format!("{}__", ToolId::server_prefix(server)));
            let (name, mut skill) =
                parse(&text, Path::new(file)).expect("a test reads every skill that is shipped");
            skill.place = None;
            skill.is_shipped = true;
            if written.contains(&name) {
                continue;
            }
            let name = if skills.contains_key(&name) { format!("{name}-{server}") } else { name };
            skills.entry(name).or_insert(skill);
        }
    }
}
