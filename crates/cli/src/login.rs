//! A person's consent to use an HTTP server.

use std::process::{Command, Stdio};

use serde_json::json;
use toolyard_hub::config::{Auth, Config, Transport};
use toolyard_hub::oauth::{Authority, Settings};
use toolyard_hub::vault::{Keyring, Vault};

use crate::common::Common;
use crate::failure::Failure;
use crate::learn::Waiting;
use crate::output;
use crate::setup::{self, Source, env};

/// Log in at a server that wants to know who you are
///
/// Opens the server's login page in a browser and waits until you are done. The tokens are kept encrypted
/// and renewed by themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard login github
  toolyard login github --scope repo --scope read:org
  toolyard login github --no-browser

With --json: {\"server\", \"loggedIn\"}; the address to open is on stderr")]
pub(crate) struct Login {
    /// The server
    server: String,
    /// Ask for this permission as well
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Only print the address
    #[arg(long)]
    no_browser: bool,
}

pub(crate) async fn run(common: &Common, asked: &Login) -> Result<(), Failure> {
    let config = Source::find(common)?.load()?;
    let authority = authority(&config, &asked.server)?.ok_or_else(|| {
        Failure::usage(format!("`{}` has no login: {}", asked.server, why_none(&config, asked)))
    })?;
    let opens = !asked.no_browser && expects_browser();
    let waiting = Waiting::begin(format!("asking {} how to log in", asked.server));
    authority
        .login(None, &asked.scope, |address| {
            waiting.say("waiting for you to finish in the browser");
            anstream::eprintln!("Log in at:\n  {address}");
            if opens && !open(address.as_str()) {
                anstream::eprintln!("No browser could be started; open the address yourself.");
            }
        })
        .await
        .map_err(|err| Failure::new(format!("the login at `{}` did not work: {err}", asked.server)))?;
    drop(waiting);
    if common.json {
        return Ok(output::json(&json!({ "server": asked.server, "loggedIn": true }))?);
    }
    Ok(output::text(&format!(
        "Logged in at `{0}`. Next: `toolyard list {0}` shows its tools.",
        asked.server
    ))?)
}

/// Returns what holds the right to use a server; `None` where OAuth is not used.
pub(crate) fn authority(config: &Config, name: &str) -> Result<Option<Authority>, Failure> {
    let server = config.servers.get(name).ok_or_else(|| setup::no_server(config, name))?;
    let (Transport::Http { url, headers, auth } | Transport::Sse { url, headers, auth }) = &server.transport
    else {
        return Ok(None);
    };
    if headers.keys().any(|header| header.eq_ignore_ascii_case("authorization")) {
        return Ok(None);
    }
    let Some(settings) = Settings::of(auth) else { return Ok(None) };
    let vault = Vault::open(&config.store.folder, Keyring::system());
    let authority = Authority::new(name, url, settings, vault);
    authority.map(Some).map_err(|err| Failure::usage(err.to_string()))
}

fn why_none(config: &Config, asked: &Login) -> &'static str {
    match config.servers.get(&asked.server).map(|server| &server.transport) {
        Some(Transport::Http { auth: Auth::Off, .. } | Transport::Sse { auth: Auth::Off, .. }) => {
            "`auth` is off for it in the configuration"
        }
        Some(Transport::Http { .. } | Transport::Sse { .. }) => {
            "its `Authorization` header in the configuration is used"
        }
        Some(Transport::Stdio { .. } | Transport::Builtin(_)) | None => "it is not reached over HTTP",
    }
}

/// Whether a browser that opens here is one that the person sees.
pub(crate) fn expects_browser() -> bool {
    let is_remote = env("SSH_CONNECTION").is_some() || env("SSH_TTY").is_some();
    let has_screen =
        cfg!(target_os = "macos") || env("DISPLAY").is_some() || env("WAYLAND_DISPLAY").is_some();
    has_screen && !is_remote
}

/// Opens an address in the browser; false where there is none.
pub(crate) fn open(address: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
    };
    quiet(Command::new(program).arg(address))
}
