//! What a server wrote to its stderr.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use toolyard_core::tool::clean;
use toolyard_hub::config::Transport;
use toolyard_hub::process::read_log;
use toolyard_hub::upstream::log_path;

use crate::common::Common;
use crate::failure::Failure;
use crate::output;
use crate::setup::{self, Source};

/// How often a followed log is looked at.
const GLANCE: Duration = Duration::from_millis(200);

/// Show what a server wrote to its stderr
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard logs git
  toolyard logs git -n 200
  toolyard logs git -f

With --json: {\"server\", \"file\", \"lines\"}; with -f as well, one {\"line\"} per line of output")]
pub(crate) struct Logs {
    /// The server
    server: String,
    /// How many of the last lines
    #[arg(short = 'n', long, value_name = "LINES", default_value_t = 50)]
    lines: usize,
    /// Go on with new lines as they come
    #[arg(short, long)]
    follow: bool,
}

pub(crate) async fn run(common: &Common, asked: &Logs) -> Result<(), Failure> {
    let config = Source::find(common)?.load()?;
    let path = log_path(&config.store.folder.join("logs"), &asked.server);
    let server = config.servers.get(&asked.server);
    // The log of a server that was removed is still there to be read.
    if server.is_none() && !path.exists() {
        return Err(setup::no_server(&config, &asked.server));
    }
    let place = Place::of(&path);
    let lines = read_log(&path, asked.lines)?;
    if asked.follow {
        for line in lines {
            say(common, &line)?;
        }
        return follow(common, &path, place).await;
    }
    if common.json {
        return Ok(output::json(&json!({ "server": asked.server, "file": path, "lines": lines }))?);
    }
    if lines.is_empty() {
        let why = match server.map(|server| &server.transport) {
            Some(Transport::Stdio { .. }) | None => "it has written nothing so far",
            Some(Transport::Http { .. } | Transport::Sse { .. }) => "a server behind a URL keeps its own log",
            Some(Transport::Builtin(_)) => "a built-in server writes no log",
        };
        anstream::eprintln!("`{}` has no log: {why}", asked.server);
        return Ok(());
    }
    let lines: Vec<_> = lines.iter().map(|line| clean(line)).collect();
    Ok(output::text(&lines.join("\n"))?)
}

/// How far a log was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    inode: u64,
    bytes: u64,
}

impl Place {
    fn of(path: &Path) -> Self {
        std::fs::metadata(path)
            .map_or(Self { inode: 0, bytes: 0 }, |it| Self { inode: it.ino(), bytes: it.len() })
    }
}

async fn follow(common: &Common, path: &Path, mut place: Place) -> Result<(), Failure> {
    let mut unfinished = Vec::new();
    loop {
        tokio::time::sleep(GLANCE).await;
        let now = Place::of(path);
        if now == place {
            continue;
        }
        // A full log is put aside and a new one begun.
        let from = if now.inode == place.inode && now.bytes >= place.bytes { place.bytes } else { 0 };
        let Ok(mut file) = std::fs::File::open(path) else { continue };
        file.seek(SeekFrom::Start(from))?;
        let read = file.read_to_end(&mut unfinished)?;
        place = Place { inode: now.inode, bytes: from + read as u64 };
        let whole = unfinished.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text: Vec<u8> = unfinished.drain(..whole).collect();
        for line in String::from_utf8_lossy(&text).lines() {
            say(common, line)?;
        }
    }
}

fn say(common: &Common, line: &str) -> std::io::Result<()> {
    if common.json { output::json_line(&json!({ "line": line })) } else { output::text(&clean(line)) }
}
