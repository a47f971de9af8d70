//! HTTPS with certificates that change.

use std::path::Path;
use std::time::Duration;

use reqwest::{Certificate, Client};
use serde_json::json;
use testkit::wait_for;
use tokio::net::TcpStream;

use crate::Yard;

/// Long enough for a slow machine; nothing waits this long when all is well.
const SOON: Duration = Duration::from_secs(30);

/// Writes a new certificate for this machine and its key; gives the certificate as PEM.
fn certify(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    for (name, text) in [("cert.pem", made.cert.pem()), ("key.pem", made.signing_key.serialize_pem())] {
        std::fs::write(folder.join("new"), text).unwrap();
        std::fs::rename(folder.join("new"), folder.join(name)).unwrap();
    }
    made.cert.pem()
}

/// A client that believes one certificate and no other.
fn believing(pem: &str) -> Client {
    _ = rustls::crypto::ring::default_provider().install_default();
    let certificate = Certificate::from_pem(pem.as_bytes()).unwrap();
    Client::builder().tls_certs_only([certificate]).no_proxy().build().unwrap()
}

async fn start(folder: &Path) -> Yard {
    let tls = json!({"cert": "cert.pem", "key": folder.join("key.pem")});
    Yard::start(folder, json!({"tls": tls, "token": "secret"})).await
}

async fn health(yard: &Yard, client: &Client) -> reqwest::Result<String> {
    let request = client.get(format!("https://localhost:{}/health", yard.port)).bearer_auth("secret");
    request.send().await?.text().await
}

#[tokio::test]
async fn t27_with_a_certificate_the_hub_speaks_https_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let pem = certify(folder.path());
    let yard = start(folder.path()).await;
    assert_eq!(health(&yard, &believing(&pem)).await.unwrap(), "ok\n");
    let plain = Client::builder().no_proxy().build().unwrap();
    assert!(plain.get(format!("http://localhost:{}/health", yard.port)).send().await.is_err());
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.pem();
    assert!(
        health(&yard, &believing(&other)).await.is_err(),
        "who believes another certificate is not fooled"
    );
}

#[tokio::test]
async fn t27_a_new_certificate_is_shown_to_newcomers_and_drops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let first = believing(&certify(folder.path()));
    let yard = start(folder.path()).await;
    assert_eq!(health(&yard, &first).await.unwrap(), "ok\n");
    let second = certify(folder.path());
    wait_for(SOON, || async { health(&yard, &believing(&second)).await.ok() }).await;
    // A connection that this client opened anew would fail, because it does not believe the new certificate.
    assert_eq!(health(&yard, &first).await.unwrap(), "ok\n");
}

#[tokio::test]
async fn t27_connections_that_never_shake_hands_keep_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let client = believing(&certify(folder.path()));
    let yard = start(folder.path()).await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(TcpStream::connect(("127.0.0.1", yard.port)).await.unwrap());
    }
    assert_eq!(health(&yard, &client).await.unwrap(), "ok\n");
    drop(idle);
}
