//! The name a tool goes by across all servers.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Names a tool across all servers, written `server__tool`, at most [`ToolId::MAX_CHARS`] characters.
///
/// Only `A-Z`, `a-z`, `0-9`, `_` and `-` occur, because clients and model providers reject the rest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId(Arc<str>);

/// Why a text cannot be the name of a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a tool; expected `server__tool`")]
pub struct BadToolId(String);

impl ToolId {
    /// Clients reject longer names; some of them count their own prefix on top.
    pub const MAX_CHARS: usize = 60;

    /// Leaves the tool at least 17 characters beside the longest server and a digest.
    const SERVER_CHARS: usize = 32;

    /// Names `tool` of `server`; the same two names always give the same id.
    ///
    /// Names that clients accept are used as they are. Others are rewritten, and end in a digest of
    /// both names so that no two tools meet. A half must not contain NUL, which parts the two in the digest.
    ///
    /// ```
    /// use toolyard_core::tool::ToolId;
    ///
    /// assert_eq!(ToolId::new("github", "create_issue").as_str(), "github__create_issue");
    /// assert_eq!(ToolId::new("my files", "read").as_str(), "my_files__read_18549480");
    /// ```
    pub fn new(server: &str, tool: &str) -> Self {
        let prefix = Self::server_prefix(server);
        let fits = prefix.len() + 2 + tool.len() <= Self::MAX_CHARS;
        if prefix == server && is_plain_tool(tool) && fits {
            return Self(format!("{prefix}__{tool}").into());
        }
        let digest = digest(server, tool);
        let room = Self::MAX_CHARS - prefix.len() - 2 - 1 - digest.len();
        let half = rewrite(tool, room, "tool");
        Self(format!("{prefix}__{half}_{digest}").into())
    }

    /// Returns the part before `__` in the ids of a server's tools.
    ///
    /// Names that differ only in characters that ids cannot have share it, so it does not tell who owns a tool.
    pub fn server_prefix(server: &str) -> Cow<'_, str> {
        if is_plain_server(server) {
            Cow::Borrowed(server)
        } else {
            Cow::Owned(rewrite(server, Self::SERVER_CHARS, "server"))
        }
    }

    /// Returns the name as clients see it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for ToolId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Lets a map with ids as keys be asked with what a client sent.
impl Borrow<str> for ToolId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for ToolId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Takes back what [`ToolId`] wrote; whether there is such a tool is for the catalog to say.
impl FromStr for ToolId {
    type Err = BadToolId;

    fn from_str(text: &str) -> Result<Self, BadToolId> {
        let halves = text.split_once("__").filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
        let is_id = halves.is_some() && text.len() <= Self::MAX_CHARS && text.chars().all(is_id_char);
        if is_id { Ok(Self(text.into())) } else { Err(BadToolId(text.to_owned())) }
    }
}

impl<'de> Deserialize<'de> for ToolId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

fn is_id_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The first `__` of an id must be the one between its halves.
fn is_plain_server(server: &str) -> bool {
    !server.is_empty()
        && server.len() <= ToolId::SERVER_CHARS
        && server.chars().all(is_id_char)
        && !server.contains("__")
        && !server.ends_with('_')
}

/// A name that ends as if it had a digest gets a real one: otherwise a server could take
/// the id of another server's rewritten tool on purpose.
fn is_plain_tool(tool: &str) -> bool {
    let ends_like_a_digest = tool.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == 8 && end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    });
    !tool.is_empty() && tool.chars().all(is_id_char) && !tool.starts_with('_') && !ends_like_a_digest
}

/// Keeps the readable start of `name`; a name without any becomes `nameless`.
fn rewrite(name: &str, room: usize, nameless: &str) -> String {
    let mut out = String::with_capacity(room);
    for c in name.chars().map(|c| if is_id_char(c) { c } else { '_' }) {
        if out.len() == room {
            break;
        }
        if c != '_' || !(out.is_empty() || out.ends_with('_')) {
            out.push(c);
        }
    }
    out.truncate(out.trim_end_matches('_').len());
    if out.is_empty() { nameless.to_owned() } else { out }
}

fn digest(server: &str, tool: &str) -> String {
    let hash = Sha256::new().chain_update(server).chain_update([0]).chain_update(tool).finalize();
    hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn r18_ids_keep_good_names_and_rewrite_the_others() {
        let long = "a_name_that_goes_on_and_on_until_no_client_would_take_it_any_more";
        let ids = [
            ("github", "create_issue"),
            ("brave-search", "brave_web_search"),
            ("fs", "a__b"),
            ("a", "b_c"),
            ("a_b", "c"),
            ("a__b", "c"),
            ("a_", "b"),
            ("a", "_b"),
            ("fs", "export_20240101"),
            ("My Files", "read"),
            ("fs", "files/read.text"),
            ("fs", "検索"),
            ("日本", "検索"),
            ("", ""),
            ("fs", long),
            (long, "read"),
            (long, long),
        ]
        .map(|(server, tool)| ToolId::new(server, tool).to_string())
        .join("\n");
        insta::assert_snapshot!(ids, @r"
        github__create_issue
        brave-search__brave_web_search
        fs__a__b
        a__b_c
        a_b__c
        a_b__c_a92700ce
        a__b_a00766a3
        a__b_ee647d3b
        fs__export_20240101_77c7b283
        My_Files__read_4e4dfd09
        fs__files_read_text_11977b1e
        fs__tool_f6aeb557
        server__tool_73b2f554
        server__tool_6e340b9c
        fs__a_name_that_goes_on_and_on_until_no_client_woul_e7847bf4
        a_name_that_goes_on_and_on_until__read_62ce44de
        a_name_that_goes_on_and_on_until__a_name_that_goes_5d03d154
        ");
    }

    #[test]
    fn r18_a_made_up_digest_does_not_reach_another_servers_tool() {
        let victim = ToolId::new("a b", "x");
        let (_, tool) = victim.as_str().split_once("__").unwrap();
        assert_ne!(ToolId::new("a_b", tool), victim);
    }

    #[test]
    fn a_map_of_ids_answers_to_text() {
        let map = HashMap::from([(ToolId::new("fs", "read"), 1)]);
        assert_eq!(map.get("fs__read"), Some(&1));
        assert_eq!(serde_json::to_string(&ToolId::new("fs", "read")).unwrap(), r#""fs__read""#);
    }

    /// Names from an alphabet small enough that rewritten halves often look alike.
    fn name() -> impl Strategy<Value = String> {
        prop_oneof!["[ab_]{0,5}", "[ab_. é-]{0,8}", "[a-z_]{20,70}", "[^\\x{0}]{0,12}"]
    }

    proptest! {
        #[test]
        fn r18_an_id_is_short_plain_and_always_the_same(server in name(), tool in name()) {
            let id = ToolId::new(&server, &tool);
            prop_assert!(id.as_str().len() <= ToolId::MAX_CHARS);
            prop_assert!(id.as_str().chars().all(is_id_char));
            prop_assert_eq!(&id, &ToolId::new(&server, &tool));
            let (prefix, _) = id.as_str().split_once("__").unwrap();
            prop_assert_eq!(prefix, ToolId::server_prefix(&server));
        }

        #[test]
        fn r18_different_tools_never_meet(one in (name(), name()), other in (name(), name())) {
            prop_assume!(one != other);
            prop_assert_ne!(ToolId::new(&one.0, &one.1), ToolId::new(&other.0, &other.1));
        }
    }
}
