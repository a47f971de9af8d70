//! What was written, as a person and a program see it before it counts.

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use toolyard_core::tool::clean;
use toolyard_hub::enrich::Survey;

use super::work::{Failed, Report, Written};
use crate::output::{Cell, Layout, count, grid};

/// Texts that were left out and are shown, of one tool.
const MOST_LEFT_OUT: usize = 5;

/// Says in words what was written, what was left out and what failed.
pub(super) fn text(survey: &Survey, report: &Report) -> String {
    let mut text = String::new();
    for of_server in report.written.chunk_by(|a, b| a.server == b.server) {
        text += &format!("{}\n", clean(&of_server[0].server).bold());
        let rows =
            of_server.iter().map(|it| vec![Cell::new(clean(&it.tool)), Cell::new(lines(it))]).collect();
        text += &grid(Layout { indent: 2, ..Layout::default() }, rows);
        text += "\n";
    }
    for Failed { server, tools, why } in &report.failed {
        let tools = if tools.is_empty() { String::new() } else { format!(" ({})", tools.join(", ")) };
        text += &format!("{} {}{}: {}\n", "left out".yellow(), clean(server), clean(&tools), clean(why));
    }
    text += &counts(survey);
    if let Some(why) = &report.ended {
        text += &format!("Ended early: {}. The same command goes on from here.\n", clean(why));
    }
    if report.written.is_empty() && report.failed.is_empty() {
        text += "There is nothing to write.\n";
    }
    text
}

/// Says how many tools were not asked about, and why.
pub(super) fn counts(survey: &Survey) -> String {
    let reasons =
        [(survey.known, "known already"), (survey.done, "done before"), (survey.beyond, "beyond the limit")];
    let said = reasons.iter().filter(|(number, _)| *number > 0);
    said.map(|(number, why)| format!("{} {why}\n", count(*number, "tool"))).collect()
}

/// Returns everything for programs.
pub(super) fn json(report: &Report, is_in_force: bool) -> Value {
    let tool = |it: &Written| {
        let state = match (&it.note, is_in_force) {
            (None, _) => "empty",
            (Some(_), true) => "inForce",
            (Some(_), false) => "draft",
        };
        let note = it.note.clone().unwrap_or_default();
        json!({
            "server": *it.server, "tool": it.tool, "state": state, "requests": note.examples,
            "notFor": note.not_for, "leftOut": it.left_out,
        })
    };
    let failed = |it: &Failed| json!({ "server": *it.server, "tools": it.tools, "why": it.why });
    json!({
        "tools": report.written.iter().map(tool).collect::<Vec<_>>(),
        "failed": report.failed.iter().map(failed).collect::<Vec<_>>(),
        "ended": report.ended,
        "tokens": report.tokens,
        "files": report.files.iter().map(|file| &file.path).collect::<Vec<_>>(),
    })
}

fn lines(written: &Written) -> String {
    let note = written.note.clone().unwrap_or_default();
    let mut lines: Vec<String> = note.examples;
    lines.extend(note.not_for.iter().map(|(tool, when)| format!("not for: {when} ({tool})")));
    if lines.is_empty() {
        lines.push("nothing of what was written can be used".to_owned());
    }
    let left_out = written.left_out.iter().take(MOST_LEFT_OUT);
    lines.extend(left_out.map(|it| format!("left out: “{}”, {}", it.text, it.why)));
    let more = written.left_out.len().saturating_sub(MOST_LEFT_OUT);
    if more > 0 {
        lines.push(format!("left out: {more} more"));
    }
    clean(&lines.join("\n")).into_owned()
}
