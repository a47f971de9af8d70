//! Files from what is known of tools.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolyard_core::catalog::Catalog;
use toolyard_core::metadata::{Knowledge, Library, Metadata, Sidecar};
use toolyard_core::tool::ToolId;
use toolyard_hub::hub::Hub;

use crate::common::Common;
use crate::failure::Failure;
use crate::lint::listing::{self, StoredListing};
use crate::output::{self, count};
use crate::setup::{self, Source};
use crate::{learn, lint};

/// Write what is known of each server's tools to a file that you can edit
///
/// Every tool gets an example call that fits its schema. Servers that were never reached are started once to learn their
/// tools. A file takes effect when it lies in the folder `metadata` beside the configuration, and wins over what is
/// inferred: keep what you change, delete the rest. Files that are there already are left alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard metadata export
  toolyard metadata export git github
  toolyard metadata export -o drafts
  toolyard metadata export --catalog listing.json -o drafts
  toolyard metadata export --json git | jq '.sidecars[0].tools'

With --json nothing is written: {\"sidecars\": [{\"server\", \"aliases\", \"tools\": {NAME: {\"action\",
\"targets\", \"category\", \"effect\", \"tags\", \"keywords\", \"useCases\", \"examples\", \"exampleCall\", \"chainsWith\",
\"typicalWorkflows\", \"estimatedLatency\", \"rateLimit\"}}}]}")]
pub(crate) struct Export {
    /// Only these servers
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// A stored listing of tools, as `lint` takes it; nothing is started. `-` is stdin
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// Where the files go; by default the folder `metadata` beside the configuration
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

/// What became of one file.
enum Fate {
    Written(usize),
    Kept,
}

pub(super) async fn run(common: &Common, asked: &Export) -> Result<(), Failure> {
    let source = Source::find(common)?;
    let beside =
        source.path.as_deref().and_then(Path::parent).unwrap_or(&source.folders.config).join("metadata");
    let folder = asked.output.clone().unwrap_or(beside);
    if let Some(path) = &asked.catalog {
        return finish(common, asked, &folder, &stored(path, asked)?);
    }
    setup::with_config(source.load()?, async |hub| {
        for name in &asked.servers {
            setup::server(hub, name)?;
        }
        match asked.servers.as_slice() {
            [] => learn::learn(hub, None).await,
            some => {
                for name in some {
                    learn::learn(hub, Some(name)).await;
                }
            }
        }
        finish(common, asked, &folder, &sidecars(hub, asked)?)
    })
    .await
}

/// Writes files, or prints what would be in them.
fn finish(common: &Common, asked: &Export, folder: &Path, sidecars: &[Sidecar]) -> Result<(), Failure> {
    if common.json {
        return Ok(output::json(&json!({ "sidecars": sidecars }))?);
    }
    let fates = write(folder, sidecars, asked)?;
    Ok(output::text(&summary(folder, &fates))?)
}

/// Returns what the library and the tools themselves say about the servers of a stored listing.
fn stored(path: &Path, asked: &Export) -> Result<Vec<Sidecar>, Failure> {
    let StoredListing { catalog, problems, .. } = listing::read(path)?;
    problems.iter().for_each(|problem| anstream::eprintln!("{problem}"));
    lint::check_servers(&catalog, &asked.servers)?;
    let knowledge = Knowledge::gather(&catalog, Some(Library::builtin()), &[], |_| None);
    let wanted = catalog.servers().map(|(name, _)| name.to_string());
    let wanted = wanted.filter(|name| asked.servers.is_empty() || asked.servers.contains(name));
    Ok(wanted.map(|server| sidecar((&catalog, &knowledge), &server, |known| known)).collect())
}

/// Returns what is known of the wanted servers; one that cannot be reached is an error only if it was named.
fn sidecars(hub: &Hub, asked: &Export) -> Result<Vec<Sidecar>, Failure> {
    let snapshot = hub.snapshot();
    let mut sidecars = Vec::new();
    for status in hub.servers() {
        let is_named = asked.servers.contains(&status.name);
        if !asked.servers.is_empty() && !is_named {
            continue;
        }
        match (status.tools, status.reason) {
            (Some(_), _) => {
                let known = (&snapshot.catalog, &snapshot.index().knowledge);
                sidecars.push(sidecar(known, &status.name, |known| hub.with_measured(known)));
            }
            (None, reason) => {
                let reason = reason.unwrap_or_else(|| "it did not answer".to_owned());
                let message = format!("server `{}` could not be asked for its tools: {reason}", status.name);
                if is_named {
                    return Err(
                        Failure::new(message).hint(format!("`toolyard doctor {}` tells more", status.name))
                    );
                }
                anstream::eprintln!("{message}");
            }
        }
    }
    Ok(sidecars)
}

fn sidecar(
    (catalog, knowledge): (&Catalog, &Knowledge),
    server: &str,
    measured: impl Fn(Metadata) -> Metadata,
) -> Sidecar {
    let known = catalog.of_server(server).iter().filter_map(|tool| {
        let position = catalog.position(tool.id.as_str())?;
        Some((tool.name.clone(), measured(Metadata::complete(catalog, knowledge, position)).note()))
    });
    let tools: BTreeMap<_, _> = known.collect();
    Sidecar {
        server: server.to_owned(),
        aliases: knowledge.aliases(server).to_vec(),
        tools,
        ..Sidecar::default()
    }
}

fn write(folder: &Path, sidecars: &[Sidecar], asked: &Export) -> Result<Vec<(String, Fate)>, Failure> {
    let failed = |path: &Path, err: &std::io::Error| {
        Failure::new(format!("`{}` cannot be written: {err}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|err| failed(folder, &err))?;
    let mut names = BTreeSet::new();
    let mut fates = Vec::new();
    for sidecar in sidecars {
        let name = file_name(&sidecar.server, &mut names);
        let path = folder.join(&name);
        let text = serde_json::to_string_pretty(sidecar).expect("metadata has a JSON form") + "\n";
        let mut options = std::fs::OpenOptions::new();
        options.write(true).truncate(true);
        let options = if asked.force { options.create(true) } else { options.create_new(true) };
        let written =
            options.open(&path).and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        let fate = match written {
            Ok(()) => Fate::Written(sidecar.tools.len()),
            Err(err) if err.kind() == ErrorKind::AlreadyExists => Fate::Kept,
            Err(err) => return Err(failed(&path, &err)),
        };
        fates.push((name, fate));
    }
    Ok(fates)
}

/// Names a file after its server, in letters that every file system knows.
fn file_name(server: &str, taken: &mut BTreeSet<String>) -> String {
    let stem = ToolId::server_prefix(server);
    // Two servers whose names differ only in odd letters, or in case, must not share a file.
    let others = (2_usize..).map(|number| format!("{stem}-{number}"));
    let free = std::iter::once(stem.clone().into_owned()).chain(others);
    let mut free = free.filter(|stem| taken.insert(stem.to_lowercase()));
    format!("{}.json", free.next().expect("numbers do not end"))
}

fn summary(folder: &Path, fates: &[(String, Fate)]) -> String {
    let mut text = String::new();
    let mut is_kept = false;
    for (name, fate) in fates {
        let path = folder.join(name);
        text += &match fate {
            Fate::Written(tools) => format!("wrote {}, {}\n", path.display(), count(*tools, "tool")),
            Fate::Kept => format!("left {} as it is\n", path.display()),
        };
        is_kept |= matches!(fate, Fate::Kept);
    }
    if fates.is_empty() {
        text += "There is nothing to write: no server could be asked.\n";
    }
    if is_kept {
        text += "`--force` replaces files that are there.\n";
    }
    text + "Next: edit what you know better, delete the rest, then `toolyard metadata check`."
}
