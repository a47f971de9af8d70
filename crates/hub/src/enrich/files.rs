//! The file in which what a model wrote about a server is kept, and its draft.
//!
//! A draft has another ending, so that it does not count. A person's own notes in the file stay whatever happens.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toolyard_core::metadata::{Note, Sidecar};
use toolyard_core::tool::ToolId;

use super::{BY, Error};
use crate::config::{BYTE_ORDER_MARK, edit};

/// What the name of each file begins with.
const PREFIX: &str = "enriched-";
/// What the name of a draft ends with.
const DRAFT: &str = "draft";

/// The file of a server, and its draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrichFile {
    /// The file that counts.
    pub path: PathBuf,
    /// The server that it is about.
    pub server: String,
}

impl EnrichFile {
    /// Finds the file of a server in a folder; it need not be there.
    pub fn of(folder: &Path, server: &str) -> Result<Self, Error> {
        let stem = ToolId::server_prefix(server).to_lowercase();
        let numbered = (2_usize..).map(|number| format!("{PREFIX}{stem}-{number}.json"));
        let names = std::iter::once(format!("{PREFIX}{stem}.json")).chain(numbered);
        // Two servers whose names differ only in odd letters, or in case, must not share a file.
        for path in names.map(|name| folder.join(name)) {
            let file = Self { path, server: server.to_owned() };
            let owners = [read(&file.path)?, read(&file.draft())?];
            if owners.iter().flatten().all(|sidecar| sidecar.server == server) {
                return Ok(file);
            }
        }
        unreachable!("numbers do not end")
    }

    /// Returns what counts, by tool.
    pub fn notes(&self) -> Result<BTreeMap<String, Note>, Error> {
        Ok(read(&self.path)?.map(|sidecar| sidecar.tools).unwrap_or_default())
    }

    /// Returns what was written and not yet taken over, by tool.
    pub fn drafts(&self) -> Result<BTreeMap<String, Note>, Error> {
        Ok(read(&self.draft())?.map(|sidecar| sidecar.tools).unwrap_or_default())
    }

    /// Adds notes to the draft.
    pub fn keep(&self, notes: BTreeMap<String, Note>) -> Result<(), Error> {
        let mut drafts = self.drafts()?;
        drafts.extend(notes);
        self.write(&self.draft(), drafts)
    }

    /// Lets the drafts of these tools count, and returns how many there were. Others stay drafts: nobody has seen them.
    pub fn take_over(&self, tools: &BTreeSet<String>) -> Result<usize, Error> {
        let (seen, rest): (BTreeMap<String, Note>, BTreeMap<_, _>) =
            self.drafts()?.into_iter().partition(|(tool, _)| tools.contains(tool));
        if seen.is_empty() {
            return Ok(0);
        }
        let (mut notes, count) = (self.notes()?, seen.len());
        notes.extend(seen);
        self.write(&self.path, notes)?;
        match rest.is_empty() {
            true => remove(&self.draft())?,
            false => self.write(&self.draft(), rest)?,
        }
        Ok(count)
    }

    /// Takes everything back that a model wrote, drafts too; returns about how many tools it was.
    pub fn undo(&self) -> Result<usize, Error> {
        let (notes, drafts) = (self.notes()?, self.drafts()?);
        let is_made = |note: &Note| note.source.as_ref().is_some_and(|source| source.by == BY);
        let (made, own): (BTreeMap<String, Note>, BTreeMap<_, _>) =
            notes.into_iter().partition(|(_, note)| is_made(note));
        if own.is_empty() {
            remove(&self.path)?;
        } else if !made.is_empty() {
            self.write(&self.path, own)?;
        }
        remove(&self.draft())?;
        Ok(made.keys().chain(drafts.keys()).collect::<BTreeSet<_>>().len())
    }

    fn draft(&self) -> PathBuf {
        self.path.with_extension(format!("json.{DRAFT}"))
    }

    /// Writes notes and keeps what else stands in the file.
    fn write(&self, path: &Path, tools: BTreeMap<String, Note>) -> Result<(), Error> {
        let known = read(path)?.unwrap_or_default();
        let sidecar = Sidecar { server: self.server.clone(), tools, ..known };
        let text = serde_json::to_string_pretty(&sidecar).expect("metadata has a JSON form") + "\n";
        edit::write(path, text.as_bytes()).map_err(|err| wrong(path, format!("cannot be written: {err}")))
    }
}

/// Reads a file; `None` where there is none.
fn read(path: &Path) -> Result<Option<Sidecar>, Error> {
    let text = match crate::config::read_text(path) {
        Ok(text) => text,
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(wrong(path, format!("cannot be read: {err}"))),
    };
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    // A file that somebody edited badly is not written over.
    let parsed = Sidecar::parse(text);
    parsed.map(Some).map_err(|err| wrong(path, format!("is not metadata: {err}; correct or delete it")))
}

fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(err) if err.kind() != ErrorKind::NotFound => {
            Err(wrong(path, format!("cannot be deleted: {err}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn wrong(path: &Path, what: String) -> Error {
    Error::File { path: path.to_owned(), what }
}
