//! Program text: which functions that destroy does it call?

use super::lists::Lists;
use crate::tool::names_destruction;
use crate::tool::words::words;

/// Returns the first call of something that destroys. Of GraphQL only mutations count.
pub(super) fn sign(text: &str) -> Option<String> {
    let is_mutation = text
        .trim_start()
        .strip_prefix("mutation")
        .is_some_and(|rest| rest.starts_with([' ', '{', '(', '\n', '\t']));
    calls(text).find(|call| if is_mutation { is_named_so(call) } else { destroys(call) }).map(str::to_owned)
}

/// The dotted names in a text that stand before a parenthesis or, in GraphQL, a brace.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
    text.match_indices(['(', '{']).filter_map(move |(at, _)| {
        let before = text[..at].trim_end();
        let start = before.char_indices().rev().take_while(|(_, c)| is_name(*c)).last()?.0;
        let name = before[start..].trim_matches('.');
        (!name.is_empty() && name.len() <= 80).then_some(name)
    })
}

fn is_named_so(call: &str) -> bool {
    words(call).next().is_some_and(|word| names_destruction(&word.to_lowercase()))
}

fn destroys(call: &str) -> bool {
    let lists = Lists::builtin();
    let call = call.to_lowercase();
    let (owner, function) = call.rsplit_once('.').unwrap_or(("", &call));
    let owner = owner.rsplit('.').next().unwrap_or_default();
    let is_file_call = lists.file_calls.contains(function);
    lists.code_calls.contains(function) || (is_file_call && lists.code_owners.contains(owner))
        // The strongest word needs no owner, but as a method of anything it is everyday: `map.delete(key)`.
        || (owner.is_empty() && function.starts_with("delete") && function.len() > "delete".len())
}
