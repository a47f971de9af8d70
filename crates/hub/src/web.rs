//! HTTP to services and servers: one client, and why a request failed.

pub(crate) mod reach; // how near an address is, and who may lead us there

use std::sync::Once;
use std::time::Duration;

use reqwest::Client;

/// Time to reach a server; answering has its own limit.
const CONNECT: Duration = Duration::from_secs(10);

/// Makes an HTTP client: the one of a hub, or that of whoever asks model servers.
pub fn client() -> Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error means that somebody installed one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let same_origin = reqwest::redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first();
        let stays = first.is_some_and(|first| first.origin() == attempt.url().origin());
        // Configured headers may be credentials, and conversations are private: another origin must not see them.
        if stays && attempt.previous().len() <= 3 { attempt.follow() } else { attempt.stop() }
    });
    Client::builder()
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .redirect(same_origin)
        .user_agent(concat!("toolyard/", env!("CARGO_PKG_VERSION")))
        .build()
        .expect("the settings are constant and valid")
}

/// What lies at the bottom of an error says most, and does not repeat the address.
pub(crate) fn cause(err: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = err;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
