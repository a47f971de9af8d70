//! Questions to graphs: GraphQL documents and Cypher statements that only read.
//!
//! Both have few words that write, and these cannot be written in another way. A text that has one of them anywhere,
//! even in a string, is not understood.

use super::folded::is_letter;
use super::lists::Lists;

/// Whether a document of GraphQL only asks.
pub(super) fn graphql_reads(text: &str) -> bool {
    let text = text.trim();
    let begins = text.starts_with('{') || words(text).next() == Some("query") && text.contains('{');
    begins && !is_mutation(text) && is_text(text)
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
        let name = &before[before.trim_end_matches(is_name).len()..];
        name.contains('.')
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn is_text(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_graphic() || matches!(c, ' ' | '\n' | '\t' | '\r') || is_letter(c))
}
