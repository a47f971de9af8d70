//! What is asked in a request: JSON of a bounded size, and words in queries.

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::ApiError;

/// Bytes that a body may have.
const MOST_BYTES: usize = 1024 * 1024;
/// Time for a body to come in whole.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads the body of a request; what else there is of it comes along.
pub(crate) async fn read<T: DeserializeOwned>(request: Request) -> Result<(Parts, T), ApiError> {
    let (parts, body) = request.into_parts();
    let coming = tokio::time::timeout(PATIENCE, to_bytes(body, MOST_BYTES)).await;
    let late = |_| {
        let message = "the body did not come in time";
        ApiError::new(StatusCode::REQUEST_TIMEOUT, message, "try again")
    };
    let bytes = coming.map_err(late)?.map_err(|_| {
        let message = format!("the body is longer than {MOST_BYTES} bytes, or broke off");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message, "send less at once")
    })?;
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_json = kind.split(';').next().is_some_and(|it| it.trim().eq_ignore_ascii_case("application/json"));
    // Who has nothing to say need not say it in JSON.
    let is_silent = bytes.is_empty() && kind.is_empty();
    if !is_json && !is_silent {
        let message = "the body must be JSON";
        let hint = "send it with `content-type: application/json`";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, hint));
    }
    let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
    let said = serde_json::from_slice(text).map_err(|err| {
        ApiError::bad_request(format!("the body cannot be read: {err}"), "reload the page and try again")
    })?;
    Ok((parts, said))
}

/// Reads one word of a query that stands for one of a few things; an empty one stands for none.
pub(crate) fn word<T: DeserializeOwned>(name: &str, said: Option<String>) -> Result<Option<T>, ApiError> {
    let Some(said) = filled(said) else { return Ok(None) };
    let read = serde_json::from_value(Value::String(said));
    read.map(Some).map_err(|err| ApiError::bad_request(format!("`{name}` cannot be read: {err}"), ""))
}

/// Returns a text of a query unless it is empty.
pub(crate) fn filled(said: Option<String>) -> Option<String> {
    said.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}
