//! One-liners of `sed` and `awk` that only print.

use super::lists::Lists;
use super::plain::Word;

/// Whether every script that `sed` is told only prints or substitutes.
pub(super) fn sed(words: &[Word], operands: &[&Word]) -> bool {
    let is_told = |word: &Word| word.text == "-e" || word.text == "--expression";
    let mut scripts = words.windows(2).filter(|pair| is_told(&pair[0])).map(|pair| &pair[1]).peekable();
    // An expression in the same word as its switch is not looked for.
    let is_attached = |word: &Word| {
        let short = word.text.starts_with('-') && !word.text.starts_with("--") && word.text.len() > 2;
        short && word.text.contains('e') || word.text.starts_with("--expression=")
    };
    if words.iter().any(is_attached) {
        return false;
    }
    match scripts.peek() {
        Some(_) => scripts.all(|script| is_sed(&script.text)),
        None => operands.first().is_some_and(|script| is_sed(&script.text)),
    }
}

/// `5,10p`, `$d`, `/start/,/end/p`, `s/a/b/g`.
fn is_sed(script: &str) -> bool {
    // The last part of a substitution may say that its result is run or written.
    if let Some(rest) = script.strip_prefix("s/") {
        let parts: Vec<&str> = rest.split('/').collect();
        let is_flag = |c: char| c.is_ascii_digit() || matches!(c, 'g' | 'i' | 'I' | 'p');
        return parts.len() == 3 && !rest.contains(['\\', ';', '\n']) && parts[2].chars().all(is_flag);
    }
    let Some(command) = script.strip_suffix(['p', 'd', 'q', '=']) else { return false };
    command.split(',').all(|address| {
        let is_line = address.chars().all(|c| c.is_ascii_digit() || matches!(c, '$' | '+' | '~'));
        let pattern = address.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let is_text = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '^' | '$' | '*');
        is_line || pattern.is_some_and(|pattern| pattern.chars().all(is_text))
    })
}

/// Whether a program of `awk` writes to nothing and calls nothing but functions without effects.
pub(super) fn awk(script: &str) -> bool {
    if script.contains(['>', '|', '@', '\\', '<']) || script.contains("getline") {
        return false;
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    script.match_indices('(').all(|(at, _)| {
        let before = script[..at].trim_end();
        let start = before.trim_end_matches(is_name).len();
        let name = &before[start..];
        name.is_empty() || Lists::builtin().awk_words.contains(name)
    }) && !script.contains("system")
}
