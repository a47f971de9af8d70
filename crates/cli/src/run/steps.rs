//! Every step of a run with its arguments, and what became of it.

use std::fmt::Write as _;

use toolyard_core::run::{Account, Asked, Confirmation, Ending, Run};
use toolyard_core::tool::clean;

/// Characters of a value; a whole file as an argument would hide the rest.
const VALUE_CHARS: usize = 300;

/// Shows what there is to know before a question is answered: the plan, or how far it came.
pub(super) fn before(run: &Run, asked: &Confirmation) -> String {
    match asked.asked {
        Asked::Plan => clean(run.plan().render().trim_end()).into_owned(),
        Asked::Calls(_) | Asked::Undo(_) => listed(run),
    }
}

/// Shows every step of a run, and what helps where it stopped.
pub(crate) fn steps(id: &str, run: &Run) -> String {
    let report = run.report();
    let mut text = listed(run);
    for advice in &report.advice {
        let _ = write!(text, "\n  next: {}", clean(advice).replace('\n', " "));
    }
    if report.ending == Ending::Unknown {
        let _ = write!(text, "\n  next: {}", super::settling(id));
    }
    text
}

fn listed(run: &Run) -> String {
    let report = run.report();
    let mut text = format!("{}: {}", clean(&report.plan), report.sentence());
    for account in &report.accounts {
        let element = account.element.map(|at| format!("[{at}]")).unwrap_or_default();
        let (fate, step, tool) = (account.fate.words(), &account.step, &account.tool);
        let _ = write!(text, "\n  {fate:<20} {step}{element} ({tool})");
        if let Some(why) = &account.why {
            let _ = write!(text, ": {}", clean(why).replace('\n', " "));
        }
        for line in arguments(run, account) {
            let _ = write!(text, "\n{:25}{line}", "");
        }
    }
    text
}

/// Lists the arguments of a call: their values, or where these will come from.
fn arguments(run: &Run, account: &Account) -> Vec<String> {
    let Some(step) = run.plan().step(&account.step) else { return Vec::new() };
    let known = run.arguments(&account.step, account.element);
    let each =
        step.each.iter().filter(|_| account.element.is_none()).map(|each| format!("for each of {each}"));
    let given = step.arguments.iter().map(|(name, input)| match known.get(name) {
        Some(value) => format!("{name} = {value}"),
        None => format!("{name} = {input}"),
    });
    each.chain(given).map(|line| shortened(&clean(&line).replace('\n', " "))).collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
