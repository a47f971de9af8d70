//! Stop: a person, or a user interface, puts a file `STOP` into the workspace folder.
//!
//! No tool can make or remove that file, so a model can neither stop a person's job nor go on against a person's will.
//! Long jobs look for it between items and end with what was done. Its text, if any, is shown as the reason. Work goes
//! on when the file is removed.

use serde_json::json;

use super::{
    Studio,
    describe::Doc,
    schema::{is, said},
};
use crate::{
    arguments::Arguments,
    reply::{Answer, Outcome},
    sandbox::{SafePath, Sandbox},
    tool::{Effect, Spec, Tool},
};

/// The name of the file in the workspace folder.
pub(super) const FILE: &str = "STOP";

pub(super) fn tools() -> Vec<Tool<Studio>> {
    vec![spec().run(check).tagged(["domain:tasks_files", "core"])]
}

/// Says whether Stop was asked for.
pub(super) fn asked(sandbox: &Sandbox) -> bool {
    SafePath::parse(FILE).is_ok_and(|path| sandbox.holds(&path))
}

fn check(studio: &Studio, _: &Arguments<'_>) -> Outcome {
    const MOST: u64 = 4096;
    let interrupted = asked(&studio.sandbox);
    let reason = if interrupted {
        studio.sandbox.read(&SafePath::parse(FILE)?, MOST).unwrap_or_default()
    } else {
        Vec::new()
    };
    let advice = if interrupted {
        "Stop was asked for: finish the current step, save what is done with update_task, and tell the user"
    } else {
        "nobody asked to stop: go on"
    };
    Ok(Answer::json(json!({
        "interrupted": interrupted,
        "reason": String::from_utf8_lossy(&reason).trim(),
        "advice": advice,
    })))
}

fn spec() -> Spec {
    let doc = Doc {
        purpose: "Says whether the user has asked to stop.",
        prerequisite: "none. The user asks by pressing Stop, which puts a file STOP into the workspace folder.",
        use_when: &["stop a running job cleanly", "be sure that a long job may go on: call it between steps"],
        not: &[
            "stop or resume anything by itself (only the user can, with the file STOP)",
            "say what is left to do (use get_remaining_tasks)",
        ],
        args: &[],
        returns: "JSON with interrupted, the reason the user gave, and what to do.",
        examples: &["check_interrupt()"],
    };
    Spec {
        name: "check_interrupt".into(),
        title: "Check for Stop".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (json!({}), Vec::new()),
        output: json!({
            "interrupted": is("Whether Stop was asked for."),
            "reason": said("What the user wrote; may be empty."),
            "advice": said("What to do."),
        }),
    }
}
