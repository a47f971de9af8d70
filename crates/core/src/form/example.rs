//! The values that a description gives as examples.

use crate::tool::vocabulary::vocabulary;

/// Examples of a description that are compared.
const MAX_EXAMPLES: usize = 12;

/// Values that a description gives in quotation marks, or behind `e.g.` or `such as`.
pub(super) fn examples(description: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for mark in ['\'', '"', '`'] {
        for (at, piece) in description.split(mark).enumerate().take(40) {
            let is_value =
                at % 2 == 1 && !piece.is_empty() && piece.len() <= 40 && !piece.contains([',', ';']);
            if is_value && found.len() < MAX_EXAMPLES {
                found.push(piece.to_owned());
            }
        }
    }
    if let Some(inner) =
        description.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(inner, _)| inner)
    {
        let items: Vec<&str> = parted(inner).map(str::trim).collect();
        let is_word = |it: &&str| !it.is_empty() && it.len() <= 24 && !it.contains(' ');
        if items.len() > 1 && items.iter().all(is_word) {
            found.extend(items.into_iter().take(MAX_EXAMPLES).map(str::to_owned));
        }
    }
    for lead in &vocabulary().descriptions.examples {
        let Some((_, rest)) = description.split_once(lead.as_str()) else { continue };
        let end = rest.find([')', '.', ';', '\n']).unwrap_or(rest.len());
        let pieces = parted(&rest[..end]);
        for piece in pieces.flat_map(|it| it.split(" or ")).flat_map(|it| it.split(" and ")) {
            let piece =
                piece.trim().trim_matches(|c: char| "'\"`:,".contains(c)).trim_start_matches("or ").trim();
            if !piece.is_empty()
                && piece.len() <= 30
                && found.len() < MAX_EXAMPLES
                && !found.iter().any(|it| it == piece)
            {
                found.push(piece.to_owned());
            }
        }
        break;
    }
    found
}

/// Parts a list. What stands in quotation marks is whole, so a slash parts only what has none.
fn parted(list: &str) -> impl Iterator<Item = &str> {
    let is_quoted = list.contains(['\'', '"', '`']);
    list.split(move |c: char| matches!(c, ',' | '|') || c == '/' && !is_quoted)
}
