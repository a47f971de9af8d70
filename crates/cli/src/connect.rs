//! Toolyard in the configuration of an MCP client.

use std::path::PathBuf;

use serde_json::json;
use toolyard_hub::clients::{self, Client, Connected, Entry, Os};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Attribute, Cell, Layout};
use crate::settings::Settings;
use crate::setup::env;
use crate::{import, serve};

/// Write Toolyard into the configuration of an MCP client
///
/// Without a client, shows which ones there are: claude-desktop, claude-code, cursor, vscode, windsurf,
/// lm-studio, codex, zed, gemini-cli. The client's file keeps everything else that is in it; as it was, it is
/// kept, and --undo brings it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard connect                  show the clients
  toolyard connect cursor           Cursor starts Toolyard itself
  toolyard connect cursor --http    Cursor connects to `toolyard serve --http`
  toolyard connect --undo           as if the last connect had not been

With --json: {\"client\", \"file\", \"written\", \"backup\"};
without a client: {\"clients\": [{\"name\", \"title\", \"file\", \"exists\"}]}")]
pub(crate) struct Connect {
    /// The client
    client: Option<Client>,
    /// Connect over HTTP to a hub that runs already, at the configured address
    #[arg(long, requires = "client")]
    http: bool,
    /// Bring back the client's file as it was before the last connect
    #[arg(long, conflicts_with_all = ["client", "http"])]
    undo: bool,
}

pub(crate) fn run(common: &Common, asked: &Connect) -> Result<(), Failure> {
    let settings = Settings::open(common)?;
    let backups = settings.backups("connect");
    if asked.undo {
        return import::undo(common, &backups);
    }
    let Some(client) = asked.client else { return show(common, &settings) };
    let path = place(&settings, client);
    let entry = entry(common, asked, &settings)?;
    let failed = |err: clients::Error| match err {
        clients::Error::NeedsCommand { .. } => Failure::usage(err.to_string()),
        clients::Error::Io { .. }
        | clients::Error::Unreadable { .. }
        | clients::Error::Changed { .. }
        | clients::Error::NothingToUndo => Failure::new(err.to_string()),
    };
    let receipt = match clients::connect(client, &path, &entry, &backups).map_err(failed)? {
        Connected::Written(receipt) => Some(receipt),
        Connected::Already => None,
    };
    if common.json {
        return Ok(output::json(&json!({
            "client": client.name(),
            "file": path,
            "written": receipt.is_some(),
            "backup": receipt.map(|receipt| receipt.backup),
        }))?);
    }
    Ok(output::text(&match receipt {
        Some(_) => format!(
            "{client} now has Toolyard ({}). `toolyard connect --undo` takes it back.\nNext: start {client} again.",
            path.display()
        ),
        None => format!("{client} has Toolyard already ({}).", path.display()),
    })?)
}

/// Returns the file that a client reads; where there is none yet, the likeliest place.
fn place(settings: &Settings, client: Client) -> PathBuf {
    let places = clients::locations(client, Os::current(), &settings.folders().home, &env);
    let there = places.iter().find(|place| place.is_file()).or(places.first());
    there.cloned().expect("every client has a place")
}

fn entry(common: &Common, asked: &Connect, settings: &Settings) -> Result<Entry, Failure> {
    if asked.http {
        let config = settings.load()?;
        let url = format!("{}://{}/mcp", serve::scheme(&config), config.serve.http);
        return Ok(Entry::Url { url, token: config.serve.token });
    }
    let mut entry = Entry::stdio(&std::env::current_exe()?);
    // Only the file of the user is found from wherever the client starts us.
    let is_elsewhere = common.config.is_some() || settings.path.parent() != Some(&settings.folders().config);
    if let (Entry::Command { args, .. }, true) = (&mut entry, is_elsewhere) {
        let config = std::path::absolute(&settings.path)?;
        args.extend(["--config".to_owned(), config.to_string_lossy().into_owned()]);
    }
    Ok(entry)
}

fn show(common: &Common, settings: &Settings) -> Result<(), Failure> {
    let all = Client::ALL.map(|client| (client, place(settings, client)));
    if common.json {
        let clients: Vec<_> = all
            .iter()
            .map(|(client, path)| {
                json!({
                    "name": client.name(), "title": client.title(),
                    "file": path, "exists": path.is_file(),
                })
            })
            .collect();
        return Ok(output::json(&json!({ "clients": clients }))?);
    }
    let rows = all.iter().map(|(client, path)| {
        vec![
            Cell::new(client.name()).add_attribute(Attribute::Bold),
            Cell::new(client.title()),
            Cell::new(if path.is_file() { "found" } else { "" }),
            Cell::new(path.display()),
        ]
    });
    let layout = Layout { header: &["client", "", "", "file"], cut: true, ..Layout::default() };
    Ok(output::text(&output::grid(layout, rows.collect()))?)
}
