//! What a definition says about the app that shows a tool's results (MCP Apps).

use serde_json::value::RawValue;

use super::Tool;
use super::clean;
use super::json::{Members, items, text};

/// The scheme of pages that a host shows.
const SCHEME: &str = "ui://";
/// What the addresses begin with that only the hub hands out: of its own page, and of servers' pages.
const RESERVED: [&str; 2] = ["ui://toolyard/", "ui://server.toolyard/"];
/// A longer address is none.
const MOST_BYTES: usize = 2_048;
/// Entries of a visibility that are read.
const MOST_VISIBILITY: usize = 8;

/// A page that shows what a tool answers, and who may call the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppLink {
    /// The address of the page at its server, `ui://…`.
    pub address: Option<String>,
    /// Whether a model may call the tool.
    pub for_models: bool,
    /// Whether an app of the same server may call it.
    pub for_apps: bool,
}

impl AppLink {
    /// Reads what a definition says; `None` where it says nothing of an app.
    pub(crate) fn of(definition: &RawValue) -> Option<Box<Self>> {
        let members = Members::of(definition)?;
        let meta = Members::of(members.get("_meta")?)?;
        let ui = meta.get("ui").and_then(Members::of);
        // The second is how it was written before the extension was final.
        let address = ui.as_ref().and_then(|ui| ui.get("resourceUri")).or_else(|| meta.get("ui/resourceUri"));
        let address = address.and_then(text).filter(|it| is_address(it));
        let visibility = ui.as_ref().and_then(|ui| ui.get("visibility"));
        let visibility: Option<Vec<String>> = visibility
            .and_then(|it| items(it, MOST_VISIBILITY))
            .map(|listed| listed.into_iter().filter_map(text).collect());
        if address.is_none() && visibility.is_none() {
            return None;
        }
        let is_for = |who: &str| visibility.as_ref().is_none_or(|listed| listed.iter().any(|it| it == who));
        Some(Box::new(Self { address, for_models: is_for("model"), for_apps: is_for("app") }))
    }
}

fn is_address(address: &str) -> bool {
    address.len() <= MOST_BYTES
        && address.strip_prefix(SCHEME).is_some_and(|rest| !rest.is_empty())
        && !address.contains(|c: char| c.is_control() || c.is_whitespace())
        && clean(address) == address
        && !is_reserved_page(address)
}

/// Whether only the hub may hand out an address.
pub fn is_reserved_page(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    RESERVED.iter().any(|own| address.starts_with(own))
}

impl Tool {
    /// Returns the address of the page that shows the tool's results, as its server says it.
    pub fn app_address(&self) -> Option<&str> {
        self.app.as_ref()?.address.as_deref()
    }

    /// Whether a model may call it. Some tools are there for the app of their server alone.
    pub fn is_for_models(&self) -> bool {
        self.app.as_ref().is_none_or(|app| app.for_models)
    }

    /// Whether an app of its server may call it.
    pub fn is_for_apps(&self) -> bool {
        self.app.as_ref().is_none_or(|app| app.for_apps)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(meta: &Value) -> Option<(Option<String>, bool, bool)> {
        let definition = json!({"name": "t", "inputSchema": {"type": "object"}, "_meta": meta});
        let definition = serde_json::value::to_raw_value(&definition).unwrap();
        AppLink::of(&definition).map(|it| (it.address, it.for_models, it.for_apps))
    }

    #[test]
    fn e2_a_definition_names_its_page_and_who_may_call_it() {
        let page = || Some("ui://a/b.html".to_owned());
        assert_eq!(read(&json!({"ui": {"resourceUri": "ui://a/b.html"}})), Some((page(), true, true)));
        assert_eq!(read(&json!({"ui/resourceUri": "ui://a/b.html"})), Some((page(), true, true)));
        let both = json!({"ui": {"resourceUri": "ui://a/b.html", "visibility": ["app"]}, "ui/resourceUri": "ui://c"});
        assert_eq!(read(&both), Some((page(), false, true)));
        assert_eq!(read(&json!({"ui": {"visibility": ["model"]}})), Some((None, true, false)));
        assert_eq!(read(&json!({"ui": {"visibility": []}})), Some((None, false, false)));
    }

    #[test]
    fn e2_what_is_no_page_is_not_taken_for_one() {
        for meta in [
            json!({}),
            json!(null),
            json!({"ui": null}),
            json!({"ui": "ui://a"}),
            json!({"ui": {"resourceUri": "https://example.com/"}}),
            json!({"ui": {"resourceUri": "ui://"}}),
            json!({"ui": {"resourceUri": "ui://toolyard/app.html"}}),
            json!({"ui": {"resourceUri": "ui://Server.toolyard/other/a.html"}}),
            json!({"ui": {"resourceUri": "ui://a b"}}),
            json!({"ui": {"resourceUri": "ui://a\u{202e}b"}}),
            json!({"ui": {"resourceUri": format!("ui://{}", "a".repeat(3_000))}}),
            json!({"ui": {"resourceUri": 7, "visibility": "app"}}),
        ] {
            assert_eq!(read(&meta), None, "{meta}");
        }
    }
}
