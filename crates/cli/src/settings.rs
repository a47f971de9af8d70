//! The settings file as commands change it.

use std::io::ErrorKind;
use std::path::PathBuf;

use toolyard_hub::config::{self, Config, Folders, edit};

use crate::common::Common;
use crate::failure::Failure;
use crate::setup::{Source, env};

/// A new file has what was there without one, so that nothing vanishes with the first change.
const BEGINNING: &str = r#"{
  "mcpServers": {
    // Built in; delete what you do not need.
    "notes": { "builtin": "notes" },
    "time": { "builtin": "time" }
  }
}
"#;

/// The settings file and its text.
#[derive(Debug)]
pub(crate) struct Settings {
    source: Source,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// Whether there is no such file yet.
    pub(crate) is_new: bool,
}

impl Settings {
    /// Reads the file that a change would go to.
    pub(crate) fn open(common: &Common) -> Result<Self, Failure> {
        let source = Source::find(common)?;
        let path = source.path.clone().unwrap_or_else(|| source.folders.config.join(config::FILE_NAME));
        let (text, is_new) = match config::read_text(&path) {
            Ok(text) => (text, false),
            Err(err) if err.kind() == ErrorKind::NotFound => (BEGINNING.to_owned(), true),
            Err(err) => return Err(Failure::usage(format!("{}: cannot be read: {err}", path.display()))),
        };
        Ok(Self { source, path, text, is_new })
    }

    /// Returns the folders of the user.
    pub(crate) fn folders(&self) -> &Folders {
        &self.source.folders
    }

    /// Returns where files are kept as they were before a kind of change.
    pub(crate) fn backups(&self, change: &str) -> PathBuf {
        self.folders().data.join("backups").join(change)
    }

    /// Returns what the settings mean.
    pub(crate) fn load(&self) -> Result<Config, Failure> {
        self.source.load()
    }

    /// Refuses a text that would bring mistakes into the file.
    pub(crate) fn check(&self, text: &str) -> Result<(), Failure> {
        let parse = |text: &str| config::parse(text, &self.path, &env, self.folders());
        let before = parse(&self.text);
        let after = match (parse(text), &before) {
            // A hub leaves a server out that lacks a variable; whoever adds one is told before that.
            (Ok(after), Ok(before)) => {
                let new = after.off.into_iter().filter(|(name, _)| !before.off.contains_key(name));
                new.flat_map(|(_, off)| off.mistakes).collect()
            }
            (Ok(_), Err(_)) => Vec::new(),
            (Err(mistakes), _) => mistakes,
        };
        let before = before.err().unwrap_or_default();
        // A file that has mistakes already may still be made better.
        if !after.is_empty() && after.len() >= before.len().max(1) {
            return Err(Failure::from(after).hint("nothing was changed"));
        }
        Ok(())
    }

    /// Writes another text, unless it has mistakes.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        self.check(text)?;
        edit::write(&self.path, text.as_bytes())
            .map_err(|err| Failure::new(format!("{}: cannot be written: {err}", self.path.display())))
    }

    /// Tells why the text cannot be changed as asked.
    pub(crate) fn refused(&self, error: &edit::Error) -> Failure {
        let failure = Failure::usage(match error {
            edit::Error::Syntax { .. } | edit::Error::NotAnObject { .. } | edit::Error::Unsafe => {
                format!("{}: {error}", self.path.display())
            }
            edit::Error::NoName | edit::Error::Exists { .. } | edit::Error::Missing { .. } => {
                error.to_string()
            }
        });
        match error {
            edit::Error::Exists { name } => {
                failure.hint(format!("choose another name, or `toolyard remove {name}` first"))
            }
            edit::Error::Syntax { .. }
            | edit::Error::NotAnObject { .. }
            | edit::Error::Unsafe
            | edit::Error::NoName
            | edit::Error::Missing { .. } => failure,
        }
    }
}
