//! What every request must show, and what every response tells a browser.
//!
//! A page of somebody else can make a browser send requests here. It cannot make it send a header of its own without
//! asking first, and nobody here says yes; so requests of the API need one.

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::failure::ApiError;

/// Everything that is no file of the page lies below.
const API: &str = "/dashboard/api";
/// The header that only the page sends.
const OURS: HeaderName = HeaderName::from_static("x-toolyard");
/// Bytes of an error in words that are repeated.
const MOST_WORDS: usize = 4096;

/// What a browser may do with a response: nothing but show our own page.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

/// Lets a request in, and tells the browser what it may do with the response.
pub(crate) async fn protect(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_api = path.strip_prefix(API).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_ours = request.headers().get(OURS).is_some_and(|it| it.as_bytes() == b"1");
    let mut response = match is_api && !is_ours {
        true => forbidden().into_response(),
        false => next.run(request).await,
    };
    if is_api {
        response = in_our_form(response).await;
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, value);
    }
    response
}

fn forbidden() -> ApiError {
    let message = "this request does not come from the dashboard";
    ApiError::new(StatusCode::FORBIDDEN, message, "send the header `x-toolyard: 1`")
}

/// Writes an error that the framework made the way all others are written.
async fn in_our_form(response: Response) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    if !is_error || kind.starts_with(b"application/json") {
        return response;
    }
    let allowed = response.headers().get(header::ALLOW).cloned();
    let words = to_bytes(response.into_body(), MOST_WORDS).await.unwrap_or_default();
    let words = String::from_utf8_lossy(&words).trim().to_owned();
    let reason = || status.canonical_reason().unwrap_or("this cannot be answered").to_lowercase();
    let message = if words.is_empty() { reason() } else { words };
    let mut response = ApiError::new(status, message, "reload the page and try again").into_response();
    if let Some(allowed) = allowed {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}
