//! Command lines that certainly only read.
//!
//! Whatever is not understood here is not a read: variables, substitutions, redirections, escapes, and every character
//! that means something to one of the shells, even in quotes, because shells differ in what quotes protect.

use super::lists::Lists;

/// Whether a line does nothing but run programs that read, in every shell.
pub(super) fn only_reads(line: &str) -> bool {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = line.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => end_word(&mut commands, &mut word),
            ';' | '\n' | '|' | '&' => {
                let is_double = (c == '|' || c == '&') && chars.next_if_eq(&c).is_some();
                if c == '&' && !is_double {
                    return false;
                }
                end_word(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some(end) if end == c => break,
                        Some(inner) if inner == ' ' || is_plain(inner) => word.push(inner),
                        _ => return false,
                    }
                }
            }
            c if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return false,
        }
    }
    end_word(&mut commands, &mut word);
    let readers = &Lists::builtin().readers;
    commands.iter().all(|words| words.first().is_some_and(|program| readers.contains(program)))
}

fn end_word(commands: &mut [Vec<String>], word: &mut Option<String>) {
    if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
        command.push(word);
    }
}

/// Whether a character stands for itself in every shell. File patterns may: no program here has a switch that writes.
pub(super) fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '=' | ',' | '@' | '+' | '-' | '~' | '*' | '?')
}
