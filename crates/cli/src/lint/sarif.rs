//! The report as SARIF 2.1.0, for code scanning.

use std::collections::HashMap;

use serde_json::{Value, json};
use toolyard_core::lint::{Diagnostic, DiagnosticLevel, LintReport, RuleId, ToolScore};

/// Where results point to.
pub(super) struct Artifacts<'a> {
    /// The file with the listing, as it was named; nothing when servers were asked.
    pub(super) file: Option<String>,
    /// The line of each tool in it, by server and name.
    pub(super) lines: &'a HashMap<(String, String), usize>,
}

/// Writes the report.
pub(super) fn sarif(report: &LintReport, artifacts: &Artifacts<'_>) -> Value {
    let results: Vec<Value> = report
        .tools
        .iter()
        .flat_map(|tool| tool.diagnostics.iter().map(|it| result(tool, it, artifacts)))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "toolyard",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": RuleId::ALL.map(rule),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(rule: RuleId) -> Value {
    let (summary, _) = rule.help().split_once(". ").unwrap_or((rule.help().trim_end_matches('.'), ""));
    json!({
        "id": rule.id(),
        "name": rule.id(),
        "shortDescription": { "text": format!("{summary}.") },
        "fullDescription": { "text": rule.help() },
        "help": { "text": rule.help(), "markdown": rule.help() },
        "defaultConfiguration": { "level": level(rule.level()) },
        "properties": { "tags": ["documentation", "mcp"], "precision": "medium" },
    })
}

fn result(tool: &ToolScore, diagnostic: &Diagnostic, artifacts: &Artifacts<'_>) -> Value {
    let Diagnostic { rule, level: own, place, message, suggestion } = diagnostic;
    let mut text = format!("{}: {message}", tool.id);
    if let Some(suggestion) = suggestion {
        text += &format!("\nFor example: {}", suggestion.text);
    }
    let index = RuleId::ALL.iter().position(|it| it == rule);
    let uri = match &artifacts.file {
        Some(file) => file.split('/').map(encoded).collect::<Vec<_>>().join("/"),
        None => format!("toolyard://{}/{}", encoded(&tool.server), encoded(&tool.name)),
    };
    let line = artifacts.lines.get(&(tool.server.clone(), tool.name.clone())).copied().unwrap_or(1);
    json!({
        "ruleId": rule.id(),
        "ruleIndex": index,
        "level": level(*own),
        "message": { "text": text },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri },
                "region": { "startLine": line },
            },
            "logicalLocations": [{
                "name": tool.name,
                "fullyQualifiedName": format!("{}{place}", tool.id),
                "kind": "function",
            }],
        }],
        "partialFingerprints": { "toolyardLint/v1": format!("{}:{}:{place}:{}", rule.id(), tool.id, other(diagnostic)) },
        "properties": { "score": tool.score },
    })
}

/// What tells apart results of one rule at one place: the other tool.
fn other(diagnostic: &Diagnostic) -> &str {
    let is_pair = matches!(diagnostic.rule, RuleId::Confusable | RuleId::Twin);
    diagnostic.message.split('`').nth(1).filter(|_| is_pair).unwrap_or_default()
}

fn level(level: DiagnosticLevel) -> &'static str {
    level.as_str()
}

/// Writes a name as a part of an address.
fn encoded(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode =
        |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(encode).collect()
}
