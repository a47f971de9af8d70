//! Text that is there to be found or preferred, and not to be read.

use std::collections::{BTreeSet, HashMap};

use crate::text::{each_term, terms};

use super::rule::RuleId;
use super::subject::Subject;
use super::words::lint_words;

/// A longer description is more than choosing and calling a tool takes.
const MOST_CHARS: usize = 2_000;
/// Bytes of a token, about.
const TOKEN_BYTES: usize = 4;
/// A word that is said more often, and makes up more than one in so many words, is repeated to be found. What the tool
/// is named after is said more often in any text about it.
const MOST_TIMES: usize = 6;
const LEAST_SPACING: usize = 6;
const LEAST_NAME_SPACING: usize = 3;
/// Letters of a word that is no abbreviation.
const LONG_WORD: usize = 4;
/// A heading in capitals has no more words than this.
const MAX_HEADING_WORDS: usize = 6;
/// Terms of a name.
const MAX_NAME_TERMS: usize = 12;
/// So many short items with nothing else are a list of keywords.
const LEAST_KEYWORDS: usize = 12;
const MOST_KEYWORD_WORDS: usize = 3;
/// One word of praise may be meant.
const LEAST_PRAISE: usize = 2;
/// So many words in capitals in a row are shouted; fewer are a heading or an abbreviation.
const LEAST_SHOUTED: usize = 3;

/// Counts the tokens of a text, about.
pub(super) fn tokens(text: &str) -> usize {
    text.len().div_ceil(TOKEN_BYTES)
}

/// Returns a word or a phrase that speaks for a tool and not about it.
pub(crate) fn advertising(text: &str) -> Option<&'static str> {
    let words = &lint_words().stuffing;
    let lower = text.to_lowercase();
    let pushing = words.pushing.iter().find(|it| lower.contains(it.as_str()));
    let mut said = lower.split(|it: char| !(it.is_alphanumeric() || matches!(it, '-' | '\'')));
    let praise = || said.find_map(|word| words.praise.get(word));
    pushing.or_else(praise).map(String::as_str)
}

/// Reports what makes the description worse by being there.
pub(super) fn judge(subject: &mut Subject<'_>) {
    let place = "/description";
    let description = &subject.tool.description;
    let chars = description.chars().count();
    if chars > MOST_CHARS {
        let tokens = tokens(description);
        let message = format!(
            "the description has {chars} characters, about {tokens} tokens in every listing; cut it below {MOST_CHARS}"
        );
        subject.report(RuleId::DescriptionTooLong, place, message);
    }
    if let Some((term, times)) = repeated(subject) {
        let message = format!("`{term}` stands there {times} times; say it once, in a sentence");
        subject.report(RuleId::KeywordStuffing, place, message);
    } else if let Some(items) = keywords(subject) {
        let message =
            format!("there is a list of {items} keywords; write sentences, and put keywords into metadata");
        subject.report(RuleId::KeywordStuffing, place, message);
    }
    let praise = praise(subject);
    if praise.len() >= LEAST_PRAISE {
        let words: Vec<String> = praise.into_iter().map(|word| format!("`{word}`")).collect();
        let message = format!("{} praise the tool; say what it does", words.join(", "));
        subject.report(RuleId::Praise, place, message);
    }
    if let Some(shouted) = shouted(subject) {
        let message = format!("`{shouted}` is shouted; write it in plain letters");
        subject.report(RuleId::Shouting, place, message);
    }
    let pushing = lint_words().stuffing.pushing.iter().find(|it| subject.prose.lower.contains(it.as_str()));
    if let Some(phrase) = pushing {
        let message = format!("`{phrase}` tells models to prefer this tool; say when it fits instead");
        subject.report(RuleId::Pushing, place, message);
    }
}

/// Returns a word that is repeated far more than prose does.
fn repeated(subject: &Subject<'_>) -> Option<(String, usize)> {
    let mut times: HashMap<String, usize> = HashMap::new();
    let mut all = 0;
    each_term(&subject.prose.lower, &mut |term| {
        *times.entry(term.to_owned()).or_default() += 1;
        all += 1;
    });
    let most = times.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)))?;
    // Pairs of characters of a script without spaces repeat without being words.
    let is_word = most.0.chars().count() > 2;
    let is_name = terms(&subject.tool.name, MAX_NAME_TERMS).contains(&most.0);
    let spacing = if is_name { LEAST_NAME_SPACING } else { LEAST_SPACING };
    (is_word && most.1 > MOST_TIMES && most.1 * spacing > all).then_some(most)
}

/// Returns how many keywords the longest bare list of them has.
fn keywords(subject: &Subject<'_>) -> Option<usize> {
    let count = |statement: &String| {
        let (_, list) = statement.split_once(':').unwrap_or(("", statement));
        let is_keyword = |item: &str| {
            let words = item.split_whitespace().count();
            (1..=MOST_KEYWORD_WORDS).contains(&words)
                && !item.contains(|it: char| it.is_ascii_digit() || "`'\"()[]{}=_/".contains(it))
        };
        let (keywords, others): (Vec<&str>, Vec<&str>) =
            list.split([',', '、', ';']).partition(|it| is_keyword(it));
        if others.len() > 1 { 0 } else { keywords.len() }
    };
    subject.prose.statements.iter().map(count).max().filter(|items| *items >= LEAST_KEYWORDS)
}

fn praise<'a>(subject: &'a Subject<'_>) -> BTreeSet<&'a str> {
    let praise = &lint_words().stuffing.praise;
    let words = subject.prose.lower.split(|it: char| !(it.is_alphanumeric() || matches!(it, '-' | '\'')));
    words.filter(|word| praise.contains(*word)).collect()
}

/// Returns words in capitals that stand in a row.
fn shouted(subject: &Subject<'_>) -> Option<String> {
    let is_loud = |word: &&str| {
        let letters = word.chars().filter(|it| it.is_alphabetic()).count();
        letters > 1
            && word.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_punctuation())
            && !word.contains(['_', '/'])
    };
    subject.prose.statements.iter().find_map(|statement| {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let is_heading = words.len() <= MAX_HEADING_WORDS && !statement.ends_with(['.', '!']);
        let mut runs = words.chunk_by(|a, b| is_loud(a) == is_loud(b));
        let run = runs.find(|run| run.len() >= LEAST_SHOUTED && is_loud(&run[0]))?;
        // Names stand in lists with commas, headings before a colon, and abbreviations are short.
        let is_list = run.iter().any(|word| word.ends_with(','));
        let is_heading = is_heading && run.len() == words.len() || run[run.len() - 1].ends_with(':');
        let long =
            run.iter().filter(|word| word.chars().filter(|it| it.is_alphabetic()).count() >= LONG_WORD);
        (!is_list && !is_heading && long.count() > 1).then(|| run.join(" "))
    })
}
