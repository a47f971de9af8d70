//! One more server.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toolyard_hub::config::edit;
use toolyard_packs::PACKS;

use crate::common::Common;
use crate::failure::Failure;
use crate::output;
use crate::settings::Settings;

/// Add a server to the configuration
///
/// The file keeps its comments and layout. Without a file, one is made in your configuration folder that
/// has the built-in servers in it as well. `${NAME}` stands for a variable of the environment, so that
/// keys need not be written into the file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard add files -- npx -y @modelcontextprotocol/server-filesystem ~/Documents
  toolyard add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- github-mcp-server stdio
  toolyard add docs https://example.com/mcp
  toolyard add docs https://example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'
  toolyard add desk --builtin desk                   one of `toolyard packs`

With --json: {\"added\", \"file\", \"created\"}")]
pub(crate) struct Add {
    /// What to call the server; its tools are named NAME__tool
    name: String,
    /// Where the server is, when it is reached over HTTP
    #[arg(conflicts_with = "command")]
    url: Option<String>,
    /// A header for every request, as NAME=VALUE
    #[arg(long, value_name = "K=V", requires = "url")]
    header: Vec<String>,
    /// A variable for the server's environment, as NAME=VALUE
    #[arg(long, value_name = "K=V", requires = "command")]
    env: Vec<String>,
    /// The folder that the server runs in
    #[arg(long, value_name = "DIR", requires = "command")]
    cwd: Option<PathBuf>,
    /// A server that comes with Toolyard; `toolyard packs` lists them
    #[arg(long, value_name = "PACK", conflicts_with_all = ["url", "command"])]
    builtin: Option<String>,
    /// The folder in which a built-in server keeps what it has
    #[arg(long, value_name = "DIR", requires = "builtin")]
    folder: Option<PathBuf>,
    /// The command that starts the server, and its arguments
    #[arg(last = true)]
    command: Vec<String>,
}

pub(crate) fn run(common: &Common, asked: &Add) -> Result<(), Failure> {
    let server = entry(asked)?;
    let settings = Settings::open(common)?;
    let text =
        edit::add_server(&settings.text, &asked.name, &server).map_err(|err| settings.refused(&err))?;
    settings.write(&text)?;
    let Settings { path, is_new, .. } = &settings;
    if common.json {
        return Ok(output::json(&json!({ "added": asked.name, "file": path, "created": is_new }))?);
    }
    let made = if *is_new { " (new, with the built-in servers)" } else { "" };
    Ok(output::text(&format!(
        "Added `{0}` to {1}{made}.\nNext: `toolyard doctor {0}` checks that it works, `toolyard list {0}` shows its tools.",
        asked.name,
        path.display(),
    ))?)
}

/// Returns the server in the form of the settings file.
fn entry(asked: &Add) -> Result<Value, Failure> {
    let mut server = Map::new();
    if let Some(pack) = &asked.builtin {
        if !PACKS.iter().any(|known| known.name == pack) {
            let known: Vec<&str> = PACKS.iter().map(|known| known.name).collect();
            return Err(Failure::usage(format!("there is no built-in server `{pack}`"))
                .hint(format!("one of {}", known.join(", "))));
        }
        server.insert("builtin".to_owned(), json!(pack));
        if let Some(folder) = &asked.folder {
            let folder: PathBuf = std::env::current_dir()?.join(folder).components().collect();
            server.insert("folder".to_owned(), json!(folder));
        }
        return Ok(Value::Object(server));
    }
    match (&asked.url, asked.command.split_first()) {
        (Some(url), _) if !url.starts_with("http://") && !url.starts_with("https://") => {
            return Err(Failure::usage(format!("`{url}` is not an address"))
                .hint(format!("a command stands after two dashes: toolyard add {} -- {url}", asked.name)));
        }
        (Some(url), _) => {
            server.insert("url".to_owned(), json!(url));
            insert_pairs(&mut server, "headers", &asked.header)?;
        }
        (None, Some((command, args))) => {
            let here = std::env::current_dir()?;
            // The file may be elsewhere, and what is relative in it starts there.
            let absolute = |path: &Path| here.join(path).components().collect::<PathBuf>();
            let command = match command.contains('/') {
                true => absolute(Path::new(command)).to_string_lossy().into_owned(),
                false => command.clone(),
            };
            server.insert("command".to_owned(), json!(command));
            if !args.is_empty() {
                server.insert("args".to_owned(), json!(args));
            }
            insert_pairs(&mut server, "env", &asked.env)?;
            if let Some(cwd) = &asked.cwd {
                server.insert("cwd".to_owned(), json!(absolute(cwd)));
            }
        }
        (None, None) => {
            let hint = match PACKS.iter().find(|known| known.name == asked.name) {
                Some(known) => format!("toolyard add {0} --builtin {0}", known.name),
                None => format!("toolyard add {0} URL, or toolyard add {0} -- COMMAND ARGS…", asked.name),
            };
            return Err(Failure::usage("there is neither a URL nor a command").hint(hint));
        }
    }
    Ok(Value::Object(server))
}

fn insert_pairs(server: &mut Map<String, Value>, key: &str, pairs: &[String]) -> Result<(), Failure> {
    let mut map = Map::new();
    for pair in pairs {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            Failure::usage(format!("`{pair}` is not NAME=VALUE"))
                .hint("put quotes around it if it has spaces")
        })?;
        map.insert(name.trim().to_owned(), json!(value));
    }
    if !map.is_empty() {
        server.insert(key.to_owned(), Value::Object(map));
    }
    Ok(())
}
