//! The hub as clients of other machines meet it: over TLS, and with tokens of a real authorization server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails, in what it shares with others too")]

mod secured; // TLS
mod issued; //  tokens

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use toolyard_hub::config::{self, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};
use toolyard_hub::serve::{Reception, http};

/// A hub with one server, which serves HTTP until the end of the test.
pub(crate) struct Yard {
    pub(crate) port: u16,
    _close: watch::Sender<bool>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Yard {
    /// Starts a hub whose settings have this about serving, with everything that it keeps in a folder.
    pub(crate) async fn start(folder: &Path, serve: Value) -> Self {
        let folders = Folders { home: folder.into(), config: folder.into(), data: folder.into() };
        let notes = json!({"builtin": "notes", "folder": folder.join("notes")});
        let text = json!({"mcpServers": {"notes": notes}, "serve": serve, "store": {"folder": folder.join("store")}});
        let config = config::parse(&text.to_string(), &folder.join("toolyard.json"), &|_| None, &folders);
        let config = config.unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
        let hub = Hub::start(config, Options { watchdog: None, learning: Learning::Background });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, (close, closing)) = (listener.local_addr().unwrap().port(), watch::channel(false));
        let serving = tokio::spawn(http::serve(
            Reception::new(Arc::clone(&hub)),
            listener,
            closing,
            http::Pages::default(),
        ));
        Self { port, _close: close, serving }
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
