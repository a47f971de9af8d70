//! Command lines: the programs in them, through quotes, pipes, wrappers and shells within shells.

use super::lists::Lists;
use super::{code, programs, sql};

/// Shells within shells that are looked into. Nobody needs more, so more are taken to hide something.
const NESTING: usize = 4;
/// Programs behind a wrapper that are looked at.
const WRAPPED: usize = 24;

/// Returns what a command line destroys by, as `git push --force`.
pub(super) fn sign(line: &str) -> Option<String> {
    // The shell itself reads this variable as the space between words.
    let line = line.replace("${IFS}", " ").replace("$IFS", " ");
    sign_within(&line, NESTING)
}

/// Returns what the words of one command destroy by.
pub(super) fn sign_of_words(words: &[String]) -> Option<String> {
    sign_of(words, NESTING)
}

fn sign_within(line: &str, nesting: usize) -> Option<String> {
    let Some(nesting) = nesting.checked_sub(1) else {
        return Some("a shell in a shell in a shell".to_owned());
    };
    let all = commands(line);
    let own = all.commands.iter().find_map(|command| {
        let target = command.writes_to.as_deref().filter(|target| !is_nowhere(target));
        sign_of(&command.words, nesting).or_else(|| target.map(|target| format!("> {target}")))
    });
    own.or_else(|| all.inner.iter().find_map(|inner| sign_within(inner, nesting)))
}

fn sign_of(words: &[String], nesting: usize) -> Option<String> {
    let lists = Lists::builtin();
    let start = words.iter().position(|word| !is_assignment(word))?;
    if let Some(sign) = sign_at(words, start, nesting) {
        return Some(sign);
    }
    let program = base(&words[start]);
    if !lists.wrappers.contains(&program) && !lists.shells.contains(&program) {
        return None;
    }
    let is_program = |at: &usize| {
        let program = base(&words[*at]);
        !words[*at].starts_with('-')
            && (lists.programs.contains_key(&program)
                || lists.wrappers.contains(&program)
                || lists.shells.contains(&program))
    };
    let inner = (start + 1..words.len()).filter(is_program).take(WRAPPED);
    inner.filter_map(|at| sign_at(words, at, nesting)).next()
}

/// What the program at one place of a command destroys by, with the words behind it.
fn sign_at(words: &[String], at: usize, nesting: usize) -> Option<String> {
    let lists = Lists::builtin();
    let (program, rest) = (base(&words[at]), &words[at + 1..]);
    if let Some(sign) = programs::sign(&program, rest) {
        return Some(sign);
    }
    let mut texts = rest.iter().filter(|word| word.contains(char::is_whitespace));
    if lists.shells.contains(&program) {
        texts.find_map(|text| sign_within(text, nesting))
    } else if lists.databases.contains(&program) {
        texts.find_map(|text| sql::sign(text))
    } else if lists.interpreters.contains(&program) {
        rest.iter().find_map(|text| code::sign(text))
    } else {
        None
    }
}

/// The name of a program without its folder, as `/bin/rm` and `RM.EXE` are written.
fn base(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

fn is_nowhere(target: &str) -> bool {
    target.starts_with("/dev/")
        || target.starts_with('&')
        || target.eq_ignore_ascii_case("nul")
        || target.eq_ignore_ascii_case("$null")
}

/// The commands of a line, and what is run inside its words.
#[derive(Debug, Default)]
struct Line {
    commands: Vec<Command>,
    inner: Vec<String>,
}

#[derive(Debug, Default)]
struct Command {
    words: Vec<String>,
    /// The file that its output replaces.
    writes_to: Option<String>,
}

fn commands(line: &str) -> Line {
    let mut parse = Parse {
        line: Line { commands: vec![Command::default()], inner: Vec::new() },
        word: None,
        awaits_target: false,
    };
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        rest = parse.take(c, rest);
    }
    parse.end_word();
    parse.line.commands.retain(|command| !command.words.is_empty() || command.writes_to.is_some());
    parse.line
}

struct Parse {
    line: Line,
    word: Option<String>,
    awaits_target: bool,
}

impl Parse {
    /// Takes the next sign of a line; returns what is left.
    fn take<'t>(&mut self, c: char, rest: &'t str) -> &'t str {
        let after = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let next = after.chars().next();
                self.word.get_or_insert_default().extend(next.filter(|next| *next != '\n'));
                &after[next.map_or(0, char::len_utf8)..]
            }
            '\'' => {
                let (text, rest) = after.split_once('\'').unwrap_or((after, ""));
                self.word.get_or_insert_default().push_str(text);
                rest
            }
            '"' => self.double_quoted(after),
            '$' if after.starts_with('(') => self.substituted(&after[1..]),
            // Only the escapes in such quotes differ.
            '$' if after.starts_with(['\'', '"']) => after,
            '`' => {
                let (inner, rest) = after.split_once('`').unwrap_or((after, ""));
                self.line.inner.push(inner.to_owned());
                self.word.get_or_insert_default();
                rest
            }
            '#' if self.word.is_none() => after.split_once('\n').map_or("", |(_, rest)| rest),
            '>' => self.redirected(after),
            '&' if after.starts_with('>') => after,
            ';' | '|' | '&' | '\n' | '(' | ')' | '{' | '}' => {
                self.end_word();
                self.line.commands.push(Command::default());
                after
            }
            c if c.is_whitespace() => {
                self.end_word();
                after
            }
            c => {
                self.word.get_or_insert_default().push(c);
                after
            }
        }
    }

    fn double_quoted<'t>(&mut self, mut rest: &'t str) -> &'t str {
        self.word.get_or_insert_default();
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            rest = match c {
                '"' => return after,
                '\\' => {
                    let next = after.chars().next();
                    self.word.get_or_insert_default().extend(next);
                    &after[next.map_or(0, char::len_utf8)..]
                }
                '$' if after.starts_with('(') => self.substituted(&after[1..]),
                c => {
                    self.word.get_or_insert_default().push(c);
                    after
                }
            };
        }
        rest
    }

    /// Takes `$(…)`, whose text is a line of its own.
    fn substituted<'t>(&mut self, rest: &'t str) -> &'t str {
        let mut depth = 1_usize;
        let end = rest.char_indices().find(|(_, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let end = end.map_or(rest.len(), |(at, _)| at);
        self.line.inner.push(rest[..end].to_owned());
        self.word.get_or_insert_default();
        rest.get(end + 1..).unwrap_or_default()
    }

    fn redirected<'t>(&mut self, after: &'t str) -> &'t str {
        // Errors that go to a file are a log.
        let is_output = self.word.as_deref().is_none_or(|word| !matches!(word, "2" | "3"));
        if matches!(self.word.as_deref(), Some("1" | "2" | "3")) {
            self.word = None;
        }
        self.end_word();
        if let Some(rest) = after.strip_prefix('>') {
            return rest;
        }
        let rest = after.strip_prefix('|').unwrap_or(after);
        match rest.strip_prefix('&') {
            Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-'),
            None => {
                self.awaits_target = is_output;
                rest
            }
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let command = self.line.commands.last_mut().expect("there is always one");
        if std::mem::take(&mut self.awaits_target) {
            command.writes_to = Some(word);
        } else {
            command.words.push(word);
        }
    }
}
