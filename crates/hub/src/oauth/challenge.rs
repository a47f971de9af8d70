//! Reads the `WWW-Authenticate` header of a 401 or 403.
//!
//! The header comes from a stranger: what does not parse is skipped, nothing here fails, and every text
//! that leaves is bounded and free of control characters.

use std::collections::BTreeMap;

/// No real challenge comes near this; more is cut off.
const MOST_BYTES: usize = 16 * 1024;
const MOST_SCOPES: usize = 100;

/// What a server says about the authorization that it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Address of the protected-resource metadata.
    pub resource_metadata: Option<String>,
    /// Scopes needed for the request.
    pub scopes: Vec<String>,
    /// The error code, such as `invalid_token` or `insufficient_scope`.
    pub error: Option<String>,
}

impl Challenge {
    /// Finds the first `Bearer` challenge in a header. Several headers may be joined by commas.
    pub(super) fn parse(header: &str) -> Self {
        let mut end = header.len().min(MOST_BYTES);
        while !header.is_char_boundary(end) {
            end -= 1;
        }
        let mut found = bearer(&header[..end]);
        Self {
            resource_metadata: found.remove("resource_metadata").filter(|text| is_plain(text)),
            scopes: found.remove("scope").map(|text| scopes(&text)).unwrap_or_default(),
            error: found.remove("error").filter(|text| is_plain(text)),
        }
    }

    /// Tells whether the token is good but allows too little.
    pub(super) fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// Splits a scope list; what no scope may contain is left out.
pub(super) fn scopes(text: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for scope in text.split_ascii_whitespace() {
        let allowed = scope.bytes().all(|b| matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
        if allowed && seen.len() < MOST_SCOPES && !seen.iter().any(|known| known == scope) {
            seen.push(scope.to_owned());
        }
    }
    seen
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, 0x21..=0x7e))
}

/// The parameters of the first `Bearer` challenge.
///
/// A comma ends a parameter as well as a challenge, so a word counts as a new scheme when no `=` follows.
fn bearer(header: &str) -> BTreeMap<String, String> {
    let mut rest = header;
    let mut scheme = String::new();
    let mut found = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = token(rest);
        if word.is_empty() {
            match skip_one(rest) {
                Some(next) => rest = next,
                None => return found,
            }
            continue;
        }
        let value_at = after.trim_start_matches([' ', '\t']).strip_prefix('=');
        match value_at {
            Some(value) => {
                let (value, after) = parameter(value.trim_start_matches([' ', '\t']));
                if scheme == "bearer" {
                    found.entry(word.to_ascii_lowercase()).or_insert(value);
                }
                rest = after;
            }
            None if scheme == "bearer" => return found,
            None => {
                scheme = word.to_ascii_lowercase();
                rest = after;
            }
        }
    }
}

/// Steps over one character that fits nowhere, a whole quoted text at once.
fn skip_one(rest: &str) -> Option<&str> {
    if rest.starts_with('"') {
        return Some(parameter(rest).1);
    }
    let mut chars = rest.chars();
    chars.next().map(|_| chars.as_str())
}

fn token(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)));
    text.split_at(end.unwrap_or(text.len()))
}

/// A quoted text with its escapes resolved, or everything up to the next comma or blank.
fn parameter(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return (value, chars.as_str()),
            '\\' => value.extend(chars.next()),
            _ => value.push(c),
        }
    }
    // Without a closing quote the header was cut off, and so was the value.
    (String::new(), "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Challenge;

    #[test]
    fn reads_what_a_bearer_challenge_says() {
        insta::assert_debug_snapshot!(
            [
                r#"Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource", scope="files:read files:write""#,
                r#"Basic realm="x, Bearer scope=\"no\"", bearer error=insufficient_scope , Scope = "b a b""#,
                r#"Negotiate abc==, Bearer error="invalid_token", Digest scope="other""#,
                "Bearer",
                r#"Bearer scope="cut off"#,
                "",
            ]
            .map(Challenge::parse),
            @r#"
            [
                Challenge {
                    resource_metadata: Some(
                        "https://a.example/.well-known/oauth-protected-resource",
                    ),
                    scopes: [
                        "files:read",
                        "files:write",
                    ],
                    error: None,
                },
                Challenge {
                    resource_metadata: None,
                    scopes: [
                        "b",
                        "a",
                    ],
                    error: Some(
                        "insufficient_scope",
                    ),
                },
                Challenge {
                    resource_metadata: None,
                    scopes: [],
                    error: Some(
                        "invalid_token",
                    ),
                },
                Challenge {
                    resource_metadata: None,
                    scopes: [],
                    error: None,
                },
                Challenge {
                    resource_metadata: None,
                    scopes: [],
                    error: None,
                },
                Challenge {
                    resource_metadata: None,
                    scopes: [],
                    error: None,
                },
            ]
            "#
        );
    }

    #[test]
    fn leaves_out_what_could_trick_a_terminal_or_a_log() {
        let told = Challenge::parse("Bearer scope=\"ok \u{1b}[31m a\\\"b\", error=\"line\u{7}\"");
        assert_eq!(told, Challenge { scopes: vec!["ok".to_owned()], ..Challenge::default() });
    }

    proptest! {
        #[test]
        fn no_header_is_a_panic(header in any::<String>(), pieces in prop::collection::vec(
            prop::sample::select(vec!["Bearer", " ", ",", "=", "\"", "\\", "scope", "é", "error", "\t"]), 0..40)) {
            for text in [header.clone(), pieces.concat(), format!("Bearer scope={header}"), format!("Bearer scope=\"{header}\"")] {
                let told = Challenge::parse(&text);
                prop_assert!(told.scopes.iter().all(|scope| scope.bytes().all(|b| b.is_ascii_graphic())));
            }
        }

        #[test]
        fn a_quoted_value_comes_back_as_it_was(value in "[!-~]{1,40}", other in "[ -~]{0,20}") {
            let quote = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
            let header = format!("Basic realm={}, Bearer realm={}, error={}", quote(&other), quote(&other), quote(&value));
            prop_assert_eq!(Challenge::parse(&header).error, Some(value));
        }
    }
}
