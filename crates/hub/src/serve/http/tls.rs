//! HTTPS with a certificate from files, which may be replaced while the hub runs.
//!
//! Connections that are open keep what they began with. Files that make no certificate change nothing: the old one stays
//! in use, and the log says what is wrong.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpStream;
use tokio_rustls::{Accept, TlsAcceptor};

use crate::config::Tls;

/// How often the files are looked at.
const GLANCE: Duration = Duration::from_millis(500);
/// A chain of certificates is far smaller than this.
const MOST_BYTES: u64 = 1024 * 1024;

/// Why files are no certificate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("`{}` holds no {what} as PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// Certificate and key do not fit, or are of a kind that is not known here.
    #[error("the certificate `{}` cannot be used with the key `{}`: {source}", cert.display(), key.display())]
    Unfit {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What is wrong.
        source: rustls::Error,
    },
}

/// Tells two states of the files apart.
type Stamp = [Option<(u64, u64, i64, i64)>; 2];

/// A certificate in use.
#[derive(Clone, Debug)]
pub struct Certificate {
    files: Tls,
    first: Stamp,
    current: Arc<Current>,
    acceptor: Arc<ServerConfig>,
}

/// What new connections are shown.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read()))
    }
}

impl Certificate {
    /// Reads the certificate and its key.
    pub fn load(files: &Tls) -> Result<Self, Error> {
        let first = stamp(files);
        let current = Arc::new(Current(RwLock::new(Arc::new(read(files)?))));
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("the provider has these versions");
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Current>::clone(&current);
        let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { files: files.clone(), first, current, acceptor: Arc::new(config) })
    }

    /// Begins the handshake of a connection.
    pub(crate) fn accept(&self, stream: TcpStream) -> Accept<TcpStream> {
        TlsAcceptor::from(Arc::clone(&self.acceptor)).accept(stream)
    }

    /// Reads the files again; what is no certificate changes nothing.
    fn refresh(&self) -> Result<(), Error> {
        *self.current.0.write() = Arc::new(read(&self.files)?);
        Ok(())
    }

    /// Follows the files for as long as it is awaited.
    pub(crate) async fn follow(&self) {
        let (mut used, mut before) = (self.first, self.first);
        loop {
            tokio::time::sleep(GLANCE).await;
            let now = stamp(&self.files);
            // One file is replaced before the other, so they count when they are at rest.
            if now != used && now == before {
                used = now;
                match self.refresh() {
                    Ok(()) => tracing::info!(
                        "the certificate `{}` changed and is in use",
                        self.files.cert.display()
                    ),
                    Err(err) => tracing::error!("the changed certificate is not used, the old one is: {err}"),
                }
            }
            before = now;
        }
    }
}

fn read(files: &Tls) -> Result<CertifiedKey, Error> {
    let (cert, key) = (contents(&files.cert)?, contents(&files.key)?);
    let lacks = |path: &Path, what| Error::Pem { path: path.to_owned(), what };
    let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(&cert).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| lacks(&files.cert, "certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| lacks(&files.key, "private key"))?;
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|source| Error::Unfit {
        cert: files.cert.clone(),
        key: files.key.clone(),
        source,
    })
}

fn contents(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    // Opening a pipe would wait for somebody who writes into it.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is no regular file")));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

fn stamp(files: &Tls) -> Stamp {
    [&files.cert, &files.key].map(|path| {
        let about = std::fs::metadata(path).ok()?;
        Some((about.ino(), about.len(), about.mtime(), about.mtime_nsec()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a new certificate for a name, and gives what clients are shown of it.
    fn write(files: &Tls, name: &str) -> Vec<u8> {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        std::fs::write(&files.cert, made.cert.pem()).unwrap();
        std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
        made.cert.der().to_vec()
    }

    fn shown(certificate: &Certificate) -> Vec<u8> {
        certificate.current.0.read().cert[0].to_vec()
    }

    #[test]
    fn t27_files_that_are_no_certificate_leave_the_old_one_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let files = Tls { cert: folder.path().join("cert.pem"), key: folder.path().join("key.pem") };
        let missing = Certificate::load(&files).unwrap_err();
        assert!(matches!(missing, Error::File { .. }), "{missing}");
        let first = write(&files, "localhost");
        let certificate = Certificate::load(&files).unwrap();
        assert_eq!(shown(&certificate), first);
        let key = std::fs::read(&files.key).unwrap();
        let second = write(&files, "localhost");
        std::fs::write(&files.key, key).unwrap();
        assert!(
            matches!(certificate.refresh(), Err(Error::Unfit { .. })),
            "a certificate and the key of another"
        );
        std::fs::write(&files.cert, "nothing").unwrap();
        assert!(matches!(certificate.refresh(), Err(Error::Pem { what: "certificate", .. })));
        assert_eq!(shown(&certificate), first);
        assert_ne!(first, second);
        let third = write(&files, "localhost");
        certificate.refresh().unwrap();
        assert_eq!(shown(&certificate), third);
    }
}
