//! Requests that pass to the model server unchanged, and their answers that come back unchanged, both as they arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::RequestExt;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Uri, header};
use axum::response::Response;
use futures_util::TryStreamExt;
use url::Url;

use super::refusal::Refusal;
use super::{MOST_BYTES, Shared, server};

/// Headers that belong to one connection.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Passes a request on whose body is still to come.
pub(super) async fn request(shared: &Shared, request: Request) -> Result<Response, Refusal> {
    let headers = request.headers();
    let length = headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > MOST_BYTES) {
        return Err(Refusal::too_large());
    }
    let has_body = length.is_some_and(|length| length > 0) || headers.contains_key(header::TRANSFER_ENCODING);
    let (parts, body) = request.with_limited_body().into_parts();
    if !has_body {
        return send(shared, &parts, None).await;
    }
    let has_failed = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&has_failed);
    let body = body.into_data_stream().inspect_err(move |_| failing.store(true, Ordering::SeqCst));
    match send(shared, &parts, Some(reqwest::Body::wrap_stream(body))).await {
        // Whoever hung up reads no answer; for the others it was too much.
        Err(_) if has_failed.load(Ordering::SeqCst) => Err(Refusal::too_large()),
        outcome => outcome,
    }
}

/// Passes a request on whose body was read.
pub(super) async fn whole(shared: &Shared, parts: Parts, body: Bytes) -> Result<Response, Refusal> {
    send(shared, &parts, Some(body.into())).await
}

async fn send(shared: &Shared, parts: &Parts, body: Option<reqwest::Body>) -> Result<Response, Refusal> {
    let url = target(&shared.proxy.upstream, &parts.uri)?;
    let mut headers = end_to_end(&parts.headers);
    for name in [header::HOST, header::AUTHORIZATION, header::EXPECT] {
        headers.remove(name);
    }
    let mut asked = shared.client.request(parts.method.clone(), url).headers(headers);
    if let Some(key) = &shared.proxy.key {
        asked = asked.bearer_auth(key);
    }
    if let Some(body) = body {
        asked = asked.body(body);
    }
    let answered = asked.send().await.map_err(|err| {
        let origin = shared.proxy.upstream.origin().ascii_serialization();
        let err = err.without_url();
        Refusal::unreachable(format!("the model server at {origin} does not answer: {err}"))
    })?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answered.status();
    *response.headers_mut() = end_to_end(answered.headers());
    *response.body_mut() = Body::from_stream(answered.bytes_stream());
    Ok(response)
}

/// Returns the same path and query at the model server.
fn target(upstream: &Url, uri: &Uri) -> Result<Url, Refusal> {
    let mut url = server::under(upstream, uri.path());
    // What climbs out of the address would carry the key elsewhere.
    if !url.path().starts_with(upstream.path()) {
        return Err(Refusal::bad_request("this path leaves the model server's address"));
    }
    let queries: Vec<&str> = upstream.query().into_iter().chain(uri.query()).collect();
    url.set_query((!queries.is_empty()).then(|| queries.join("&")).as_deref());
    Ok(url)
}

/// Returns headers without those that belong to one connection.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let mut kept = headers.clone();
    for name in HOP_BY_HOP {
        kept.remove(name);
    }
    for name in named {
        kept.remove(name);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_under_the_address() {
        let base = Url::parse("https://h/openai?key=1").unwrap();
        let url = |uri: &str| target(&base, &uri.parse().unwrap()).map(String::from).ok();
        assert_eq!(url("/v1/models?a=b").as_deref(), Some("https://h/openai/v1/models?key=1&a=b"));
        assert_eq!(url("/../secret"), None);
        assert_eq!(url("/%2e%2e/secret"), None);
    }

    #[test]
    fn headers_of_one_connection_stay_behind() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("connection", "close, X-Hop"), ("x-hop", "1"), ("te", "trailers"), ("accept", "*/*")]
        {
            headers.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        let kept: Vec<String> = end_to_end(&headers).keys().map(ToString::to_string).collect();
        assert_eq!(kept, ["accept"]);
    }
}
