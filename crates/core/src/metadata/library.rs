//! The metadata that comes with the product, for the servers that people really use.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Sidecar;
use crate::tool::Tool;

/// Files of metadata, found by the names of a server's tools: what a person calls a server says little.
///
/// A file that comes with the product is read when a server needs it, and not kept: most people have few of the servers.
#[derive(Debug, Default)]
pub struct Library {
    files: Vec<File>,
    /// The files that name a tool.
    by_tool: HashMap<Cow<'static, str>, Vec<usize>>,
}

/// One file, and how many tools it is about.
#[derive(Debug)]
struct File {
    content: Content,
    tools: usize,
}

#[derive(Debug)]
enum Content {
    /// The name and the text of a file that comes with the product.
    Inside(&'static str, &'static str),
    Read(Box<Sidecar>),
}

/// What is read of every file.
#[derive(Deserialize)]
struct Outline<'t> {
    #[serde(borrow)]
    tools: BTreeMap<Cow<'t, str>, IgnoredAny>,
}

/// Each file of the folder `library`: its name and text.
mod files {
    include!(concat!(env!("OUT_DIR"), "/library.rs"));
}

/// Servers with fewer tools share their names with strangers by chance.
const FEW_TOOLS: usize = 3;

impl File {
    fn sidecar(&self) -> Cow<'_, Sidecar> {
        match &self.content {
            Content::Inside(name, text) => Cow::Owned(
                Sidecar::parse(text).unwrap_or_else(|err| panic!("a test reads every file; {name}: {err}")),
            ),
            Content::Read(sidecar) => Cow::Borrowed(sidecar),
        }
    }
}

impl Library {
    /// Returns the library that comes with the product; which tools it is about is read on first use.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Library> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            Self::of(files::FILES.iter().map(|(name, text)| {
                let outline: Outline<'static> = serde_json::from_str(text)
                    .unwrap_or_else(|err| panic!("a test reads every file; {name}: {err}"));
                (Content::Inside(name, text), outline.tools.into_keys().collect())
            }))
        })
    }

    /// Makes a library of files.
    pub fn new(sidecars: Vec<Sidecar>) -> Self {
        Self::of(sidecars.into_iter().map(|sidecar| {
            let tools = sidecar.tools.keys().cloned().map(Cow::Owned).collect();
            (Content::Read(Box::new(sidecar)), tools)
        }))
    }

    fn of(files: impl Iterator<Item = (Content, Vec<Cow<'static, str>>)>) -> Self {
        let mut library = Self::default();
        for (at, (content, tools)) in files.enumerate() {
            library.files.push(File { content, tools: tools.len() });
            for tool in tools {
                library.by_tool.entry(tool).or_default().push(at);
            }
        }
        library
    }

    /// Returns all files, each read anew.
    pub fn sidecars(&self) -> impl Iterator<Item = Cow<'_, Sidecar>> {
        self.files.iter().map(File::sidecar)
    }

    /// Returns the file about the server that lists `tools`.
    ///
    /// Most of the server's tools must be in the file. Of a server with one or two tools all must be, and
    /// the file must be about few tools as well.
    pub fn about(&self, tools: &[Tool]) -> Option<Cow<'_, Sidecar>> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for tool in tools {
            for at in self.by_tool.get(tool.name.as_str()).into_iter().flatten() {
                *shared.entry(*at).or_default() += 1;
            }
        }
        let likeness = |(at, shared): &(usize, usize)| {
            let all = tools.len() + self.files[*at].tools - shared;
            *shared as f64 / all as f64
        };
        let fits = |(at, shared): &(usize, usize)| {
            if tools.len() < FEW_TOOLS {
                *shared == tools.len() && self.files[*at].tools <= FEW_TOOLS
            } else {
                *shared >= FEW_TOOLS && 2 * shared >= tools.len()
            }
        };
        let best = shared
            .into_iter()
            .filter(fits)
            .max_by(|a, b| likeness(a).total_cmp(&likeness(b)).then_with(|| b.0.cmp(&a.0)));
        best.map(|(at, _)| self.files[at].sidecar())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;

    use super::*;
    use crate::catalog::{Advertised, Bounds, Catalog};

    fn catalog(server: &str, names: &[&str]) -> Catalog {
        let define = |name: &&str| RawValue::from_string(format!(r#"{{"name": "{name}"}}"#)).expect("JSON");
        let tools = names.iter().map(define).collect();
        let bounds = Bounds { tools: 100, name_chars: 100, description_chars: 1000, nesting: 20 };
        Catalog::gather([(Advertised { server: Arc::from(server), tools }, bounds)]).0
    }

    fn found(names: &[&str]) -> Option<String> {
        let sidecar = |server: &str, tools: &str| {
            let tools = tools.split(' ').map(|tool| (tool.to_owned(), super::super::Note::default()));
            Sidecar { server: server.to_owned(), tools: tools.collect(), ..Sidecar::default() }
        };
        let library = Library::new(vec![
            sidecar("git", "status add commit push"),
            sidecar("gitmore", "status add commit push pull fetch log"),
            sidecar("fetch", "fetch"),
        ]);
        library.about(catalog("x", names).tools()).map(|sidecar| sidecar.server.clone())
    }

    #[test]
    fn r2_a_server_is_known_by_its_tools_not_by_its_name() {
        assert_eq!(found(&["status", "add", "commit"]).as_deref(), Some("git"));
        assert_eq!(found(&["status", "add", "commit", "push", "pull", "log"]).as_deref(), Some("gitmore"));
        assert_eq!(found(&["fetch"]).as_deref(), Some("fetch"));
        assert_eq!(found(&["fetch", "other"]), None);
        assert_eq!(found(&["status", "add", "a", "b", "c"]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn r2_every_file_of_the_library_is_sound() {
        let sidecars: Vec<_> = Library::builtin().sidecars().collect();
        assert!(sidecars.len() > 30, "{}", sidecars.len());
        let problems: Vec<String> = sidecars
            .iter()
            .flat_map(|sidecar| sidecar.problems().into_iter().map(|it| format!("{}: {it}", sidecar.server)))
            .collect();
        assert_eq!(problems, Vec::<String>::new());
    }
}
