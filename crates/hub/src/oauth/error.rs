//! What can go wrong on the way to a token, each with what to do about it.

use super::LOGIN_PATIENCE;
use crate::vault;

/// What can go wrong. No variant carries a secret, and a stranger's words are bounded and printable.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Only a person can help.
    #[error("`{server}` needs a login; run `toolyard login {server}`")]
    LoginNeeded {
        /// The server.
        server: String,
    },
    /// The token is good and allows too little.
    #[error("`{server}` wants more permission{}; run `{}`", named(scopes), wider_login(server, scopes))]
    ScopeNeeded {
        /// The server.
        server: String,
        /// The scopes that it named.
        scopes: Vec<String>,
    },
    /// Something is no address.
    #[error("`{url}` is not an address")]
    BadUrl {
        /// What it is.
        url: String,
    },
    /// An address may not be used.
    #[error("`{url}` is refused: {why}")]
    Unsafe {
        /// The address.
        url: String,
        /// The rule.
        why: &'static str,
    },
    /// Nobody answered, or nobody that made sense.
    #[error("`{url}` cannot be used: {reason}")]
    Unreachable {
        /// The address.
        url: String,
        /// What happened.
        reason: String,
    },
    /// A place that was named has no metadata.
    #[error("there is no metadata at `{url}`, where the server says it is")]
    NoDocument {
        /// The address.
        url: String,
    },
    /// No metadata of an authorization server was found.
    #[error("`{issuer}` publishes no metadata of an authorization server")]
    NoIssuer {
        /// The authorization server.
        issuer: String,
    },
    /// Somebody claims to be somebody else.
    #[error("the authorization server calls itself `{found}` where `{expected}` is expected")]
    WrongIssuer {
        /// Who it should be.
        expected: String,
        /// Who it says it is.
        found: String,
    },
    /// An answer lacks the sender's name.
    #[error("the answer of `{issuer}` does not say whom it is from")]
    NoSender {
        /// The authorization server.
        issuer: String,
    },
    /// The metadata is about another server.
    #[error("`{server}` says that it is `{resource}`, which is another server")]
    WrongResource {
        /// The address we use.
        server: String,
        /// The address that it names.
        resource: String,
    },
    /// The authorization server cannot protect the code.
    #[error("`{issuer}` does not support PKCE with S256, so a login there would not be safe")]
    NoPkce {
        /// The authorization server.
        issuer: String,
    },
    /// We cannot introduce ourselves.
    #[error(
        "`{issuer}` registers no new clients; register one there by hand, with the redirect address \
         `http://127.0.0.1/callback`, and set `auth.clientId` of `{server}`"
    )]
    NoClient {
        /// The server.
        server: String,
        /// The authorization server.
        issuer: String,
    },
    /// The client id was registered elsewhere.
    #[error(
        "`{server}` now asks for a login at `{now}`, but its `auth.clientId` was registered at `{before}`; \
         register a client there and change `auth.clientId`"
    )]
    IssuerChanged {
        /// The server.
        server: String,
        /// Where the client id is known.
        before: String,
        /// Where the login would be.
        now: String,
    },
    /// We were not registered.
    #[error("`{issuer}` refused to register Toolyard ({reason}); setting `auth.clientId` avoids this step")]
    Registration {
        /// The authorization server.
        issuer: String,
        /// Its words.
        reason: String,
    },
    /// The person or the authorization server said no.
    #[error("`{issuer}` refused the login ({reason})")]
    Denied {
        /// The authorization server.
        issuer: String,
        /// Its words.
        reason: String,
    },
    /// The authorization server has forgotten us.
    #[error("`{issuer}` does not know Toolyard any more; log in again")]
    UnknownClient {
        /// The authorization server.
        issuer: String,
    },
    /// Nobody finished the login.
    #[error("nobody finished the login in {} minutes", LOGIN_PATIENCE.as_secs() / 60)]
    TooLate,
    /// No port for the browser to come back to.
    #[error("cannot listen on loopback for the end of the login: {reason}")]
    Listener {
        /// What the system said.
        reason: String,
    },
    /// TLS could not be set up.
    #[error("cannot set up TLS: {reason}")]
    Tls {
        /// What went wrong.
        reason: String,
    },
    /// The operating system has no random numbers.
    #[error("the system gives no random numbers")]
    Random,
    /// The hub is going down.
    #[error("the token was not renewed, because the hub is stopping")]
    Stopping,
    /// The store of tokens fails.
    #[error(transparent)]
    Vault(#[from] vault::Error),
}

fn named(scopes: &[String]) -> String {
    if scopes.is_empty() { String::new() } else { format!(" ({})", scopes.join(", ")) }
}

/// The command for more scopes. They are a stranger's words on their way to a shell, so only plain ones
/// are written out.
fn wider_login(server: &str, scopes: &[String]) -> String {
    let plain = |scope: &&String| {
        !scope.starts_with('-')
            && scope.bytes().all(|b| b.is_ascii_alphanumeric() || b":/._-+@,".contains(&b))
    };
    scopes
        .iter()
        .filter(plain)
        .fold(format!("toolyard login {server}"), |line, scope| line + " --scope " + scope)
}
