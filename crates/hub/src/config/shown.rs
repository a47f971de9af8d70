//! How a configuration appears in logs: without anything that a person would keep to themselves.

use std::collections::BTreeMap;
use std::fmt;

use super::{Auth, LanguageModel, Model, Serve, Transport};

/// Stands for a value that must not be shown.
struct Hidden;

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Shows the names of a map and none of its values.
struct Names<'a>(&'a BTreeMap<String, String>);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, Hidden))).finish()
    }
}

/// Shows where a URL leads; keys travel in the rest of it: user, path and query.
struct Endpoint<'a>(&'a str);

impl fmt::Debug for Endpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match url::Url::parse(self.0) {
            Ok(url) => {
                let host = url.host_str().unwrap_or_default();
                let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
                write!(f, "{}://{host}{port}/…", url.scheme())
            }
            Err(_) => Hidden.fmt(f),
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // People put keys into arguments as well, so only their number is shown.
            Self::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &format_args!("({})", args.len()))
                .field("env", &Names(env))
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers, auth } => remote(f.debug_struct("Http"), url, headers, auth),
            Self::Sse { url, headers, auth } => remote(f.debug_struct("Sse"), url, headers, auth),
            Self::Builtin(kind) => f.debug_tuple("Builtin").field(kind).finish(),
        }
    }
}

fn remote(
    mut shown: fmt::DebugStruct<'_, '_>,
    url: &str,
    headers: &BTreeMap<String, String>,
    auth: &Auth,
) -> fmt::Result {
    shown.field("url", &Endpoint(url)).field("headers", &Names(headers)).field("auth", auth).finish()
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Automatic { client_id, client_secret, scopes } => f
                .debug_struct("Automatic")
                .field("client_id", client_id)
                .field("client_secret", &client_secret.as_ref().map(|_| Hidden))
                .field("scopes", scopes)
                .finish(),
            Self::Off => f.write_str("Off"),
        }
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("Builtin"),
            Self::Folder(path) => f.debug_tuple("Folder").field(path).finish(),
            Self::Endpoint { url, name, key } => f
                .debug_struct("Endpoint")
                .field("url", &Endpoint(url))
                .field("name", name)
                .field("key", &key.as_ref().map(|_| Hidden))
                .finish(),
        }
    }
}

impl fmt::Debug for LanguageModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LanguageModel")
            .field("url", &Endpoint(&self.url))
            .field("name", &self.name)
            .field("key", &self.key.as_ref().map(|_| Hidden))
            .field("timeout", &self.timeout)
            .finish()
    }
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve")
            .field("surface", &self.surface)
            .field("callers", &self.callers)
            .field("profiles", &self.profiles)
            .field("http", &self.http)
            .field("token", &self.token.as_ref().map(|_| Hidden))
            .field("tls", &self.tls)
            .field("oauth", &self.oauth)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("body_bytes", &self.body_bytes)
            .field("concurrency", &self.concurrency)
            .field("client_concurrency", &self.client_concurrency)
            .field("connections", &self.connections)
            .field("compact", &self.compact)
            .field("app", &self.app)
            .field("result_bytes", &self.result_bytes)
            .finish()
    }
}
