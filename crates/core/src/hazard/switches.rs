//! What programs may be told without changing anything: lists of the switches that only read.
//!
//! A program, or a program with its subcommand, has a line of what it may be told: `-ab` are single letters, `-n:` is
//! one with a value, `-#` a number, `--long`, `--long:` and `--long?` are long ones without, with and with or without
//! a value. `words` says that `-name` is one switch and not four. `none`, `one` and `plus` bound what is not a switch:
//! to nothing, one word, or words with a plus. What is not in the line is not understood.

use super::lists::Lists;
use super::plain::Word;
use super::{http, scripts};

/// Words of which a program with its subcommands may consist.
const SUBCOMMANDS: usize = 4;

/// Returns the program that a command runs, with its subcommand, where it certainly only reads.
pub(super) fn only_reads(command: &[Word]) -> Option<String> {
    let lists = Lists::builtin();
    let (first, rest) = command.split_first().filter(|(first, _)| !first.is_pattern)?;
    let path = first.text.strip_prefix("/usr/bin/").or_else(|| first.text.strip_prefix("/bin/"));
    // Only PowerShell knows names with a dash, and it knows them in any case.
    let is_cmdlet = first.text.contains('-');
    let program = path.unwrap_or(&first.text);
    let program = if is_cmdlet { program.to_lowercase() } else { program.to_owned() };
    let is_device = |word: &Word| word.text.starts_with("/dev/");
    let has_dollar = command.iter().any(|word| word.text.contains('$'));
    // Opening a device may already do something, and builtins of shells may evaluate what is in quotes once more.
    if command.iter().any(is_device) || has_dollar && !lists.dollars.contains(&program) {
        return None;
    }
    if lists.readers.contains(&program) {
        return Some(program);
    }
    let (name, line, words) = lookup(&program, rest)?;
    if program == "xargs" {
        // What comes through the pipe may be switches, so only programs that never write may get it.
        let inner = words.get(leading(line, words));
        return inner.is_none_or(|inner| lists.readers.contains(&inner.text)).then_some(name);
    }
    let operands = operands(line, words)?;
    let is_told_to_read = match program.as_str() {
        "sed" => scripts::sed(words, &operands),
        name if name.ends_with("awk") => operands.first().is_some_and(|script| scripts::awk(&script.text)),
        "curl" => is_fetch(words, &operands),
        // On Windows a switch begins with a slash, and one of them names a file that is written.
        "sort" => operands.iter().all(|word| !word.text.starts_with('/') || word.text[1..].contains('/')),
        _ => true,
    };
    is_told_to_read.then_some(name)
}

/// Whether a word is a switch with which the program of a command writes, or runs another one.
pub(super) fn may_write(command: &[Word], word: &Word) -> bool {
    let program = command.first().map_or("", |first| first.text.rsplit('/').next().unwrap_or_default());
    let Some(switches) = Lists::builtin().writers.get(program) else { return false };
    let text = word.text.as_str();
    let has_letter = |letter: &str| {
        letter.len() == 1 && text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
    };
    switches.iter().any(|switch| text.starts_with(switch.as_str()) || has_letter(&switch[1..]))
}

/// Finds what a program may be told, by as many of its first words as there is a line for. What stands before the
/// subcommand is told to the program itself.
fn lookup<'w>(program: &str, words: &'w [Word]) -> Option<(String, &'static str, &'w [Word])> {
    let reads = &Lists::builtin().reads;
    let own = reads.get(program).map(String::as_str);
    let skipped = own.map_or(0, |line| leading(line, words));
    for start in if skipped == 0 { vec![0] } else { vec![skipped, 0] } {
        for count in (1..=SUBCOMMANDS.min(words.len() - start)).rev() {
            let said = words[start..start + count].iter().map(|word| word.text.as_str());
            let name = std::iter::once(program).chain(said).collect::<Vec<_>>().join(" ");
            if let Some(line) = reads.get(&name) {
                return Some((name, line, &words[start + count..]));
            }
        }
    }
    let has_subcommands =
        reads.keys().any(|key| key.strip_prefix(program).is_some_and(|it| it.starts_with(' ')));
    let is_alone = skipped == words.len();
    own.filter(|_| is_alone || !has_subcommands).map(|line| (program.to_owned(), line, words))
}

/// Counts the words before a subcommand that are switches of the program.
fn leading(line: &str, words: &[Word]) -> usize {
    let mut at = 0;
    while at < words.len() && words[at].text.starts_with('-') {
        match takes(line, &words[at].text) {
            Some(Value::Inside) => at += 1,
            Some(Value::Next) => at += 2,
            None => break,
        }
    }
    at.min(words.len())
}

/// Returns the words that are not switches, where all switches are in the line.
fn operands<'w>(line: &str, words: &'w [Word]) -> Option<Vec<&'w Word>> {
    let has = |wanted: &str| line.split(' ').any(|part| part == wanted);
    let is_bounded = has("none") || has("one") || has("plus");
    if words.iter().any(|word| word.begins_with_pattern || is_bounded && word.is_pattern) {
        return None;
    }
    let mut operands = Vec::new();
    let (mut at, mut only_operands) = (0, false);
    while let Some(word) = words.get(at) {
        at += 1;
        let text = word.text.as_str();
        if only_operands || !text.starts_with('-') || text == "-" {
            operands.push(word);
        } else if text == "--" {
            // Behind it, a program whose switches are words goes on to read them.
            if has("words") {
                return None;
            }
            only_operands = true;
        } else {
            match takes(line, text)? {
                Value::Inside => {}
                Value::Next => {
                    // A program that needs no value here takes what follows for its next switch.
                    let value = words.get(at)?.text.strip_prefix('-').unwrap_or_default();
                    if value.starts_with(|c: char| !c.is_ascii_digit()) {
                        return None;
                    }
                    at += 1;
                }
            }
        }
    }
    let is_allowed = (!has("none") || operands.is_empty())
        && (!has("one") || operands.len() <= 1)
        && (!has("plus") || operands.iter().all(|word| word.text.starts_with('+')));
    is_allowed.then_some(operands)
}

/// Where the value of a switch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// In the same word, or there is none.
    Inside,
    Next,
}

/// Says where the value of a switch is that a line has; `None` for one that it has not.
fn takes(line: &str, word: &str) -> Option<Value> {
    let mut parts = line.split(' ');
    let has = |wanted: &str| line.split(' ').any(|part| part == wanted);
    if word.starts_with("--") || has("words") {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let part = parts.find(|part| part.trim_end_matches([':', '?']) == name && part.starts_with('-'))?;
        return match (part.chars().next_back(), value) {
            (Some(':'), None) => Some(Value::Next),
            (Some(':' | '?'), Some(_)) | (Some('?'), None) => Some(Value::Inside),
            (_, Some(_)) => None,
            (_, None) => Some(Value::Inside),
        };
    }
    let letters = &word[1..];
    if letters.bytes().all(|byte| byte.is_ascii_digit()) && has("-#") {
        return Some(Value::Inside);
    }
    let singles: Vec<&str> = parts.filter(|part| part.starts_with('-') && !part.starts_with("--")).collect();
    for (at, letter) in letters.char_indices() {
        let valued = format!("-{letter}:");
        if singles.contains(&valued.as_str()) {
            let is_last = at + letter.len_utf8() == letters.len();
            return Some(if is_last { Value::Next } else { Value::Inside });
        }
        let is_single = |part: &&str| !part.ends_with(':') && part[1..].contains(letter);
        if !singles.iter().any(is_single) {
            return None;
        }
    }
    Some(Value::Inside)
}

/// Whether `curl` gets what it is told: only addresses of the web, and no header that changes the method.
fn is_fetch(words: &[Word], operands: &[&Word]) -> bool {
    let is_header = |word: &Word| word.text == "-H" || word.text == "--header";
    // A header in the same word as its switch is not looked for.
    let is_hidden = |word: &Word| {
        let has_letter =
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('H');
        word.text != "-H" && has_letter || word.text.starts_with("--header=")
    };
    let name = |word: &Word| word.text.split(':').next().unwrap_or_default().to_owned();
    let mut headers = words.windows(2).filter(|pair| is_header(&pair[0])).map(|pair| name(&pair[1]));
    let are_safe = headers.all(|name| http::is_safe_header(&name)) && !words.iter().any(is_hidden);
    !operands.is_empty() && operands.iter().all(|word| http::is_plain_address(&word.text)) && are_safe
}
