//! What fuzz targets reach besides: readers of what strangers write that have no door of their own.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;
use url::Url;

use crate::config::{Mistake, Page};
use crate::frame::{Bounds, Frame};
use crate::serve::{Reception, http};
use crate::upstream::sse::{self, Events};

/// Returns the events of a stream that comes in pieces.
pub fn events<'c>(chunks: impl IntoIterator<Item = &'c [u8]>, bounds: Bounds) -> Vec<(String, Frame)> {
    let mut events = Events::default();
    chunks.into_iter().flat_map(|chunk| events.feed(chunk, bounds)).collect()
}

/// Returns the address that an event of the older transport names, where it may be used.
pub fn endpoint(base: &Url, data: &[u8]) -> Option<Url> {
    sse::endpoint_url(&Arc::from("stranger"), base, data).ok()
}

/// Reads JSON with comments, or YAML where the file's name says so.
pub fn page(text: &str, path: &Path) -> Result<Value, Vec<Mistake>> {
    let page = Page::read(text, path, &Value::Bool(true))?;
    Ok(page.json())
}

/// Writes arguments in one way, whatever their order and layout.
pub fn canonical(arguments: &RawValue) -> String {
    crate::jsonrpc::canonical(arguments)
}

/// A hub that takes HTTP requests without a network.
#[derive(Debug)]
pub struct Door {
    service: TowerToHyperService<Router>,
    _closing: watch::Sender<bool>,
}

impl Door {
    /// Opens the hub's HTTP interface.
    pub fn open(reception: Arc<Reception>) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 8811));
        let (sender, closing) = watch::channel(false);
        let router = http::router(reception, address, 64, closing, http::Pages::default());
        Self { service: TowerToHyperService::new(router), _closing: sender }
    }

    /// Sends a body to `/mcp`; returns the status and the answer.
    pub async fn post(&self, headers: &[(&str, &str)], body: Vec<u8>) -> (StatusCode, Vec<u8>) {
        let mut request = Request::post("/mcp").header("host", "127.0.0.1:8811");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).expect("the headers are plain");
        let response = self.service.call(request).await.unwrap_or_else(|never| match never {});
        let status = response.status();
        let answer = to_bytes(Body::new(response.into_body()), usize::MAX).await.unwrap_or_default();
        (status, answer.to_vec())
    }
}
