//! A plan as a person reads it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Input, Origin, Plan, Step};
use crate::tool::{Effect, clean};

pub(super) fn render(plan: &Plan) -> String {
    let mut out = String::new();
    let count = plan.steps().len();
    let steps = if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    let _ = write!(out, "{}: {steps}", clean(plan.name()));
    if plan.estimate_ms() > 0 {
        let _ = write!(out, ", about {}", seconds(plan.estimate_ms()));
    }
    out.push('\n');
    let levels = levels(plan);
    let depth = levels.values().max().copied().unwrap_or(0);
    for level in 0..=depth {
        let here: Vec<&Step> = plan.steps().iter().filter(|step| levels[&*step.name] == level).collect();
        for (at, step) in here.iter().enumerate() {
            let mark = match (here.len(), at) {
                (1, _) => '─',
                (_, 0) => '┬',
                (all, at) if at + 1 == all => '└',
                _ => '├',
            };
            draw(&mut out, step, level, mark);
        }
    }
    out
}

/// How many steps come before each at least; steps of one level may run at the same time.
fn levels(plan: &Plan) -> BTreeMap<&str, usize> {
    let mut levels: BTreeMap<&str, usize> = BTreeMap::new();
    for step in plan.steps() {
        let before = step.needs().iter().filter_map(|name| levels.get(name)).max().copied();
        levels.insert(&step.name, before.map_or(0, |level| level + 1));
    }
    levels
}

fn draw(out: &mut String, step: &Step, level: usize, mark: char) {
    let number = if matches!(mark, '─' | '┬') { format!("{:>2}", level + 1) } else { "  ".to_owned() };
    let unsure = if step.is_unsure { ", asked about first" } else { "" };
    let _ =
        write!(out, "{number} {mark} {}: {} ({}{unsure})", step.name, step.tool, effect_word(step.effect));
    let needs = step.needs();
    if !needs.is_empty() {
        let _ = write!(out, ", after {}", needs.join(" and "));
    }
    out.push('\n');
    let mut line = |text: String| {
        let _ = writeln!(out, "       {}", clean(&text).replace('\n', " "));
    };
    if let Some(each) = &step.each {
        line(format!("for each of {each}"));
    }
    if let Some(when) = &step.when {
        line(format!("only if {when}"));
    }
    for (name, input) in &step.arguments {
        line(format!("{name} = {input}"));
    }
    if step.retries > 0 {
        let safe = if step.repeatable { "" } else { ", where it cannot have arrived" };
        line(format!("tried again up to {} times{safe}", step.retries));
    }
    if let Some(undo) = &step.undo {
        let arguments: Vec<String> = undo.arguments.iter().map(shown).collect();
        let asks = if undo.origin == Origin::Inferred { ", which is asked for first" } else { "" };
        line(format!("taken back with {} ({}){asks}", undo.tool, arguments.join(", ")));
    }
}

fn shown((name, input): (&String, &Input)) -> String {
    format!("{name} = {input}")
}

fn effect_word(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "reads",
        Effect::Write => "changes",
        Effect::Destroy => "destroys",
    }
}

#[expect(clippy::cast_precision_loss, reason = "a duration in seconds is shown with one digit")]
fn seconds(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{:.1} s", ms as f64 / 1000.0) }
}
