//! What an answer says that was given before the tools were understood.

use serde_json::json;
use serde_json::value::RawValue;

use crate::hub::Hub;
use crate::jsonrpc::{Fields, raw};
use crate::routing::Provisional;
use crate::store::MeaningStatus;

/// Adds to the result of a call that it was decided before all tools were understood, where that is so.
pub(super) fn noted(hub: &Hub, provisional: &Provisional, result: Box<RawValue>) -> Box<RawValue> {
    if !provisional.is_noted() {
        return result;
    }
    let MeaningStatus { known, all, .. } = hub.meaning_progress();
    // Before the first text is looked at, nothing is known of how many there are.
    let (progress, learning) = match known < all {
        true => (format!(" ({known} of {all} texts)"), json!({ "known": known, "all": all })),
        false => (String::new(), json!({})),
    };
    let note =
        format!("Still learning what the tools mean{progress}; ask again in a moment for a better answer.");
    let mut fields = Fields::parse(Some(&result)).unwrap_or_default();
    let mut content: Vec<Box<RawValue>> = fields.read("content").unwrap_or_default();
    content.push(raw(&json!({ "type": "text", "text": note })));
    fields.set("content", raw(&content));
    if fields.get("structuredContent").is_some() {
        let mut structured = fields.object("structuredContent");
        let earlier = structured.text("note").map(|earlier| format!("{earlier} ")).unwrap_or_default();
        structured.set("note", raw(&format!("{earlier}{note}")));
        structured.set("learning", raw(&learning));
        fields.set("structuredContent", raw(&structured));
    }
    raw(&fields)
}
