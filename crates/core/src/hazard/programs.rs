//! What programs destroy, by their subcommands and switches.

use super::lists::Lists;

/// Among how many leading words of a command a subcommand is looked for: switches before it may have values.
const LEADING: usize = 4;

/// Returns what a program called with these words destroys by, as `git push --force`.
pub(super) fn sign(program: &str, words: &[String]) -> Option<String> {
    let program = program.to_lowercase();
    if program.starts_with("mkfs") {
        return Some(program);
    }
    let rules = Lists::builtin().programs.get(&program)?;
    let rule = rules.iter().find(|rule| fits(rule, words))?;
    let parts = rule.split(' ').filter(|part| !part.is_empty() && !part.starts_with('!'));
    // Where a rule is a pattern, people are shown what fits it.
    let written = |part| words.iter().find(|word| is_word(part, word)).map_or(part, String::as_str);
    let shown = parts.map(|part| if part.contains('*') { written(part) } else { part });
    Some(std::iter::once(program.as_str()).chain(shown).collect::<Vec<_>>().join(" "))
}

fn fits(rule: &str, words: &[String]) -> bool {
    let (switches, plain): (Vec<&str>, Vec<&str>) =
        rule.split(' ').filter(|part| !part.is_empty()).partition(|part| part.starts_with(['-', '!']));
    let has_switch = |switch: &str| words.iter().any(|word| is_switch(switch, word));
    let are_switched = switches.iter().all(|switch| match switch.strip_prefix('!') {
        Some(absent) => !has_switch(absent),
        None => has_switch(switch),
    });
    are_switched && in_order(&plain, words)
}

/// Whether the words of a rule are among those of a command, in their order, the first one early.
fn in_order(plain: &[&str], words: &[String]) -> bool {
    let mut rest = words.iter().filter(|word| !word.starts_with('-'));
    for (at, wanted) in plain.iter().enumerate() {
        let is_wanted = |word: &&String| is_word(wanted, word);
        let found = if at == 0 {
            rest.by_ref().take(LEADING).any(|word| is_wanted(&word))
        } else {
            rest.any(|word| is_wanted(&word))
        };
        if !found {
            return false;
        }
    }
    true
}

fn is_word(wanted: &str, word: &str) -> bool {
    match wanted.split_once('*') {
        Some((start, end)) => {
            word.len() > start.len() + end.len() && word.starts_with(start) && word.ends_with(end)
        }
        None => word.eq_ignore_ascii_case(wanted),
    }
}

/// `-f` is in `-fd`, and `--force` in `--force=true`; a single dash may also begin a whole word, as in `-delete`.
fn is_switch(switch: &str, word: &str) -> bool {
    let is_same = word == switch || word.strip_prefix(switch).is_some_and(|rest| rest.starts_with('='));
    let letter = switch.strip_prefix('-').filter(|rest| rest.len() == 1);
    let cluster = word
        .strip_prefix('-')
        .filter(|rest| rest.len() <= 4 && rest.bytes().all(|it| it.is_ascii_alphabetic()));
    is_same || letter.zip(cluster).is_some_and(|(letter, cluster)| cluster.contains(letter))
}
