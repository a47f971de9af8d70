//! Texts that must not be shown, hidden in what others say.
//!
//! A server knows what it was given and may repeat it, in its log or in an error that a model or a person reads.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::RwLock;
use serde_json::Value;
use serde_json::value::RawValue;
use url::Url;

use crate::jsonrpc::ErrorObject;

/// Short values are words such as `true` or a port; hiding them would hide everything.
const SHORTEST: usize = 6;
/// Tokens are renewed again and again; so many of the last ones are hidden.
const LAST_TOKENS: usize = 8;
/// What stands in the place of one.
const HIDDEN: &str = "***";

/// What one server was given. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<RwLock<Given>>);

#[derive(Default)]
struct Given {
    /// The longest first: one may begin with another, whose rest would show.
    fixed: Vec<String>,
    tokens: VecDeque<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Takes values as they are; each line of one counts for itself.
    pub(crate) fn of(values: impl IntoIterator<Item = String>) -> Self {
        let secrets = Self::default();
        for value in values {
            secrets.add(&value);
        }
        secrets
    }

    /// Takes a value in.
    pub(crate) fn add(&self, value: &str) {
        let fixed = &mut self.0.write().fixed;
        for line in value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST) {
            if !fixed.iter().any(|known| known == line) {
                fixed.push(line.to_owned());
            }
        }
        fixed.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    /// Takes a token in that will be replaced by others.
    pub(crate) fn add_token(&self, token: &str) {
        if self.0.read().tokens.iter().any(|known| known == token) {
            return;
        }
        let tokens = &mut self.0.write().tokens;
        tokens.push_front(token.to_owned());
        tokens.truncate(LAST_TOKENS);
    }

    /// Takes the value of an HTTP header in: as it is, without its scheme, and with what it is made of.
    pub(crate) fn add_header(&self, value: &str) {
        self.add(value);
        let Some((scheme, credentials)) = value.trim().split_once(' ') else { return };
        self.add(credentials);
        if scheme.eq_ignore_ascii_case("basic")
            && let Ok(plain) = STANDARD.decode(credentials.trim())
            && let Ok(plain) = String::from_utf8(plain)
        {
            self.add(&plain);
            if let Some((_, password)) = plain.split_once(':') {
                self.add(password);
            }
        }
    }

    /// Takes in what an address may hold: a password, and the values of its query.
    pub(crate) fn add_url(&self, url: &Url) {
        self.add(url.password().unwrap_or_default());
        self.add(url.query().unwrap_or_default());
        for (_, value) in url.query_pairs() {
            self.add(&value);
        }
    }

    /// Hides them in a text.
    pub(crate) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = Cow::Borrowed(text);
        let given = self.0.read();
        for secret in given.tokens.iter().chain(&given.fixed) {
            if shown.contains(secret.as_str()) {
                shown = Cow::Owned(shown.replace(secret.as_str(), HIDDEN));
            }
        }
        shown
    }

    /// Hides them in an error; what has none of them keeps its bytes.
    pub(crate) fn hide_in(&self, mut error: ErrorObject) -> ErrorObject {
        if let Cow::Owned(hidden) = self.hide(&error.message) {
            error.message = hidden;
        }
        // However a text is escaped, it is compared as it is read.
        if let Some(data) = &error.data
            && let Ok(mut value) = serde_json::from_str::<Value>(data.get())
            && self.hide_within(&mut value)
        {
            error.data = RawValue::from_string(value.to_string()).ok();
        }
        error
    }

    fn hide_within(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => match self.hide(text) {
                Cow::Owned(hidden) => {
                    *text = hidden;
                    true
                }
                Cow::Borrowed(_) => false,
            },
            Value::Array(values) => values.iter_mut().fold(false, |any, value| self.hide_within(value) | any),
            Value::Object(members) => {
                let is_key = |key: &String| matches!(self.hide(key), Cow::Owned(_));
                let mut any = false;
                if members.keys().any(is_key) {
                    let taken = std::mem::take(members);
                    members
                        .extend(taken.into_iter().map(|(key, value)| (self.hide(&key).into_owned(), value)));
                    any = true;
                }
                members.values_mut().fold(any, |any, value| self.hide_within(value) | any)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t27_credentials_are_hidden_whole_and_in_parts_and_the_longer_ones_first() {
        let secrets = Secrets::of(["sk-live-abc".to_owned(), "sk-live-abcdef".to_owned(), "on".to_owned()]);
        secrets.add_header("Bearer tok-123456");
        secrets.add_header("Basic YWRhOmh1bnRlcjI="); // ada:hunter2
        secrets.add_url(&Url::parse("https://me:passphrase@a.example/x?key=query-key&n=1").unwrap());
        let said = "sk-live-abcdef sk-live-abc turn it on; tok-123456, YWRhOmh1bnRlcjI=, hunter2, query-key, passphrase";
        assert_eq!(secrets.hide(said), "*** *** turn it on; ***, ***, ***, ***, ***");
        assert!(matches!(secrets.hide("nothing to hide"), Cow::Borrowed(_)));
        assert!(!format!("{secrets:?}").contains("sk-"));
    }

    #[test]
    fn t27_an_error_loses_them_however_it_writes_them_and_keeps_the_rest_to_the_byte() {
        let secrets = Secrets::of(["s3cr\"et-value".to_owned()]);
        let error = |message: &str, data: &str| ErrorObject {
            code: 1,
            message: message.to_owned(),
            data: RawValue::from_string(data.to_owned()).ok(),
        };
        let hidden = secrets.hide_in(error(
            r#"bad s3cr"et-value"#,
            r#"{"s3cr\"et-value": 1, "list": ["x \u00733cr\u0022et-value y", 5]}"#,
        ));
        assert_eq!(hidden.message, "bad ***");
        assert_eq!(hidden.data.unwrap().get(), r#"{"***":1,"list":["x *** y",5]}"#);
        let whole = r#"{ "big": 123456789012345678901234567890, "a":1 }"#;
        assert_eq!(secrets.hide_in(error("fine", whole)).data.unwrap().get(), whole);
    }
}
