//! Names that say nothing, that contradict annotations, or that differ for one idea.

use std::collections::{BTreeMap, HashMap};

use crate::lexicon::Lexicon;
use crate::text::terms;
use crate::tool::purpose::is_identity;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;
use crate::tool::{Effect, Hints, Tool};

use super::rule::RuleId;
use super::subject::{Subject, property};
use super::words::lint_words;

/// Terms of a name.
const MAX_TERMS: usize = 8;

/// Judges the name of one tool, and whether its annotations fit it.
pub(super) fn judge(subject: &mut Subject<'_>) {
    let tool = subject.tool;
    let own: Vec<String> = words(&tool.name).map(str::to_lowercase).collect();
    if !own.is_empty() && own.iter().all(|word| lint_words().names.vague.contains(word)) {
        let message = format!("`{}` does not say what is done to what; name both", tool.name);
        subject.report(RuleId::VagueName, "/name", message);
    }
    if let Some(message) = disagreement(tool, subject.hints) {
        subject.report(RuleId::AnnotationDisagrees, "/annotations", message);
    }
}

fn disagreement(tool: &Tool, hints: Hints) -> Option<String> {
    let named = Effect::infer(&tool.name, Hints::default());
    let name = &tool.name;
    if hints.read_only == Some(true) {
        let first = words(&tool.name).next().map(str::to_lowercase).unwrap_or_default();
        let is_change = named == Effect::Destroy || lint_words().names.changes.contains(&first);
        return is_change
            .then(|| format!("`readOnlyHint` is true, and `{name}` changes something; one is wrong"));
    }
    (hints.destructive == Some(true) && named == Effect::Read)
        .then(|| format!("`destructiveHint` is true, and `{name}` reads; one is wrong"))
}

/// Reports parameters of one server that have several names for one idea, at the tools with the rarer name.
pub(super) fn judge_server(subjects: &mut [Subject<'_>]) {
    let spellings = spellings(subjects);
    for names in spellings.values() {
        let most = names.iter().max_by(|a, b| a.1.len().cmp(&b.1.len()).then_with(|| b.0.cmp(a.0)));
        let Some((usual, holders)) = most.filter(|_| names.len() > 1) else { continue };
        for (name, tools) in names.iter().filter(|(name, _)| *name != usual) {
            for at in tools {
                let count = holders.len();
                let tools =
                    if count == 1 { "another tool".to_owned() } else { format!("{count} other tools") };
                let message = format!("`{name}` is called `{usual}` in {tools} of this server; use one name");
                subjects[*at].report(RuleId::ParameterNamesDiffer, property(name), message);
            }
        }
    }
}

/// The tools by idea, and by the name that a parameter has for it.
type Spellings = BTreeMap<String, BTreeMap<String, Vec<usize>>>;

fn spellings(subjects: &[Subject<'_>]) -> Spellings {
    let mut found = Spellings::new();
    for (at, subject) in subjects.iter().enumerate() {
        for parameter in &subject.tool.parameters {
            let idea = idea(&parameter.name);
            found.entry(idea).or_default().entry(parameter.name.clone()).or_default().push(at);
        }
    }
    found.remove("");
    // `slug` of `get_product` is the `product_slug` of another tool.
    let mut heads: HashMap<String, Vec<String>> = HashMap::new();
    for names in found.values() {
        for name in names.keys() {
            let parts: Vec<String> = words(name).map(str::to_lowercase).collect();
            if let [thing, head] = parts.as_slice()
                && is_identity(head)
                && !vocabulary().parameters.titles.contains(head)
            {
                heads.entry(head.clone()).or_default().push(thing.clone());
            }
        }
    }
    let mut meant: Vec<(String, String, usize)> = Vec::new();
    let mut general: HashMap<String, usize> = HashMap::new();
    for (at, subject) in subjects.iter().enumerate() {
        let own: Vec<&str> = subject.tool.parameters.iter().map(|it| it.name.as_str()).collect();
        let named = terms(&subject.tool.name, MAX_TERMS);
        for name in &own {
            let things = heads.get(&name.to_lowercase()).map(Vec::as_slice).unwrap_or_default();
            let is_meant = |thing: &&String| {
                let full = idea(&format!("{thing}_{name}"));
                terms(thing, 1).first().is_some_and(|term| named.contains(term))
                    && !own.iter().any(|other| idea(other) == full)
            };
            match things.iter().find(is_meant) {
                Some(thing) => meant.push((idea(&format!("{thing}_{name}")), (*name).to_owned(), at)),
                None => *general.entry((*name).to_owned()).or_default() += 1,
            }
        }
    }
    for (full, name, at) in &meant {
        // A parameter that most tools have, such as the `path` of a document, is an idea of its own.
        let alike = meant.iter().filter(|it| it.1 == *name).count();
        if general.get(name).is_none_or(|others| *others <= alike) {
            found.entry(full.clone()).or_default().entry(name.clone()).or_default().push(*at);
        }
    }
    found
}

/// A name without its spelling: case, marks between words, and abbreviations.
fn idea(name: &str) -> String {
    let whole = |word: &str| {
        let word = word.to_lowercase();
        let is_whole = |long: &&str| long.starts_with(&word) && !long.contains(' ') && !word.ends_with('s');
        let long = Lexicon::builtin().english(&word).filter(is_whole);
        long.map(str::to_owned).unwrap_or(word)
    };
    words(name).map(whole).collect()
}
