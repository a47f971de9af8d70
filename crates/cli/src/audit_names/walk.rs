//! The files of a tree, searched on all cores.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::search::{Hit, Searcher};

/// Folders in which other programs keep what is nobody's text.
const FOLDERS: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// What was found in a tree.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Files with old names, by path.
    pub(super) found: Vec<Found>,
    /// How many files were searched.
    pub(super) searched: usize,
    /// What could not be read, and why.
    pub(super) unread: Vec<(PathBuf, String)>,
}

/// A file with old names.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) hits: Vec<Hit>,
}

/// What a thread tells.
enum Told {
    Found(Found),
    Unread(PathBuf, String),
}

/// Searches files and folders; `except` is a folder that is left out.
pub(super) fn search(paths: &[PathBuf], searcher: &Searcher, except: Option<&Path>) -> Walked {
    let Some((first, others)) = paths.split_first() else { return Walked::default() };
    let mut builder = WalkBuilder::new(first);
    for path in others {
        builder.add(path);
    }
    let except = except.and_then(|folder| folder.canonicalize().ok());
    // Prompts often lie in hidden folders, and a tree need not be a repository to have rules.
    builder.hidden(false).require_git(false).follow_links(false);
    builder.filter_entry(move |entry| !is_left_out(entry, except.as_deref()));
    builder.threads(std::thread::available_parallelism().map_or(2, usize::from));
    let (tell, told) = mpsc::channel();
    let searched = AtomicUsize::new(0);
    builder.build_parallel().run(|| {
        let (tell, searched, mut piece) = (tell.clone(), &searched, Vec::new());
        Box::new(move |entry| {
            let told = match entry {
                Ok(entry) if is_file(&entry) => look(entry.path(), searcher, &mut piece, searched),
                Ok(_) => None,
                Err(error) => Some(Told::Unread(place(&error), error.to_string())),
            };
            // Nobody stops listening before all threads are done.
            let _ = told.map(|told| tell.send(told));
            WalkState::Continue
        })
    });
    drop(tell);
    let mut walked = Walked { searched: searched.into_inner(), ..Walked::default() };
    for told in told {
        match told {
            Told::Found(found) => walked.found.push(found),
            Told::Unread(path, why) => walked.unread.push((path, why)),
        }
    }
    // One file may be named twice, as `./a` and as `a`.
    walked.found.sort_by(|a, b| bare(&a.path).cmp(bare(&b.path)));
    walked.found.dedup_by(|a, b| bare(&a.path) == bare(&b.path));
    walked.unread.sort();
    walked.unread.dedup();
    walked
}

fn look(path: &Path, searcher: &Searcher, piece: &mut Vec<u8>, searched: &AtomicUsize) -> Option<Told> {
    let hits = File::open(path).and_then(|mut file| searcher.search(&mut file, piece));
    match hits {
        Ok(hits) => {
            searched.fetch_add(1, Ordering::Relaxed);
            let hits = hits.filter(|hits| !hits.is_empty())?;
            Some(Told::Found(Found { path: path.to_owned(), hits }))
        }
        Err(error) => Some(Told::Unread(path.to_owned(), error.to_string())),
    }
}

/// Whether an entry is searched: a file, but no copy that an editor or this program made. A link is followed where it
/// was named itself.
fn is_file(entry: &DirEntry) -> bool {
    let is_named = entry.depth() == 0 && entry.path().is_file();
    let is_copy = entry.file_name().to_string_lossy().ends_with('~');
    is_named || !is_copy && entry.file_type().is_some_and(|kind| kind.is_file())
}

fn is_left_out(entry: &DirEntry, except: Option<&Path>) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    let is_of_others = FOLDERS.iter().any(|name| entry.file_name() == *name);
    let is_except = || except.is_some_and(|except| entry.path().canonicalize().is_ok_and(|it| it == except));
    is_folder && entry.depth() > 0 && (is_of_others || is_except())
}

fn bare(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

/// Returns what an error of the walk is about.
fn place(error: &ignore::Error) -> PathBuf {
    match error {
        ignore::Error::WithPath { path, .. } => path.clone(),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => place(err),
        ignore::Error::Loop { child, .. } => child.clone(),
        ignore::Error::Partial(_)
        | ignore::Error::Io(_)
        | ignore::Error::Glob { .. }
        | ignore::Error::UnrecognizedFileType(_)
        | ignore::Error::InvalidDefinition => PathBuf::new(),
    }
}
