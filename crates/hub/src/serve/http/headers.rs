//! Whether a request's headers and body say the same.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use toolyard_core::tool::Tool;

use super::Asked;
use crate::hub::Hub;
use crate::jsonrpc::ErrorObject;
use crate::serve::{View, era};
use crate::upstream::SESSION_VERSIONS;
use crate::upstream::link::MODERN_VERSION;
use crate::upstream::mirror;

/// Returns the protocol version that the headers name.
pub(crate) fn version(headers: &HeaderMap) -> Option<String> {
    text(headers, "mcp-protocol-version")
}

/// Says so when the headers name a version that is not served.
pub(crate) fn unserved(headers: &HeaderMap) -> Option<ErrorObject> {
    let version = version(headers)?;
    let is_served = version == MODERN_VERSION || SESSION_VERSIONS.contains(&version.as_str());
    (!is_served).then(|| era::unsupported(&version))
}

/// Returns a header that is there once; what is repeated or unreadable is like nothing a body says.
fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    let is_repeated = values.next().is_some();
    Some(value.to_str().ok().filter(|_| !is_repeated).unwrap_or("\u{fffd}").to_owned())
}

/// Whether the client takes an answer of this type.
pub(crate) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().peekable();
    let group = kind.split('/').next().unwrap_or(kind);
    accepted.peek().is_none()
        || accepted.any(|value| {
            let value = value.to_str().unwrap_or_default().to_ascii_lowercase();
            let mut kinds = value.split(',').map(|it| it.split(';').next().unwrap_or(it).trim().to_owned());
            kinds.any(|it| it == kind || it == "*/*" || it == format!("{group}/*"))
        })
}

/// Checks that the body is JSON and that the client takes both of our forms of answer.
pub(crate) fn negotiable(headers: &HeaderMap) -> Result<(), Box<Response>> {
    let kind = text(headers, header::CONTENT_TYPE.as_str()).unwrap_or_default().to_ascii_lowercase();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err(Box::new(
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json\n").into_response(),
        ));
    }
    if !accepts(headers, "application/json") || !accepts(headers, "text/event-stream") {
        let said = "accept both application/json and text/event-stream\n";
        return Err(Box::new((StatusCode::NOT_ACCEPTABLE, said).into_response()));
    }
    Ok(())
}

/// Checks the headers of a modern request against its body.
pub(crate) fn agree(headers: &HeaderMap, asked: &Asked, view: &View, hub: &Hub) -> Result<(), ErrorObject> {
    let in_body = era::version(&asked.params);
    match (version(headers), &in_body) {
        (Some(header), Some(body)) if header == *body => {}
        (Some(_), None) => {}
        (None, _) => return Err(mismatch("the MCP-Protocol-Version header is missing")),
        (Some(header), Some(body)) => {
            return Err(mismatch(&format!(
                "MCP-Protocol-Version is `{header}` in the header and `{body}` in the body"
            )));
        }
    }
    if let Some(version) = in_body.filter(|version| version != MODERN_VERSION) {
        return Err(era::unsupported(&version));
    }
    same(headers, "Mcp-Method", &asked.method)?;
    if let Some(name) = mirror::name_of(&asked.method, &asked.params) {
        same(headers, "Mcp-Name", &name)?;
    }
    if asked.method == "tools/call" {
        parameters(headers, asked, view, hub)?;
    }
    Ok(())
}

fn same(headers: &HeaderMap, name: &str, body: &str) -> Result<(), ErrorObject> {
    let Some(header) = text(headers, &name.to_ascii_lowercase()) else {
        return Err(mismatch(&format!("the {name} header is missing")));
    };
    match mirror::decode(&header) {
        Some(decoded) if decoded == body => Ok(()),
        _ => Err(mismatch(&format!("{name} is `{header}` in the header and `{body}` in the body"))),
    }
}

/// Checks the parameters that the tool wants repeated in headers.
fn parameters(headers: &HeaderMap, asked: &Asked, view: &View, hub: &Hub) -> Result<(), ErrorObject> {
    let snapshot = hub.snapshot();
    let name = asked.params.text("name").unwrap_or_default();
    let tool: Option<&Tool> = match view {
        View::Transparent { server, .. } => snapshot.catalog.find(server, &name),
        View::Surface { .. } => snapshot.catalog.get(&name).filter(|tool| view.shows(&tool.server)),
    };
    let Some(definition) = tool.map(|tool| &tool.definition).filter(|it| it.get().contains("x-mcp-header"))
    else {
        return Ok(());
    };
    let mirrored = mirror::input_schema(definition).and_then(|(_, schema)| mirror::mirrored(&schema).ok());
    let arguments: Value = asked.params.read("arguments").unwrap_or_default();
    for one in mirrored.unwrap_or_default() {
        let header = text(headers, &one.header);
        let in_body = mirror::header_value(&arguments, &one.path).is_some();
        match header {
            None if in_body => return Err(mismatch(&format!("the {} header is missing", one.header))),
            None => {}
            Some(header) => {
                let decoded = mirror::decode(&header);
                if !decoded.is_some_and(|decoded| mirror::agrees(&decoded, &arguments, &one.path)) {
                    return Err(mismatch(&format!(
                        "{} does not agree with the argument `{}`",
                        one.header,
                        one.path.join(".")
                    )));
                }
            }
        }
    }
    Ok(())
}

fn mismatch(what: &str) -> ErrorObject {
    ErrorObject::new(ErrorObject::HEADER_MISMATCH, format!("Header mismatch: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn accept_headers_are_understood_in_all_their_forms() {
        let accepts_json = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(value));
            accepts(&headers, "application/json")
        };
        assert!(accepts_json("application/json, text/event-stream") && accepts_json("text/html, */*;q=0.1"));
        assert!(accepts_json("Application/*") && !accepts_json("text/event-stream"));
        assert!(accepts(&HeaderMap::new(), "application/json"));
    }
}
