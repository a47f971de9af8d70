//! The report for people: a table, what to do about the worst, and a summary.

use std::collections::BTreeMap;

use owo_colors::OwoColorize;
use toolyard_core::lint::{ConfusablePair, Diagnostic, DiagnosticLevel, LintReport, RuleId, ToolScore};
use toolyard_core::tool::clean;

use crate::output::{self, Attribute, Cell, Color, Layout, count};

/// Below this a score is red, and from this on it is green.
const BAD: u8 = 40;
const GOOD: u8 = 75;
/// Places that are named where one rule finds something in many.
const MAX_PLACES: usize = 6;
/// Pairs that are shown.
const MAX_PAIRS: usize = 10;

/// Writes the report; the `worst` tools are shown.
pub(super) fn words(report: &LintReport, worst: usize) -> String {
    let mut tools: Vec<&ToolScore> = report.tools.iter().collect();
    tools.sort_by(|a, b| a.score.cmp(&b.score).then_with(|| a.id.cmp(&b.id)));
    let shown = &tools[..worst.min(tools.len())];
    let mut text = String::new();
    if !shown.is_empty() {
        let layout =
            Layout { header: &["score", "tool", "tokens", "findings"], cut: true, ..Layout::default() };
        text += &output::grid(layout, shown.iter().map(|tool| row(tool)).collect());
        text += "\n\n";
        for tool in shown.iter().filter(|tool| !tool.diagnostics.is_empty()) {
            text += &details(tool);
        }
    }
    text += &pairs(&report.pairs);
    text + &summary(report)
}

/// Writes what every rule wants.
pub(super) fn rules() -> String {
    let row = |rule: RuleId| {
        vec![
            Cell::new(rule.id()).add_attribute(Attribute::Bold),
            level_cell(rule.level()),
            Cell::new(rule.help()),
        ]
    };
    output::grid(Layout::default(), RuleId::ALL.map(row).to_vec())
}

fn row(tool: &ToolScore) -> Vec<Cell> {
    let by_rule = by_rule(&tool.diagnostics);
    let found: Vec<String> = by_rule
        .iter()
        .map(|(rule, all)| match all.len() {
            1 => rule.id().to_owned(),
            times => format!("{} ×{times}", rule.id()),
        })
        .collect();
    vec![
        score_cell(tool.score),
        Cell::new(&tool.id).add_attribute(Attribute::Bold),
        Cell::new(format!("{:>6}", tool.tokens)),
        Cell::new(found.join(", ")),
    ]
}

fn score_cell(score: u8) -> Cell {
    let cell = Cell::new(format!("{score:>5}"));
    match score {
        ..BAD => cell.fg(Color::Red),
        BAD..GOOD => cell.fg(Color::Yellow),
        GOOD.. => cell.fg(Color::Green),
    }
}

fn level_cell(level: DiagnosticLevel) -> Cell {
    let cell = Cell::new(level.as_str());
    match level {
        DiagnosticLevel::Error => cell.fg(Color::Red),
        DiagnosticLevel::Warning => cell.fg(Color::Yellow),
        DiagnosticLevel::Note => cell,
    }
}

/// The diagnostics of each rule, the most severe first.
fn by_rule(diagnostics: &[Diagnostic]) -> Vec<(RuleId, Vec<&Diagnostic>)> {
    let mut rules: Vec<(RuleId, Vec<&Diagnostic>)> = Vec::new();
    for diagnostic in diagnostics {
        match rules.iter_mut().find(|(rule, _)| *rule == diagnostic.rule) {
            Some((_, all)) => all.push(diagnostic),
            None => rules.push((diagnostic.rule, vec![diagnostic])),
        }
    }
    rules
}

fn details(tool: &ToolScore) -> String {
    let mut text = format!("{}  {}\n", tool.id.bold(), format!("{} of 100", tool.score).dimmed());
    for (rule, all) in by_rule(&tool.diagnostics) {
        let level = match rule.level() {
            DiagnosticLevel::Error => rule.level().as_str().red().to_string(),
            DiagnosticLevel::Warning => rule.level().as_str().yellow().to_string(),
            DiagnosticLevel::Note => rule.level().as_str().to_owned(),
        };
        text += &format!("  {level} {}: {}\n", rule.id().dimmed(), said(rule, &all));
        for suggestion in all.iter().filter_map(|it| it.suggestion.as_ref()).take(1) {
            text += &format!("    {} {}\n", "try:".bold(), on_one_line(&suggestion.text));
        }
    }
    text + "\n"
}

/// One message, or the rule and its places where it finds something in several.
fn said(rule: RuleId, all: &[&Diagnostic]) -> String {
    let [first, _, ..] = all else {
        return all.first().map(|it| on_one_line(&it.message)).unwrap_or_default();
    };
    let is_of_parameters = first.place.starts_with("/inputSchema/properties/");
    if !is_of_parameters {
        return all.iter().map(|it| on_one_line(&it.message)).collect::<Vec<_>>().join("; ");
    }
    let name = |it: &&Diagnostic| {
        let name = it.place.rsplit('/').next().unwrap_or_default();
        on_one_line(&name.replace("~1", "/").replace("~0", "~"))
    };
    let mut names: Vec<String> = all.iter().take(MAX_PLACES).map(name).collect();
    if all.len() > MAX_PLACES {
        names.push("…".to_owned());
    }
    format!("{}: {}", names.join(", "), rule.help())
}

fn pairs(pairs: &[ConfusablePair]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", "Hard to tell apart".bold());
    for pair in pairs.iter().filter(|pair| !pair.is_twin).take(MAX_PAIRS) {
        let [a, b] = &pair.tools;
        text += &format!("  {:.2}  {a}  {b}\n        {}\n", pair.similarity, on_one_line(&pair.advice));
    }
    let twins = pairs.iter().filter(|pair| pair.is_twin);
    for pair in twins.clone().take(MAX_PAIRS) {
        text += &format!("  twin  {}\n", pair.tools.join("  "));
    }
    if pairs.len() > MAX_PAIRS {
        text += &format!("  {}\n", format!("of {}; `--json` has all", count(pairs.len(), "pair")).dimmed());
    }
    text + "\n"
}

fn summary(report: &LintReport) -> String {
    let Some(mean) = super::mean_score(report) else { return "There is no tool to lint.".to_owned() };
    let mut servers: Vec<&str> = report.tools.iter().map(|tool| tool.server.as_str()).collect();
    servers.dedup();
    let mut times: BTreeMap<RuleId, usize> = BTreeMap::new();
    for diagnostic in report.tools.iter().flat_map(|tool| &tool.diagnostics) {
        *times.entry(diagnostic.rule).or_default() += 1;
    }
    let mut times: Vec<(RuleId, usize)> = times.into_iter().collect();
    times.sort_by_key(|(rule, times)| (std::cmp::Reverse(*times), *rule));
    let rows = times.into_iter().map(|(rule, times)| {
        vec![Cell::new(format!("{times:>5}")), level_cell(rule.level()), Cell::new(rule.id())]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let mut text = String::new();
    if !rows.is_empty() {
        text += &format!("{}\n{}\n\n", "Findings".bold(), output::grid(Layout::default(), rows));
    }
    text + &format!(
        "{} of {}, mean score {mean}, {} hard to tell apart. `toolyard lint --rules` explains the findings.",
        count(report.tools.len(), "tool"),
        count(servers.len(), "server"),
        count(report.pairs.len(), "pair"),
    )
}

/// A stranger's text as it may stand in a line of ours.
fn on_one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
