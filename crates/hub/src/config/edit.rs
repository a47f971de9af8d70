//! Changes a settings file without touching the rest of it: comments, order and layout stay.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jsonc_parser::CollectOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use serde_json::Value;

use super::{BYTE_ORDER_MARK, dialect, nearest, sentence};

/// Why a text was not changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not JSON with comments.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// What the reader met.
        message: String,
    },
    /// A key holds something other than an object.
    #[error("{what} is not an object")]
    NotAnObject {
        /// The key, or the file itself.
        what: String,
    },
    /// A server needs a name.
    #[error("the name of a server cannot be empty")]
    NoName,
    /// There is already a server of that name.
    #[error("there is already a server `{name}`")]
    Exists {
        /// The name.
        name: String,
    },
    /// There is no server of that name.
    #[error("there is no server `{name}`{}", nearest.as_ref().map_or_else(String::new, |it| format!("; did you mean `{it}`?")))]
    Missing {
        /// The name.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// The change could not be made in this text; nothing was changed.
    #[error("the layout of the file cannot be changed safely; edit it by hand")]
    Unsafe,
}

/// Adds a server; an empty text becomes a new file.
pub fn add_server(text: &str, name: &str, server: &Value) -> Result<String, Error> {
    if name.trim().is_empty() {
        return Err(Error::NoName);
    }
    change(text, |root| {
        let servers = servers_object(root)?;
        match servers.get(name) {
            Some(_) => Err(Error::Exists { name: name.to_owned() }),
            None => {
                servers.append(name, input(server));
                Ok(())
            }
        }
    })
}

/// Removes a server.
pub fn remove_server(text: &str, name: &str) -> Result<String, Error> {
    change(text, |root| {
        let object = root_object(root)?;
        let places = ["mcpServers", "servers"].into_iter().filter_map(|key| object.object_value(key));
        let mut names = Vec::new();
        for servers in places {
            if let Some(property) = servers.get(name) {
                property.remove();
                return Ok(());
            }
            names.extend(servers.properties().iter().filter_map(|property| property.decoded_name()));
        }
        let nearest = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
        Err(Error::Missing { name: name.to_owned(), nearest })
    })
}

/// Sets `routing.confidenceThreshold`.
pub fn set_confidence(text: &str, confidence: f64) -> Result<String, Error> {
    change(text, |root| {
        let routing = object_under(&root_object(root)?, "routing")?;
        let value = input(&Value::from(confidence));
        match routing.get("confidenceThreshold") {
            Some(property) => property.set_value(value),
            None => drop(routing.append("confidenceThreshold", value)),
        }
        Ok(())
    })
}

/// Writes a file in one step, so that a full disk or a power cut leaves the old one whole.
///
/// Permissions stay as they were; a new file is only for its owner, because it may hold keys.
/// Folders that are missing are made, and a link is followed and kept.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => link_target(path)?,
        Err(error) => return Err(error),
    };
    let folder = target.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let (temporary, mut file) = create_beside(&target)?;
    let written = (|| {
        file.write_all(contents)?;
        if let Ok(old) = fs::metadata(&target) {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&temporary, &target)
    })();
    if written.is_err() {
        // The error that is returned matters more than a leftover file.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    sync_folder(folder)
}

/// Applies a change to the text and makes sure that it changed nothing else.
pub(crate) fn change(
    text: &str,
    edit: impl FnOnce(&CstRootNode) -> Result<(), Error>,
) -> Result<String, Error> {
    let (mark, body) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(body) => (&text[..BYTE_ORDER_MARK.len_utf8()], body),
        None => ("", text),
    };
    let root = parse(body)?;
    edit(&root)?;
    let mut changed = root.to_string();
    // What is written must still be readable, whatever the editing of comments and commas came to.
    parse(&changed).map_err(|_| Error::Unsafe)?;
    if body.trim().is_empty() && !changed.ends_with('\n') {
        changed.push('\n');
    }
    Ok(format!("{mark}{changed}"))
}

/// Reads the value of a text; an empty one has none.
pub(crate) fn value_of(text: &str) -> Result<Option<Value>, Error> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &dialect()).map_err(syntax)?;
    Ok(parsed.value.map(Value::from))
}

/// Returns the object of a document, which an empty text becomes.
pub(crate) fn root_object(root: &CstRootNode) -> Result<CstObject, Error> {
    root.object_value_or_create().ok_or_else(|| Error::NotAnObject { what: "the file".to_owned() })
}

/// Returns the object under a key, which is made where it is missing.
pub(crate) fn object_under(object: &CstObject, key: &str) -> Result<CstObject, Error> {
    object.object_value_or_create(key).ok_or_else(|| Error::NotAnObject { what: format!("`{key}`") })
}

/// Brings a JSON value into the form that the editor of documents takes.
pub(crate) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(it) => CstInputValue::Number(it.to_string()),
        Value::String(it) => CstInputValue::String(it.clone()),
        Value::Array(elements) => CstInputValue::Array(elements.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

fn parse(text: &str) -> Result<CstRootNode, Error> {
    CstRootNode::parse(text, &dialect()).map_err(syntax)
}

#[expect(clippy::needless_pass_by_value, reason = "the form that `map_err` calls")]
fn syntax(error: ParseError) -> Error {
    Error::Syntax {
        line: error.line_display(),
        column: error.column_display(),
        message: sentence(&error.kind().to_string()),
    }
}

fn servers_object(root: &CstRootNode) -> Result<CstObject, Error> {
    let object = root_object(root)?;
    let key = if object.get("mcpServers").is_none() && object.get("servers").is_some() {
        "servers"
    } else {
        "mcpServers"
    };
    object_under(&object, key)
}

/// Follows a link to a file that is not there yet.
fn link_target(path: &Path) -> io::Result<PathBuf> {
    match fs::read_link(path) {
        Ok(target) => Ok(path.parent().unwrap_or(Path::new("")).join(target)),
        Err(_) => std::path::absolute(path),
    }
}

fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    for attempt in 0_u32.. {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{attempt}", std::process::id()));
        let temporary = target.with_file_name(temporary);
        match options.open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
            opened => return opened.map(|file| (temporary, file)),
        }
    }
    unreachable!("the loop ends by returning")
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FILE: &str = r#"{
  // My servers.
  "mcpServers": {
    "git": { "command": "git-mcp" }, // local
    /* remote */
    "docs": {
      "url": "https://example.com/mcp",
    },
  },
  "serve": { "surface": "all" }
}
"#;

    #[test]
    fn adding_keeps_comments_and_layout() {
        let server = json!({ "command": "npx", "args": ["-y", "a\"b\\c"], "env": {} });
        insta::assert_snapshot!(add_server(FILE, "new", &server).unwrap(), @r#"
        {
          // My servers.
          "mcpServers": {
            "git": { "command": "git-mcp" }, // local
            /* remote */
            "docs": {
              "url": "https://example.com/mcp",
            },
            "new": {
              "command": "npx",
              "args": ["-y", "a\"b\\c"],
              "env": {},
            },
          },
          "serve": { "surface": "all" }
        }
        "#);
    }

    #[test]
    fn an_empty_text_becomes_a_new_file() {
        let server = json!({ "url": "https://example.com/mcp" });
        insta::assert_snapshot!(add_server("", "docs", &server).unwrap(), @r#"
        {
          "mcpServers": {
            "docs": {
              "url": "https://example.com/mcp"
            }
          }
        }
        "#);
    }

    #[test]
    fn a_byte_order_mark_and_line_ends_stay() {
        let text = "\u{feff}{\r\n  \"servers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n";
        let added = add_server(text, "b", &json!({ "command": "b" })).unwrap();
        assert_eq!(
            added,
            "\u{feff}{\r\n  \"servers\": {\r\n    \"a\": {},\r\n    \"b\": {\r\n      \"command\": \"b\"\r\n    }\r\n  }\r\n}\r\n"
        );
    }

    #[test]
    fn removing_keeps_comments_and_layout() {
        insta::assert_snapshot!(remove_server(FILE, "docs").unwrap(), @r#"
        {
          // My servers.
          "mcpServers": {
            "git": { "command": "git-mcp" }, // local
            /* remote */
          },
          "serve": { "surface": "all" }
        }
        "#);
    }

    #[test]
    fn what_was_added_can_be_removed_again() {
        let added = add_server(FILE, "new", &json!({ "command": "x" })).unwrap();
        assert_eq!(remove_server(&added, "new").unwrap(), FILE);
    }

    #[test]
    fn every_refusal_says_why() {
        let refusals = [
            add_server(FILE, "git", &json!({})),
            add_server("[]", "git", &json!({})),
            add_server(r#"{"mcpServers": 1}"#, "git", &json!({})),
            add_server("{\n  \"a\": 1 \"b\": 2 }", "git", &json!({})),
            add_server(FILE, " ", &json!({})),
            remove_server(FILE, "gti"),
            remove_server(FILE, "weather"),
        ]
        .map(|refusal| refusal.unwrap_err().to_string());
        insta::assert_snapshot!(refusals.join("\n"), @"
        there is already a server `git`
        the file is not an object
        `mcpServers` is not an object
        line 2, column 9: expected comma
        the name of a server cannot be empty
        there is no server `gti`; did you mean `git`?
        there is no server `weather`
        ");
    }

    #[test]
    fn writing_replaces_the_file_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/toolyard.json");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn writing_keeps_permissions_and_links() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        write(&real, b"one").unwrap();
        assert_eq!(mode(&real), 0o600);
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        write(&link, b"two").unwrap();
        assert!(link.is_symlink());
        assert_eq!((fs::read(&real).unwrap(), mode(&real)), (b"two".to_vec(), 0o640));
    }

    #[cfg(unix)]
    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("toolyard.json");
        write(&path, b"one").unwrap();
        // A folder in the place of the file cannot be replaced by a file.
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        write(&taken, b"two").unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
