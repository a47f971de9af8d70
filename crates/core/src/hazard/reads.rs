//! Command lines that certainly only read, in every shell.
//!
//! Nobody says which shell runs a line, so only what POSIX shells, `cmd` and PowerShell read in the same way is
//! understood: programs with plain words, between pipes and separators. Variables, substitutions, escapes, groups and
//! every redirection but to nowhere are not, and neither is a character in quotes that one of the shells acts on.

use super::plain::{Word, is_plain};
use super::switches;

/// Bytes of a line that is understood.
const LONGEST: usize = 4 * 1024;

/// Returns the programs that a line runs, with their subcommands, where all of them only read.
pub(super) fn programs(line: &str) -> Option<Vec<String>> {
    let commands = commands(line)?;
    // Who runs a line, or a part of it, without a shell hands everything in it to the first program.
    for (at, command) in commands.iter().enumerate() {
        if commands[at + 1..].iter().flatten().any(|word| switches::may_write(command, word)) {
            return None;
        }
    }
    let mut all = Vec::new();
    for command in commands {
        let program = switches::only_reads(&command)?;
        if !all.contains(&program) {
            all.push(program);
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Cuts a line into commands of words; `None` where any of it is not plain.
fn commands(line: &str) -> Option<Vec<Vec<Word>>> {
    let line = line.replace("\r\n", "\n");
    let line = line.trim_matches([' ', '\t', '\n']);
    if line.len() > LONGEST || names_variable(line) {
        return None;
    }
    let mut parse = Parse { commands: vec![Vec::new()], word: None };
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        rest = parse.take(c, &rest[c.len_utf8()..])?;
    }
    parse.end_word();
    parse.commands.retain(|command| !command.is_empty());
    Some(parse.commands)
}

/// Whether `cmd` may read a variable between two `%`. Its variables have longer names than formats have letters.
fn names_variable(line: &str) -> bool {
    let mut parts = line.split('%');
    parts.next();
    let is_name = |part: &str| {
        let name = part.split(':').next().unwrap_or(part);
        name.len() > 2 && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let count = line.matches('%').count();
    parts.take(count.saturating_sub(1)).any(is_name)
}

struct Parse {
    commands: Vec<Vec<Word>>,
    word: Option<Word>,
}

impl Parse {
    /// Takes the next character of a line; returns what is left, `None` where it is not understood.
    fn take<'t>(&mut self, c: char, after: &'t str) -> Option<&'t str> {
        match c {
            ' ' | '\t' => self.end_word(),
            '\'' | '"' => return self.quoted(c, after),
            '>' => return self.redirected(after),
            '&' if after.starts_with('>') => return self.redirected(&after[1..]),
            '<' => return self.fed(after),
            '&' => return Some(self.ended(after.strip_prefix('&')?)),
            '|' => return Some(self.ended(after.strip_prefix('|').unwrap_or(after))),
            ';' | '\n' => return Some(self.ended(after)),
            c if is_plain(c) => {
                let is_pattern = matches!(c, '*' | '?');
                let is_first = self.word.is_none();
                let word = self.word.get_or_insert_default();
                word.begins_with_pattern |= is_pattern && (is_first || word.text.is_empty());
                word.is_pattern |= is_pattern;
                word.text.push(c);
            }
            _ => return None,
        }
        Some(after)
    }

    fn quoted<'t>(&mut self, quote: char, text: &'t str) -> Option<&'t str> {
        let (inner, after) = text.split_once(quote)?;
        let mut chars = inner.chars().peekable();
        while let Some(c) = chars.next() {
            let is_inert = match c {
                // Before these no shell reads a backslash as anything else, in quotes.
                '\\' => chars
                    .peek()
                    .is_some_and(|next| next.is_ascii_alphanumeric() || ".()[]{}|*+?^/-".contains(*next)),
                // `cmd` does not know single quotes: within them it acts on these.
                '&' | '|' | '<' | '>' | '^' => quote == '"',
                '$' => quote == '\'',
                '\'' => true,
                c => is_plain(c) || c == ' ' || "#()[]{};\"".contains(c),
            };
            if !is_inert {
                return None;
            }
        }
        // To `cmd`, quotes within single quotes are quotes.
        if inner.matches('"').count() % 2 != 0 {
            return None;
        }
        self.word.get_or_insert_default().text.push_str(inner);
        Some(after)
    }

    /// Takes what follows `>`: only nowhere, or the other output.
    fn redirected<'t>(&mut self, after: &'t str) -> Option<&'t str> {
        if self.word.as_ref().is_some_and(|word| matches!(word.text.as_str(), "1" | "2")) {
            self.word = None;
        }
        self.end_word();
        let target = after.strip_prefix('>').unwrap_or(after);
        let rest = match target.strip_prefix("&1").or_else(|| target.strip_prefix("&2")) {
            Some(rest) => rest,
            None => target.trim_start_matches([' ', '\t']).strip_prefix("/dev/null")?,
        };
        is_end(rest).then_some(rest)
    }

    /// Takes what follows `<`: the name of a file that is read.
    fn fed<'t>(&mut self, after: &'t str) -> Option<&'t str> {
        self.end_word();
        let name = after.trim_start_matches([' ', '\t']);
        let end = name.find(|c| !is_plain(c)).unwrap_or(name.len());
        let is_file = end > 0 && !name.starts_with("/dev/") && !name[..end].contains(['*', '?']);
        (is_file && is_end(&name[end..])).then_some(&name[end..])
    }

    fn ended<'t>(&mut self, after: &'t str) -> &'t str {
        self.end_word();
        self.commands.push(Vec::new());
        after
    }

    fn end_word(&mut self) {
        if let (Some(word), Some(command)) = (self.word.take(), self.commands.last_mut()) {
            command.push(word);
        }
    }
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&'])
}
