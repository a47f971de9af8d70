//! Statements for a database: do they read, write, or destroy?

use crate::tool::Effect;

/// Judges a text; `None` when it does not begin as SQL does.
pub(super) fn judge(text: &str) -> Option<(Effect, String)> {
    // In some dialects a backslash escapes a quote and in others not, so both must be harmless.
    let readings = [Backslash::Escapes, Backslash::Plain].map(|backslash| judge_as(text, backslash));
    let [first, second] = readings;
    let first = first?;
    match second {
        Some(second) if second.0 == Effect::Destroy => Some(second),
        _ => Some(first),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Backslash {
    Escapes,
    Plain,
}

fn judge_as(text: &str, backslash: Backslash) -> Option<(Effect, String)> {
    let statements = statements(text, backslash);
    let judged: Option<Vec<(Effect, String)>> =
        statements.iter().filter(|it| !it.is_empty()).map(|it| statement(it)).collect();
    let mut judged = judged?;
    // A later statement counts as much as the first.
    judged.sort_by_key(|(effect, _)| std::cmp::Reverse(super::rank(*effect)));
    judged.into_iter().next()
}

fn statement(words: &[String]) -> Option<(Effect, String)> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let pair = |a: &str, b: &str| words.windows(2).any(|pair| pair[0] == a && pair[1] == b);
    let destroys = |what: &str| Some((Effect::Destroy, what.to_owned()));
    let plain = |effect| Some((effect, word(0).to_owned()));
    match word(0) {
        first @ ("DROP" | "TRUNCATE" | "DELETE" | "ALTER" | "PURGE") => destroys(first),
        "UPDATE" if !has("WHERE") => destroys("UPDATE without WHERE"),
        "MERGE" if has("DELETE") => destroys("MERGE … DELETE"),
        "CREATE" if word(1) == "OR" && word(3) == "TABLE" => destroys("CREATE OR REPLACE TABLE"),
        "EXPLAIN" if word(1) == "ANALYZE" => statement(&words[2..]),
        "BEGIN" | "IF" | "DECLARE" | "DO" | "WITH" | "LOOP" | "THEN" | "ELSE" | "TRANSACTION" => {
            let danger = [
                ("DROP", "TABLE"),
                ("DROP", "DATABASE"),
                ("DROP", "SCHEMA"),
                ("TRUNCATE", "TABLE"),
                ("DELETE", "FROM"),
                ("ALTER", "TABLE"),
            ];
            if let Some((first, _)) = danger.into_iter().find(|(a, b)| pair(a, b)) {
                return destroys(first);
            }
            let writes =
                ["INSERT", "UPDATE", "MERGE", "CREATE", "CALL", "EXEC", "EXECUTE", "PERFORM", "INTO"];
            plain(if writes.into_iter().any(has) { Effect::Write } else { Effect::Read })
        }
        "SELECT" | "VALUES" | "TABLE" => plain(if has("INTO") { Effect::Write } else { Effect::Read }),
        "PRAGMA" => plain(if has("=") { Effect::Write } else { Effect::Read }),
        "SHOW" | "DESCRIBE" | "DESC" | "EXPLAIN" | "USE" | "COMMIT" | "ROLLBACK" | "END" | "LIST" => {
            plain(Effect::Read)
        }
        "UPDATE" | "INSERT" | "MERGE" | "CREATE" | "REPLACE" | "GRANT" | "REVOKE" | "SET" | "CALL"
        | "EXEC" | "EXECUTE" | "COPY" | "LOAD" | "ATTACH" | "DETACH" | "VACUUM" | "ANALYZE" | "COMMENT"
        | "REFRESH" | "LOCK" | "RENAME" | "UPSERT" | "START" | "SAVEPOINT" | "REINDEX" => {
            plain(Effect::Write)
        }
        _ => None,
    }
}

/// Cuts a text into statements of words in upper case, without comments, strings and quoted names.
fn statements(text: &str, backslash: Backslash) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let words = all.last_mut().expect("there is always one");
        rest = match c {
            '\'' | '"' | '`' => {
                // A name in quotes is a word of the statement all the same.
                words.push("?".to_owned());
                skip_quoted(after, c, backslash)
            }
            '[' => after.split_once(']').map_or("", |(_, rest)| rest),
            '-' if after.starts_with('-') => after.split_once('\n').map_or("", |(_, rest)| rest),
            '#' => after.split_once('\n').map_or("", |(_, rest)| rest),
            // What stands behind `/*!` is run by MySQL.
            '/' if after.starts_with("*!") => after[2..].trim_start_matches(|c: char| c.is_ascii_digit()),
            '/' if after.starts_with('*') => after.split_once("*/").map_or("", |(_, rest)| rest),
            '$' => skip_dollars(after, words),
            ';' => {
                all.push(Vec::new());
                after
            }
            '=' => {
                words.push("=".to_owned());
                after
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                words.push(rest[..end].to_uppercase());
                &rest[end..]
            }
            _ => after,
        };
    }
    all
}

fn skip_quoted(rest: &str, quote: char, backslash: Backslash) -> &str {
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && backslash == Backslash::Escapes {
            chars.next();
        } else if c == quote {
            let after = &rest[at + 1..];
            if !after.starts_with(quote) {
                return after;
            }
            chars.next();
        }
    }
    ""
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
