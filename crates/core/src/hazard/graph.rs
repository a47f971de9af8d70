//! Questions to graphs: GraphQL documents and Cypher statements that only read.
//!
//! Both have few words that write, and these cannot be written in another way. A text that has one of them anywhere,
//! even in a string, is not understood.

use super::folded::is_letter;
use super::lists::Lists;

/// Whether a document of GraphQL only asks.
pub(super) fn graphql_reads(text: &str) -> bool {
    is_document(text) && !is_mutation(text) && is_text(text)
}

/// Whether a text is whole operations and fragments of GraphQL, and nothing besides.
fn is_document(text: &str) -> bool {
    let (mut open, mut blocks, mut head, mut rest) = (Vec::new(), 0, String::new(), text);
    while let Some(c) = rest.chars().next() {
        let mut after = &rest[c.len_utf8()..];
        match c {
            '"' => match behind_string(rest) {
                Some(behind) => after = behind,
                None => return false,
            },
            '#' => after = after.find('\n').map_or("", |end| &after[end..]),
            '{' | '(' | '[' => {
                if c == '{' && open.is_empty() {
                    if !matches!(words(&head).next(), None | Some("query" | "fragment")) {
                        return false;
                    }
                    head.clear();
                    blocks += 1;
                }
                open.push(if c == '{' {
                    '}'
                } else if c == '(' {
                    ')'
                } else {
                    ']'
                });
            }
            '}' | ')' | ']' if open.pop() == Some(c) => {}
            '!' | '$' | '&' | '.' | ':' | '=' | '@' | '|' | ',' | '-' | '+' | '_' => {}
            c if c.is_ascii_alphanumeric() || c.is_ascii_whitespace() => {}
            _ => return false,
        }
        if open.is_empty() && c != '}' && c != '#' {
            head.push(c);
        }
        rest = after;
    }
    blocks > 0 && open.is_empty() && head.trim().is_empty()
}

/// Returns what stands behind the string that a text begins with.
fn behind_string(text: &str) -> Option<&str> {
    if let Some(block) = text.strip_prefix("\"\"\"") {
        return block.split_once("\"\"\"").map(|(_, behind)| behind);
    }
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = !is_escaped && matches!(c, '"' | '\n');
        is_escaped = !is_escaped && *c == '\\';
        is_end
    });
    let (at, _) = end.filter(|(_, c)| *c == '"')?;
    text.get(at + 1..)
}

/// Whether a document of GraphQL may have an operation that does more than ask.
pub(super) fn is_mutation(text: &str) -> bool {
    text.contains('{')
        && words(&text.to_lowercase()).any(|word| Lists::builtin().graph_operations.contains(word))
}

/// Whether a statement of Cypher only matches and returns.
pub(super) fn cypher_reads(text: &str) -> bool {
    let (lists, lower) = (Lists::builtin(), text.to_lowercase());
    let begins = words(&lower).next().is_some_and(|word| lists.graph_beginnings.contains(word));
    // Escapes are read before anything else, and functions of a namespace are anybody's.
    let is_plain =
        is_text(text) && !text.contains(['\\', ';', '`']) && !text.contains("//") && !text.contains("/*");
    begins
        && is_plain
        && !words(&lower).any(|word| lists.graph_clauses.contains(word))
        && !calls_a_namespace(&lower)
}

fn calls_a_namespace(text: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    text.match_indices('(').any(|(at, _)| {
        let before = text[..at].trim_end();
        let rest = before.trim_end_matches(is_name);
        // Spaces may stand around the dots of a name.
        before[rest.len()..].contains('.') || rest.trim_end().ends_with('.')
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn is_text(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_graphic() || matches!(c, ' ' | '\n' | '\t' | '\r') || is_letter(c))
}
