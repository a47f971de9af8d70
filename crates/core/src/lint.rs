//! How well tools are documented, and which of them are hard to tell apart.
//!
//! Each tool is scored against one form: purpose, prerequisite, when to use it, what it does not do, parameters, what it
//! returns, examples. A part that a tool cannot have is not missed, and text in a language whose words are not known is
//! judged by its structure.

mod rule; //        what can be wrong
mod words; //       the words and numbers it is judged with
mod prose; //       a description as statements
mod subject; //     one tool, read
mod suggest; //     what could be written
mod description; // what the description says
mod parameters; //  what the parameters say
mod stuffing; //    what the description should not say
mod naming; //      what names say
mod confusable; //  tools that are hard to tell apart

use std::collections::HashMap;

use serde::Serialize;

use crate::catalog::Catalog;
use crate::metadata::{Knowledge, Note};
use crate::tool::Tool;

use description::Sharing;
use subject::Subject;

pub use confusable::{ConfusablePair, Distinction};
pub use rule::{DiagnosticLevel, RuleId};
pub(crate) use stuffing::advertising;
pub use suggest::sidecars;

/// What was found in a catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LintReport {
    /// Every tool in the order of the catalog.
    pub tools: Vec<ToolScore>,
    /// Tools that are hard to tell apart: twins first, then the most similar.
    pub pairs: Vec<ConfusablePair>,
}

/// How well one tool is documented.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolScore {
    /// The name that clients of the hub use.
    pub id: String,
    /// The server as the configuration names it.
    pub server: String,
    /// The name that the server itself uses.
    pub name: String,
    /// From 0 to 100.
    pub score: u8,
    /// What its definition costs in every listing, about.
    pub tokens: usize,
    /// How well each part of the form is there.
    pub parts: FormParts,
    /// What could be better, the most severe first.
    pub diagnostics: Vec<Diagnostic>,
}

/// How well each part of the form is there, in percent; nothing where it cannot be expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FormParts {
    /// One clear sentence first.
    pub purpose: u8,
    /// What has to be there before; this part costs no points.
    pub prerequisite: Option<u8>,
    /// When to use it.
    pub uses: u8,
    /// What it does not do.
    pub boundaries: u8,
    /// What each parameter is.
    pub args: Option<u8>,
    /// What comes back.
    pub returns: u8,
    /// What a call looks like.
    pub examples: Option<u8>,
}

/// Something that could be better about one tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    /// What it is about.
    pub rule: RuleId,
    /// How much it matters.
    pub level: DiagnosticLevel,
    /// Where it is in the definition, as a JSON pointer.
    pub place: String,
    /// What is wrong and what to do.
    pub message: String,
    /// What could be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Suggestion>,
}

/// What could be written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    /// A sentence for the description.
    pub text: String,
    /// The same for a file of metadata, where the server itself cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// What each part of the form counts.
const PURPOSE: u32 = 30;
const USES: u32 = 15;
const BOUNDARIES: u32 = 8;
/// Where another tool is hard to tell apart, boundaries are what is needed most.
const NEEDED_BOUNDARIES: u32 = 15;
const ARGS: u32 = 27;
const RETURNS: u32 = 10;
const EXAMPLES: u32 = 10;
/// Nothing makes up for a missing description.
const MOST_WITHOUT_DESCRIPTION: u32 = 20;
/// A rule costs its points this often at most.
const MOST_TIMES: u32 = 3;
/// The same text in so many tools of other servers is a placeholder.
const LEAST_SHARING: usize = 2;

/// Judges every tool of a catalog.
pub fn lint(catalog: &Catalog) -> LintReport {
    let knowledge = Knowledge::gather(catalog, None, &[], |_| None);
    let sharing = sharing(catalog);
    let mut subjects: Vec<Subject<'_>> = Vec::with_capacity(catalog.len());
    let mut parts = Vec::with_capacity(catalog.len());
    for (server, _) in catalog.servers() {
        let names = subject::callings(catalog.of_server(server));
        let start = subjects.len();
        for at in (start..).take(catalog.of_server(server).len()) {
            let mut subject = Subject::of(catalog, at, &names);
            let mut own = description::judge(&mut subject, sharing[at], knowledge.of(at));
            stuffing::judge(&mut subject);
            naming::judge(&mut subject);
            own.args = parameters::judge(&mut subject);
            own.prerequisite = parameters::prerequisite(&subject);
            subjects.push(subject);
            parts.push(own);
        }
        naming::judge_server(&mut subjects[start..]);
    }
    let pairs = pairs(catalog, &knowledge, &subjects);
    for pair in &pairs {
        report_pair(&mut subjects, pair);
    }
    let tools = subjects.into_iter().zip(parts).map(|(subject, parts)| scored(subject, parts));
    LintReport { tools: tools.collect(), pairs }
}

fn pairs(catalog: &Catalog, knowledge: &Knowledge, subjects: &[Subject<'_>]) -> Vec<ConfusablePair> {
    let leads: Vec<&str> = subjects.iter().map(|it| it.prose.lead().unwrap_or_default()).collect();
    let names = |a: usize, b: usize| {
        let (one, other) = (&subjects[a], &subjects[b]);
        one.tool.server == other.tool.server && one.named.contains(other.tool.name.as_str())
    };
    confusable::pairs(catalog, knowledge, &leads, |a, b| names(a, b) || names(b, a))
}

fn report_pair(subjects: &mut [Subject<'_>], pair: &ConfusablePair) {
    let [a, b] = pair.positions;
    for (own, other) in [(a, b), (b, a)] {
        let (tool, other) = (subjects[own].tool, subjects[other].tool);
        if pair.is_twin {
            let message = match tool.server == other.server {
                true => {
                    format!("`{}` is the same tool under another name; remove one of the two", other.name)
                }
                false => format!("`{}` lists the same tool, word for word", other.server),
            };
            subjects[own].report(RuleId::Twin, "", message);
            continue;
        }
        let shown = if tool.server == other.server { other.name.as_str() } else { other.id.as_str() };
        let message = format!("it is hard to tell from `{shown}`: {}", pair.advice);
        subjects[own].suggest(RuleId::Confusable, message, suggest::not_for(tool, other));
    }
}

/// Counts for each tool those of another name that have its description.
fn sharing(catalog: &Catalog) -> Vec<Sharing> {
    let mut alike: HashMap<&str, Vec<&Tool>> = HashMap::new();
    for tool in catalog.tools() {
        alike.entry(tool.description.trim()).or_default().push(tool);
    }
    let count = |tool: &Tool| {
        let own = confusable::bare_name(tool);
        let others = alike[tool.description.trim()].iter().filter(|it| confusable::bare_name(it) != own);
        let at_home = others.clone().filter(|it| it.server == tool.server).count();
        let all = others.count();
        Sharing(if at_home > 0 || all >= LEAST_SHARING { all } else { 0 })
    };
    catalog.tools().iter().map(count).collect()
}

fn scored(subject: Subject<'_>, parts: FormParts) -> ToolScore {
    let Subject { tool, mut diagnostics, .. } = subject;
    diagnostics.sort_by_key(|it| (it.level, it.rule));
    ToolScore {
        id: tool.id.as_str().to_owned(),
        server: tool.server.to_string(),
        name: tool.name.clone(),
        score: score(&parts, &diagnostics),
        tokens: stuffing::tokens(&tool.listed()),
        parts,
        diagnostics,
    }
}

fn score(parts: &FormParts, diagnostics: &[Diagnostic]) -> u8 {
    let times = |rule: RuleId| {
        let times = diagnostics.iter().filter(|it| it.rule == rule).count();
        u32::try_from(times).unwrap_or(u32::MAX).min(MOST_TIMES)
    };
    let boundaries = if times(RuleId::Confusable) > 0 { NEEDED_BOUNDARIES } else { BOUNDARIES };
    let form = [
        (PURPOSE, Some(parts.purpose)),
        (USES, Some(parts.uses)),
        (boundaries, Some(parts.boundaries)),
        (ARGS, parts.args),
        (RETURNS, Some(parts.returns)),
        (EXAMPLES, parts.examples),
    ];
    let expected = form.iter().filter_map(|(points, percent)| Some((points, u32::from((*percent)?))));
    let (sum, all) =
        expected.fold((0, 0), |(sum, all), (points, percent)| (sum + points * percent, all + points));
    let cost: u32 = RuleId::ALL
        .iter()
        .map(|rule| {
            // Several confusable neighbours are one trouble.
            let most = if *rule == RuleId::Confusable { 1 } else { MOST_TIMES };
            rule.cost() * times(*rule).min(most)
        })
        .sum();
    let most = if times(RuleId::NoDescription) > 0 { MOST_WITHOUT_DESCRIPTION } else { 100 };
    let score = (sum / all).saturating_sub(cost).min(most);
    u8::try_from(score).expect("it is at most 100")
}

#[cfg(test)]
mod tests;
