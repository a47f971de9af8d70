//! The parts of the five-part form that stand in the description.

use crate::form::Field;
use crate::metadata::Facts;
use crate::text::terms;

use super::prose::{Prose, begins_word, entry, is_label, length};
use super::rule::RuleId;
use super::subject::Subject;
use super::words::lint_words;
use super::{FormParts, suggest};

/// Terms of a sentence that are compared with a name.
const MAX_TERMS: usize = 64;
/// A sentence of fewer words says too little to choose by.
const LEAST_PURPOSE: usize = 2;
/// A sentence of more words is not read as one.
const MOST_PURPOSE: usize = 45;
/// Percent of the points for a purpose that only repeats the name, and for one that is too long or comes late.
const REPEATED: u8 = 40;
const CLUMSY: u8 = 70;
const SHARED: u8 = 20;

/// Statements beside the purpose from which on a text in another language counts as saying when a tool is used, what
/// it does not do, and what it returns. Its words cannot be looked for, so its length speaks for it.
const FOREIGN_USES: usize = 1;
const FOREIGN_BOUNDARIES: usize = 2;
const FOREIGN_RETURNS: usize = 3;

/// Tools that share the description of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sharing(pub(super) usize);

/// Judges the description; says of each part how well it is there, in percent.
pub(super) fn judge(subject: &mut Subject<'_>, sharing: Sharing, facts: &Facts) -> FormParts {
    let purpose = purpose(subject, sharing);
    let mut parts = FormParts { purpose, ..FormParts::default() };
    if subject.tool.description.trim().is_empty() {
        // One diagnostic says it all.
        parts.returns = percent(subject.has_output_schema);
        parts.examples = expects_examples(subject).then_some(0);
        return parts;
    }
    let markers = &lint_words().markers;
    let others = statements(subject).saturating_sub(1);
    // Headings are often English where the rest is not.
    let says = |phrases: &[String], enough: usize| {
        subject.prose.has(phrases) || !subject.is_english && others >= enough
    };
    let has_uses = says(&markers.uses, FOREIGN_USES);
    let has_boundaries = says(&markers.boundaries, FOREIGN_BOUNDARIES) || !subject.named.is_empty();
    let has_returns = subject.has_output_schema || says(&markers.returns, FOREIGN_RETURNS);
    parts.uses = percent(has_uses);
    parts.boundaries = percent(has_boundaries);
    parts.returns = percent(has_returns);
    parts.examples = examples(subject);
    if !has_uses {
        let message = "it is not said when to use the tool; add `Use when …`";
        match suggest::use_cases(subject.tool, facts) {
            Some(suggestion) => subject.suggest(RuleId::NoUseCases, message, suggestion),
            None => subject.report(RuleId::NoUseCases, "/description", message),
        }
    }
    if !has_boundaries {
        let message = "it is not said what the tool does not do; add `Does not …; use X instead`";
        subject.report(RuleId::NoBoundaries, "/description", message);
    }
    if !has_returns {
        let message = "nothing says what a call returns; add `Returns …` or an `outputSchema`";
        subject.report(RuleId::NoReturns, "/description", message);
    }
    if parts.examples.is_some_and(|percent| percent == 0) {
        let suggestion = suggest::example_call(subject.tool, subject.form);
        subject.suggest(RuleId::NoExamples, "there is no example of a call or of a value", suggestion);
    }
    parts
}

/// Whether a parameter has an example value, in its schema or its description.
pub(super) fn has_example(field: &Field) -> bool {
    let is_given = ["examples", "example"].iter().any(|key| field.schema.get(key).is_some());
    is_given || is_marked(&field.description) || !field.examples.is_empty()
}

/// Whether a text says that it gives an example, or quotes one.
pub(super) fn shows_example(text: &str) -> bool {
    is_marked(text) || ['"', '`', '”', '」'].iter().any(|mark| text.contains(*mark))
}

fn is_marked(text: &str) -> bool {
    let lower = text.to_lowercase();
    lint_words().markers.examples.iter().any(|it| begins_word(&lower, it))
}

fn percent(is_there: bool) -> u8 {
    if is_there { 100 } else { 0 }
}

fn purpose(subject: &mut Subject<'_>, Sharing(sharing): Sharing) -> u8 {
    let tool = subject.tool;
    if tool.description.trim().is_empty() {
        let message = "there is no description; say in one sentence what the tool does";
        subject.report(RuleId::NoDescription, "", message);
        return 0;
    }
    if sharing > 0 {
        let others =
            if sharing == 1 { "another tool has".to_owned() } else { format!("{sharing} other tools have") };
        let message = format!("{others} the same description; say what this one does");
        subject.report(RuleId::SharedDescription, "/description", message);
        return SHARED;
    }
    let Some((message, percent)) = unclear(subject) else { return 100 };
    subject.report(RuleId::UnclearPurpose, "/description", message);
    percent
}

/// Says what is wrong with the first sentence, and what it is worth.
fn unclear(subject: &Subject<'_>) -> Option<(String, u8)> {
    let tool = subject.tool;
    let Some(lead) = subject.prose.lead() else {
        return Some(("no sentence says what the tool does; begin with one".to_owned(), REPEATED));
    };
    let shown: String = lead.chars().take(60).collect();
    let words = length(lead);
    if words < LEAST_PURPOSE {
        return Some((
            format!("`{shown}` is too short to say what the tool does; write a sentence"),
            REPEATED,
        ));
    }
    let known = terms(&format!("{} {}", tool.name, tool.server), MAX_TERMS);
    let said = terms(lead, MAX_TERMS);
    // A script without spaces has no terms in common with a name in Latin letters.
    if said.iter().all(|term| known.contains(term)) && statements(subject) == 1 {
        let message =
            format!("`{shown}` says no more than the name; say what is done, to what, and how it shows");
        return Some((message, REPEATED));
    }
    let first = lead.split(|it: char| !it.is_alphanumeric()).next().unwrap_or_default();
    let is_notice = first.len() > 3
        && first.chars().all(|it| it.is_ascii_uppercase())
        && lead[first.len()..].trim_start().starts_with([':', '-', '!']);
    if is_notice {
        let message = format!("it begins with a notice (`{first}`); begin with what the tool does");
        return Some((message, CLUMSY));
    }
    if words > MOST_PURPOSE {
        let message =
            format!("the first sentence has {words} words; say what the tool does in one short sentence");
        return Some((message, CLUMSY));
    }
    None
}

/// Counts the statements that are not about one parameter.
fn statements(subject: &Subject<'_>) -> usize {
    let is_of_parameter = |statement: &str| entry(statement).is_some_and(|(name, _)| subject.form.has(name));
    let Prose { statements, .. } = &subject.prose;
    statements.iter().filter(|it| !is_label(it) && length(it) > 1 && !is_of_parameter(it)).count()
}

/// Whether an example would show something: switches and choices explain themselves.
fn expects_examples(subject: &Subject<'_>) -> bool {
    subject.form.fields().iter().any(|field| field.choices.is_empty() && !field.is_flag())
}

fn examples(subject: &Subject<'_>) -> Option<u8> {
    if !expects_examples(subject) {
        return None;
    }
    let tool = subject.tool;
    let is_called = tool.description.contains(&format!("{}(", tool.name));
    let is_marked = subject.prose.has(&lint_words().markers.examples);
    if is_called || is_marked || subject.prose.has_code {
        return Some(100);
    }
    let fields = subject.form.fields();
    let needed = fields.iter().filter(|it| it.is_required && it.choices.is_empty());
    let (shown, all) =
        needed.fold((0, 0), |(shown, all), field| (shown + usize::from(has_example(field)), all + 1));
    match (shown, all) {
        (0, _) if fields.iter().any(has_example) => Some(CLUMSY),
        (0, _) => Some(0),
        (shown, all) if shown * 2 >= all => Some(100),
        _ => Some(CLUMSY),
    }
}
