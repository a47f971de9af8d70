//! Statements for a database: do they destroy, and do they certainly not?
//!
//! Databases differ in what is a comment, a quoted name or a string. A text that one of them may read differently is
//! judged in both ways, and never taken to be harmless.

mod dialects; // what a statement does, agreed on by every dialect

use std::ops::Range;

use super::lists::Lists;
use crate::tool::words::words;
use crate::tool::{Effect, names_destruction};

/// Words among which a verb has what it is done to.
const NEAR: usize = 4;
/// Bytes of a text that is read from its first character to its last.
const LONGEST: usize = 16 * 1024;

/// Returns what in a text destroys, such as `DROP`.
pub(super) fn sign(text: &str) -> Option<String> {
    let lexed = Lexed::of(text);
    let found = lexed.statements.iter().find_map(|it| sign_of(it));
    // Where the text may be cut differently, whatever could begin a statement does.
    found.or_else(|| if lexed.is_certain { None } else { bare(text).iter().find_map(|it| verb_of(it)) })
}

/// What a text does that is understood from its first character to its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Understood {
    /// It reads, or it only adds.
    pub(super) effect: Effect,
    /// How its statements begin, such as `SELECT`.
    pub(super) verbs: Vec<String>,
}

impl Understood {
    pub(super) fn is_read(&self) -> bool {
        self.effect == Effect::Read
    }
}

/// Reads a text whole; `None` where any of it is not understood, or not in the same way by every database.
pub(super) fn understood(text: &str) -> Option<Understood> {
    let text = text.replace("\r\n", "\n");
    if text.len() > LONGEST || text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        return None;
    }
    let lexed = Lexed::of(&text);
    if !lexed.is_certain || lexed.hides_ends {
        return None;
    }
    let mut all = Understood { effect: Effect::Read, verbs: Vec::new() };
    for (words, span) in lexed.statements.iter().zip(&lexed.spans).filter(|(words, _)| !words.is_empty()) {
        let effect = effect_of(words, &text[span.clone()])?;
        if super::rank(effect) > super::rank(all.effect) {
            all.effect = effect;
        }
        let verb = words.iter().find(|word| word.starts_with(char::is_alphabetic))?;
        if !all.verbs.contains(verb) {
            all.verbs.push(verb.clone());
        }
    }
    (!all.verbs.is_empty()).then_some(all)
}

/// Whether a text is words of a person: letters and stops, beginning as no statement does.
pub(super) fn is_prose(text: &str) -> bool {
    let lists = Lists::builtin();
    let first = text.split_whitespace().next().unwrap_or_default().to_lowercase();
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '?' | ',' | '.' | '!');
    text.chars().all(is_letter)
        && text.starts_with(char::is_alphanumeric)
        && !lists.sql_beginnings.contains(&first)
        && !lists.sql_verbs.contains(&first)
}

/// Whether a text is words of a person where a statement is wanted: letters and stops that no statement is made of.
pub(super) fn is_spoken(text: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c.is_whitespace() || ",.?!'’".contains(c);
    text.chars().all(is_letter) && !dialects::is_readable(text)
}

/// Whether an argument holds statements, by its name and the words that are said of it.
pub(super) fn is_key(name: &str, terms: &[String]) -> bool {
    let says_so = |text: &str| text.split('_').any(|word| word.ends_with("sql"));
    says_so(&name.to_lowercase())
        || Lists::builtin().sql_keys.contains(&name.to_lowercase()) && terms.iter().any(|it| says_so(it))
}

/// Whether a text can only be meant as a statement that changes something: a verb, and soon what it is done to.
pub(super) fn is_statement(text: &str) -> bool {
    let lists = Lists::builtin();
    let is_in = |list: &super::lists::Set, word: &str| list.contains(&word.to_lowercase());
    bare(text).iter().any(|words| {
        let is_one = |near: &[String]| {
            is_in(&lists.sql_verbs, &near[0]) && near[1..].iter().any(|word| is_in(&lists.sql_objects, word))
        };
        (0..words.len()).any(|at| is_one(&words[at..(at + NEAR).min(words.len())]))
    })
}

fn sign_of(words: &[String]) -> Option<String> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    if let Some(verb) = verb_of(words) {
        return Some(verb);
    }
    if matches!(word(0), "EXPLAIN" | "DESC" | "DESCRIBE") {
        // Only with this word the statement is also run.
        let at = words.iter().position(|word| word == "ANALYZE" || word == "ANALYSE")?;
        return words[at..].iter().enumerate().skip(1).find_map(|(next, _)| verb_of(&words[at + next..]));
    }
    if word(0) == "MERGE" && has("DELETE") {
        return Some("MERGE … DELETE".to_owned());
    }
    // Graphs are matched first, and what was found is deleted.
    if matches!(word(0), "MATCH" | "OPTIONAL" | "UNWIND" | "CALL") && has("DELETE") {
        return Some("DELETE".to_owned());
    }
    // Within a block or a common table expression, and where statements need nothing between them.
    let kinds = ["TABLE", "DATABASE", "SCHEMA", "VIEW", "INDEX", "COLUMN", "USER", "ROLE"];
    let nested = words.windows(2).find(|pair| match pair[0].as_str() {
        "DROP" => kinds.contains(&pair[1].as_str()),
        "TRUNCATE" | "ALTER" => pair[1] == "TABLE",
        "DELETE" => pair[1] == "FROM",
        _ => false,
    });
    nested.map(|pair| pair[0].clone()).or_else(|| words.windows(2).find_map(destructive_call))
}

/// The first word of a statement, where it destroys.
fn verb_of(words: &[String]) -> Option<String> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    match word(0) {
        first @ ("DROP" | "TRUNCATE" | "DELETE" | "ALTER" | "PURGE") => Some(first.to_owned()),
        "UPDATE" if !words.iter().any(|word| word == "WHERE") => Some("UPDATE without WHERE".to_owned()),
        "CREATE" if word(1) == "OR" && word(3) == "TABLE" => Some("CREATE OR REPLACE TABLE".to_owned()),
        _ => None,
    }
}

/// `pg_terminate_backend(`: a function of several words of which one destroys.
fn destructive_call(pair: &[String]) -> Option<String> {
    let parts: Vec<String> = words(&pair[0]).map(str::to_lowercase).collect();
    let is_one = pair[1] == "(" && parts.len() > 1 && parts.iter().any(|part| names_destruction(part));
    is_one.then(|| pair[0].to_lowercase())
}

fn effect_of(words: &[String], text: &str) -> Option<Effect> {
    let lists = Lists::builtin();
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let is_free_of_verbs =
        |rest: &[String]| !rest.iter().any(|word| lists.sql_verbs.contains(&word.to_lowercase()));
    let is_plain = || !words.iter().any(|word| word == "(" || word == "=");
    let is_read = match word(0) {
        "SHOW" => {
            let rest = if word(1) == "CREATE" { &words[2..] } else { &words[1..] };
            return (is_plain() && is_free_of_verbs(rest)).then_some(Effect::Read);
        }
        "DESC" | "DESCRIBE" if is_plain() && is_free_of_verbs(words) => return Some(Effect::Read),
        "PRAGMA" => {
            let is_known = lists.sql_pragmas.contains(&word(1).to_lowercase());
            let is_told = words.iter().any(|word| word == "=" || word == ".");
            return (is_known && !is_told).then_some(Effect::Read);
        }
        // Some databases need nothing between statements, so a verb ends one wherever it stands.
        "INSERT" => word(1) == "INTO" && is_free_of_verbs(&words[2..]),
        _ => is_free_of_verbs(words),
    };
    let draws_number = words.windows(2).any(|pair| pair[0] == "NEXT" && pair[1] == "VALUE");
    if is_read && !draws_number { dialects::effect(text) } else { None }
}

/// A text cut into statements of words in upper case.
#[derive(Debug)]
struct Lexed {
    statements: Vec<Vec<String>>,
    /// Where each statement stands in the text.
    spans: Vec<Range<usize>>,
    /// Whether every database cuts it like that.
    is_certain: bool,
    /// Whether a string or a comment has what a server that cuts a text itself may take for its end.
    hides_ends: bool,
}

impl Lexed {
    fn of(text: &str) -> Self {
        let mut lexed =
            Self { statements: vec![Vec::new()], spans: Vec::new(), is_certain: true, hides_ends: false };
        let (mut rest, mut start) = (text, 0);
        while let Some(c) = rest.chars().next() {
            let at = text.len() - rest.len();
            if c == ';' {
                lexed.spans.push(start..at);
                start = at + 1;
            }
            rest = lexed.take(c, rest);
        }
        lexed.spans.push(start..text.len());
        lexed
    }

    /// Takes what is next in a text; returns what is left.
    fn take<'t>(&mut self, c: char, rest: &'t str) -> &'t str {
        let after = &rest[c.len_utf8()..];
        match c {
            '\'' | '"' | '`' => self.quoted(after, c),
            '-' if after.starts_with('-') => {
                let is_everywhere = after[1..].starts_with(|c: char| c.is_ascii_whitespace());
                let (inner, rest) = after[1..].split_once('\n').unwrap_or((&after[1..], ""));
                self.comment(inner, rest, is_everywhere)
            }
            '#' => self.comment("", after.split_once('\n').map_or("", |(_, rest)| rest), false),
            // What stands behind `/*!` is run by MySQL.
            '/' if after.starts_with("*!") => {
                self.comment("", after[2..].trim_start_matches(|c: char| c.is_ascii_digit()), false)
            }
            '/' if after.starts_with('*') => {
                let (inner, rest) = after[1..].split_once("*/").unwrap_or((after, ""));
                // Some databases count the comments within comments.
                // Some run comments that begin with a mark of theirs, such as `T!`.
                let is_run = inner.starts_with('+') || inner.chars().take(3).any(|c| c == '!');
                let is_everywhere = !inner.contains("/*") && !is_run && after.contains("*/");
                self.comment(inner, rest, is_everywhere)
            }
            '[' => {
                // Only what is closed was a name, and one that never is would be looked for again and again.
                let closed = if self.is_certain { after.split_once(']') } else { None };
                // Of several words it may be a statement.
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                // A name in some databases, and an element or a list in others.
                self.is_certain &= closed.is_some_and(|(name, _)| name.chars().all(is_word));
                self.words().push("?".to_owned());
                closed.map_or(after, |(_, rest)| rest)
            }
            // The place of a value, in some databases.
            '$' if after.starts_with(|c: char| c.is_ascii_digit()) => {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
                self.is_certain &= !rest.starts_with(|c: char| c == '$' || c == '_' || c.is_alphanumeric());
                self.words().push("?".to_owned());
                rest
            }
            '$' => {
                self.is_certain = false;
                skip_dollars(after, self.words())
            }
            ':' if after.starts_with('=') => {
                self.is_certain = false;
                after
            }
            '|' if after.starts_with('>') => {
                self.is_certain = false;
                after
            }
            ';' => {
                self.statements.push(Vec::new());
                after
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                self.words().push(rest[..end].to_uppercase());
                // Letters that only some databases take for others.
                self.is_certain &= rest[..end].chars().all(|c| c == '_' || super::folded::is_letter(c));
                // Oracle ends a string like `q'[…]'` elsewhere.
                self.is_certain &= !(rest[end..].starts_with('\'') && rest[..end].ends_with(['q', 'Q']));
                &rest[end..]
            }
            '(' | '.' | '=' => {
                self.words().push(c.to_string());
                after
            }
            c if c.is_ascii_whitespace() || c.is_ascii_digit() => after,
            ')' | ',' | '*' | '<' | '>' | '+' | '-' | '/' | '%' | ':' | '?' | '|' | '@' | '~' => {
                self.words().push(",".to_owned());
                after
            }
            '!' if after.starts_with('=') => after,
            _ => {
                self.is_certain = false;
                after
            }
        }
    }

    fn words(&mut self) -> &mut Vec<String> {
        self.statements.last_mut().expect("there is always one")
    }

    fn comment<'t>(&mut self, inner: &str, rest: &'t str, is_everywhere: bool) -> &'t str {
        self.hides_ends |= inner.contains([';', '\'', '"', '`']) || inner.contains("--");
        self.is_certain &= is_everywhere;
        rest
    }

    fn quoted<'t>(&mut self, rest: &'t str, quote: char) -> &'t str {
        // A name in quotes is a word of the statement all the same.
        self.words().push("?".to_owned());
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => {
                    self.is_certain = false;
                    chars.next();
                }
                ';' => self.hides_ends = true,
                c if c == quote => {
                    let is_doubled = chars.next_if(|(_, next)| *next == quote).is_some();
                    if !is_doubled {
                        return &rest[at + 1..];
                    }
                }
                // Not every database quotes names like this, so one that is more than a name is not certain.
                c if quote == '`' && !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')) => {
                    self.is_certain = false;
                }
                _ => {}
            }
        }
        self.is_certain = false;
        ""
    }
}

/// The words of a text between semicolons, as if nothing were quoted or commented out.
fn bare(text: &str) -> Vec<Vec<String>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = |part: &str| -> Vec<String> {
        let words =
            part.split(|c: char| !is_word(c)).filter(|word| word.starts_with(|c: char| !c.is_numeric()));
        words.map(str::to_uppercase).collect()
    };
    text.split(';').map(words).collect()
}

/// Skips a string such as `$$…$$`, except that the body of `DO` is run.
fn skip_dollars<'t>(after: &'t str, words: &[String]) -> &'t str {
    let Some(end) = after.find('$') else { return after };
    let tag = &after[..end];
    let is_tag = tag.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !tag.starts_with(|c: char| c.is_ascii_digit());
    let body = &after[end + 1..];
    if !is_tag || words.first().is_some_and(|first| first == "DO") {
        return if is_tag { body } else { after };
    }
    let closing = format!("${tag}$");
    body.find(&closing).map_or("", |at| &body[at + closing.len()..])
}
