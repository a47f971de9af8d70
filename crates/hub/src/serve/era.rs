//! Which era a request belongs to, and what each era expects of a result.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;

use crate::caller::{Client, Era};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::upstream::SESSION_VERSIONS;
use crate::upstream::link::{MODERN_VERSION, own_info};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Returns the era that a request's own words put it in.
pub(crate) fn of(method: &str, params: &Fields) -> Era {
    if method == "server/discover" || params.object("_meta").get(VERSION).is_some() {
        Era::Modern
    } else {
        Era::Session
    }
}

/// Returns the version that a modern request names.
pub(crate) fn version(params: &Fields) -> Option<String> {
    params.object("_meta").text(VERSION)
}

/// Reads who sends a modern request, or says what it lacks.
pub(crate) fn modern_client(params: &Fields, principal: &str) -> Result<Client, ErrorObject> {
    let meta = params.object("_meta");
    let missing = |key: &str| ErrorObject::invalid_params(format!("`_meta` needs `{key}` on every request"));
    let version = meta.text(VERSION).ok_or_else(|| missing(VERSION))?;
    if version != MODERN_VERSION {
        return Err(unsupported(&version));
    }
    let capabilities: Fields = meta.read(CAPABILITIES).ok_or_else(|| missing(CAPABILITIES))?;
    Ok(Client {
        info: meta.get(INFO).map(ToOwned::to_owned),
        capabilities,
        principal: principal.into(),
        log_level: meta.read(LOG_LEVEL),
    })
}

/// Says which versions are served.
pub(crate) fn unsupported(requested: &str) -> ErrorObject {
    let supported: Vec<&str> = [MODERN_VERSION].into_iter().chain(SESSION_VERSIONS).collect();
    ErrorObject {
        data: Some(raw(&json!({ "supported": supported, "requested": requested }))),
        ..ErrorObject::new(ErrorObject::UNSUPPORTED_VERSION, "Unsupported protocol version")
    }
}

/// Chooses the version for a session: the client's, or our newest when we do not speak it.
pub(crate) fn negotiated(requested: Option<&str>) -> &'static str {
    let same = SESSION_VERSIONS.iter().find(|version| Some(**version) == requested);
    same.copied().unwrap_or(SESSION_VERSIONS[0])
}

/// Puts a session's log level where modern servers look for it.
pub(crate) fn with_log_level(params: &mut Fields, client: &Client) {
    if let Some(level) = client.log_level {
        let mut meta = params.object("_meta");
        meta.set(LOG_LEVEL, raw(&level));
        params.set("_meta", raw(&meta));
    }
}

/// How long clients may keep our lists, in milliseconds. Changes are announced besides.
const LIST_TTL: u32 = 10_000;

/// Gives a result what the modern era asks of it; what is there already stays.
pub(crate) fn finished(era: Era, method: &str, result: Box<RawValue>) -> Box<RawValue> {
    if era == Era::Session {
        return result;
    }
    let Ok(mut fields) = Fields::parse(Some(&result)) else { return result };
    let had_type = fields.get("resultType").is_some();
    if !had_type {
        fields.set("resultType", raw(&"complete"));
    }
    let is_list = matches!(
        method,
        "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "skills/list"
            | "server/discover"
    );
    if is_list || matches!(method, "resources/read" | "skills/get") {
        if fields.get("ttlMs").is_none() {
            fields.set("ttlMs", raw(&if is_list { LIST_TTL } else { 0 }));
        }
        if fields.get("cacheScope").is_none() {
            fields.set("cacheScope", raw(&"private"));
        }
    }
    if !had_type {
        let mut meta = fields.object("_meta");
        if meta.get("io.modelcontextprotocol/serverInfo").is_none() {
            meta.set("io.modelcontextprotocol/serverInfo", own_info());
            fields.set("_meta", raw(&meta));
        }
    }
    raw(&fields)
}

/// The session era's code for a resource that is not there; the modern era must not use it.
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;

/// Puts an error into the words of the client's era.
pub(crate) fn translated(era: Era, error: ErrorObject) -> ErrorObject {
    match (era, error.code) {
        (Era::Modern, RESOURCE_NOT_FOUND) => ErrorObject { code: ErrorObject::INVALID_PARAMS, ..error },
        _ => error,
    }
}

/// What is known of a client program by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownClient {
    /// Part of the name in its `clientInfo`, in lower case.
    pub name: &'static str,
    /// More tools than this it cuts off or refuses.
    pub max_tools: usize,
    /// Whether it lists tools again when told that they changed, soon enough for the call that comes next.
    pub heeds_list_changed: bool,
}

/// The programs that were looked at. The limits are theirs, less what other servers may need.
const KNOWN: [KnownClient; 8] = [
    KnownClient { name: "cursor", max_tools: 40, heeds_list_changed: true },
    KnownClient { name: "visual studio code", max_tools: 100, heeds_list_changed: true },
    KnownClient { name: "vscode", max_tools: 100, heeds_list_changed: true },
    KnownClient { name: "claude-code", max_tools: 60, heeds_list_changed: false },
    KnownClient { name: "claude", max_tools: 60, heeds_list_changed: false },
    KnownClient { name: "lm-studio", max_tools: 20, heeds_list_changed: false },
    KnownClient { name: "lmstudio", max_tools: 20, heeds_list_changed: false },
    KnownClient { name: "windsurf", max_tools: 60, heeds_list_changed: true },
];

/// Looks a client up by its `clientInfo`.
pub fn known_client(info: Option<&RawValue>) -> Option<KnownClient> {
    let name = Fields::parse(info).ok()?.text("name")?.to_lowercase();
    KNOWN.into_iter().find(|known| name.contains(known.name))
}

/// Tells sessions of one transport apart.
pub(crate) fn fresh_principal() -> Arc<str> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    crate::seal::digest(&[&format!("{bytes:?}")]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modern_result_is_completed_and_a_complete_one_is_left_alone() {
        let result =
            |text: &str| finished(Era::Modern, "tools/list", RawValue::from_string(text.to_owned()).unwrap());
        let whole = r#"{"resultType":"complete","tools":[],"ttlMs":1,"cacheScope":"public"}"#;
        assert_eq!(result(whole).get(), whole);
        let added: serde_json::Value = serde_json::from_str(result(r#"{"tools":[1.50]}"#).get()).unwrap();
        assert_eq!(added["resultType"], "complete");
        assert_eq!(added["cacheScope"], "private");
        assert_eq!(added["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "toolyard");
    }

    #[test]
    fn clients_are_known_by_name() {
        let max =
            |name: &str| known_client(Some(&raw(&json!({ "name": name })))).map(|known| known.max_tools);
        assert_eq!(max("Cursor"), Some(40));
        assert_eq!(max("cursor-vscode"), Some(40));
        assert_eq!(max("Visual Studio Code - Insiders"), Some(100));
        assert_eq!(max("claude-ai"), Some(60));
        assert_eq!(max("something else"), None);
        assert_eq!(known_client(None), None);
    }
}
