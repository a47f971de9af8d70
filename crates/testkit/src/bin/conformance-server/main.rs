//! The server that the official MCP conformance suite expects to meet.
//!
//! Over stdio without arguments, over HTTP with `--http ADDRESS`; then it prints
//! one line of JSON with the address once it listens. Both protocol eras are
//! served either way. The names of its tools, resources and prompts, and what
//! they answer, are the suite's.

mod content; //    tools and prompts that always answer the same
mod definition; // what is listed
mod fixture; //    the server as rmcp sees it
mod live; //       tools that talk to the client while they run
mod rounds; //     tools that answer with a question
mod task; //       tools that go on after they answered

use std::io::{self, Write};
use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use fixture::Fixture;

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => over_stdio().await,
        (Some("--http"), Some(address)) => over_http(&address).await,
        _ => Err(io::Error::other("usage: conformance-server [--http ADDRESS]")),
    }
}

async fn over_stdio() -> io::Result<()> {
    let service = Fixture::default().serve(rmcp::transport::stdio()).await.map_err(io::Error::other)?;
    service.waiting().await.map_err(io::Error::other)?;
    Ok(())
}

async fn over_http(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let origins = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(origins)
        .with_stateless_protocol_metadata_required(true);
    // One fixture for all, since a request without a session is served by a clone of its own.
    let fixture = Fixture::default();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(fixture.clone()), sessions, config);
    let router = axum::Router::new().route_service("/mcp", service);
    writeln!(io::stdout(), "{}", serde_json::json!({"url": url}))?;
    let listener = listener.tap_io(|stream| {
        // Without it small answers wait for an acknowledgement; it is no worse than slow.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await
}
