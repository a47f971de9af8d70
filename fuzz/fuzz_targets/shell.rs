//! Command lines: is one that is judged a read still no read with something destructive beside it?
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use toolyard_core::tool::{Effect, Tool};
use toolyard_fuzz::{judged, runner, text};

static TOOLS: LazyLock<[Tool; 3]> = LazyLock::new(|| {
    [
        runner("desk", "run_command", "command"),
        runner("bash", "execute", "command"),
        runner("desk", "shell", "cmd"),
    ]
});
/// Statements of their own, behind a line and before one.
const BEHIND: [&str; 6] = ["\nrm -rf x", "\nrm x\n", "; rm x", " && mv a b", " | tee x", " > x"];
const BEFORE: [&str; 4] = ["rm -rf x\n", "rm x; ", "dd if=a of=b && ", "mv a b | "];

fuzz_target!(|data: &[u8]| {
    let Some(line) = text(data) else { return };
    for tool in &*TOOLS {
        let argument = &tool.parameters[0].name;
        let effect = |line: &str| judged(tool, &json!({argument: line})).effect;
        if effect(line) != Effect::Read || line.trim().is_empty() {
            continue;
        }
        for behind in BEHIND {
            assert_ne!(effect(&format!("{line}{behind}")), Effect::Read, "{line:?} and {behind:?}");
        }
        for before in BEFORE {
            assert_ne!(effect(&format!("{before}{line}")), Effect::Read, "{before:?} and {line:?}");
        }
    }
});
