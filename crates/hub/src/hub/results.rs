//! What the result of a call says, looked up in its text.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::jsonrpc::{Fields, raw};

/// Whether a result asks for input instead of answering.
pub(crate) fn wants_input(result: &RawValue) -> bool {
    // The text is searched first because results may be large and questions are rare.
    result.get().contains("\"input_required\"")
        && Fields::parse(Some(result))
            .is_ok_and(|fields| fields.text("resultType").as_deref() == Some("input_required"))
}

/// Makes the result of a call that the hub could not make, for a model to act on.
pub(crate) fn failed_call(message: &str) -> Box<RawValue> {
    raw(&serde_json::json!({ "content": [{ "type": "text", "text": message }], "isError": true }))
}

/// Whether a tool says of its own result that it failed.
pub(crate) fn is_error(result: &RawValue) -> bool {
    // The text is searched first because results may be large and failures are rare.
    result.get().contains("\"isError\"")
        && Fields::parse(Some(result)).is_ok_and(|fields| fields.read("isError") == Some(true))
}

/// What a text is taken from, where everything is as it should be.
#[derive(Deserialize)]
struct Plain<'r> {
    #[serde(borrow, default)]
    content: Vec<Block<'r>>,
}

#[derive(Deserialize)]
struct Block<'r> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'r, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'r, str>>,
}

/// Returns the text of a result.
pub(crate) fn text_of(result: &RawValue) -> String {
    // Nearly every result is read without a copy of its parts.
    if let Ok(plain) = serde_json::from_str::<Plain>(result.get()) {
        let texts = plain.content.into_iter().filter(|it| it.kind == "text").filter_map(|it| it.text);
        return texts.collect::<Vec<_>>().join("\n");
    }
    let blocks: Vec<Box<RawValue>> =
        Fields::parse(Some(result)).unwrap_or_default().read("content").unwrap_or_default();
    texts(&blocks).join("\n")
}

/// Returns the texts among the blocks of a result.
pub(crate) fn texts(blocks: &[Box<RawValue>]) -> Vec<String> {
    let text = |block: &RawValue| {
        let block = Fields::parse(Some(block)).ok()?;
        (block.text("type").as_deref() == Some("text")).then(|| block.text("text"))?
    };
    blocks.iter().filter_map(|block| text(block)).collect()
}
