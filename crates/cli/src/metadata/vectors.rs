//! The vectors of the store, carried to another one.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolyard_hub::meaning::StoredVector;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use crate::{learn, setup};

/// Export and import what tools mean as vectors
///
/// The hub computes a vector for the text of each tool and keeps it in its store. A machine that imports them need not
/// compute them again; a vector database can take them as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard metadata vectors export tools.jsonl
  toolyard metadata vectors import tools.jsonl
  toolyard metadata vectors export - | jq 'select(.tool != null) | .tool'

Each line of a file is a vector: {\"model\", \"text\", \"tool\", \"scale\", \"vector\"}. `model` and `text` are hashes of what
they stand for; the numbers of `vector` are to be multiplied with `scale`.
With --json: {\"vectors\"}, how many there were")]
pub(crate) struct Vectors {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Compute the vectors of all tools as far as they are missing, and write those of the store to a file
    Export {
        /// The file, with a vector in each line; - is stdout
        file: PathBuf,
    },
    /// Put the vectors of a file into the store
    Import {
        /// The file; - is stdin
        file: PathBuf,
    },
}

pub(super) async fn run(common: &Common, asked: &Vectors) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| match &asked.command {
        Command::Export { file } => {
            learn::learn_all(hub).await;
            let snapshot = hub.snapshot();
            learn::understand(hub, &snapshot).await;
            let vectors = hub.stored_vectors(&snapshot);
            let lines: Vec<String> = vectors.iter().map(|vector| json!(vector).to_string()).collect();
            if file == Path::new("-") {
                return Ok(output::text(&lines.join("\n"))?);
            }
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            std::fs::write(file, text)
                .map_err(|err| Failure::new(format!("`{}` cannot be written: {err}", file.display())))?;
            tell(common, &format!("wrote {}", file.display()), vectors.len())
        }
        Command::Import { file } => {
            let vectors = read(file)?;
            hub.keep_vectors(&vectors).map_err(|err| Failure::usage(format!("{}: {err}", file.display())))?;
            tell(common, &format!("took {}", file.display()), vectors.len())
        }
    })
    .await
}

fn tell(common: &Common, what: &str, vectors: usize) -> Result<(), Failure> {
    if common.json {
        return Ok(output::json(&json!({ "vectors": vectors }))?);
    }
    Ok(output::text(&format!("{what}, {}", count(vectors, "vector")))?)
}

fn read(file: &Path) -> Result<Vec<StoredVector>, Failure> {
    let failed = |why: String| Failure::usage(format!("`{}` cannot be read: {why}", file.display()));
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map_err(|err| failed(err.to_string()))?;
    } else {
        text = std::fs::read_to_string(file).map_err(|err| failed(err.to_string()))?;
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(at, line)| {
        serde_json::from_str(line).map_err(|err| failed(format!("line {} is no vector: {err}", at + 1)))
    });
    read.collect()
}
