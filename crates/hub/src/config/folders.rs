//! The folders of the user.

use std::path::PathBuf;

/// The folders of the user that settings refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The home folder, written `~`.
    pub home: PathBuf,
    /// Where the user's settings file is.
    pub config: PathBuf,
    /// Where the hub keeps what it learnt, and the sample notes.
    pub data: PathBuf,
}

impl Folders {
    /// Returns the folders by the custom of the operating system; `None` when there is no home folder.
    pub fn of_user(env: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let folder = |name: &str| env(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let home = folder(if cfg!(windows) { "USERPROFILE" } else { "HOME" })?;
        let (config, data) = if cfg!(windows) {
            (folder("APPDATA"), folder("LOCALAPPDATA"))
        } else if cfg!(target_os = "macos") {
            let support = home.join("Library/Application Support");
            (Some(support.clone()), Some(support))
        } else {
            (folder("XDG_CONFIG_HOME"), folder("XDG_DATA_HOME"))
        };
        Some(Self {
            config: config.unwrap_or_else(|| home.join(".config")).join("toolyard"),
            data: data.unwrap_or_else(|| home.join(".local/share")).join("toolyard"),
            home,
        })
    }

    pub(super) fn vault(&self) -> PathBuf {
        self.data.join("vault")
    }
}
