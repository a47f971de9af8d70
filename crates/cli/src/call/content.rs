//! From a tool's answer to what a person sees.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use toolyard_hub::jsonrpc::Fields;

use super::readable::readable;
use crate::failure::Failure;

/// What becomes of what is no text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Save<'a> {
    /// It is written into this folder.
    In(&'a Path),
    /// It could be, with `--save`.
    Offered,
    /// It cannot be.
    No,
}

impl<'a> Save<'a> {
    /// Reads what was given with `--save`.
    pub(crate) fn asked(folder: Option<&'a Path>) -> Self {
        folder.map_or(Self::Offered, Self::In)
    }
}

/// What there is to see. The text is the server's: it is not clean yet.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) saved: Vec<PathBuf>,
}

/// Brings the parts of a result into words; what is no text is saved, or noted with its size.
pub(super) fn show(tool: &str, result: &Fields, save: Save<'_>) -> Result<Shown, Failure> {
    let mut shown = Shown::default();
    for part in result.read::<Vec<Value>>("content").unwrap_or_default() {
        let line = match part["type"].as_str().unwrap_or_default() {
            "text" => part["text"].as_str().unwrap_or_default().to_owned(),
            "resource_link" => {
                format!("{}: {}", word(&part, "name"), word(&part, "uri"))
            }
            "resource" => match part["resource"]["text"].as_str() {
                Some(text) => text.to_owned(),
                None => shown.binary(tool, &part["resource"], "blob", save)?,
            },
            _ => shown.binary(tool, &part, "data", save)?,
        };
        shown.text += line.trim_end_matches('\n');
        shown.text.push('\n');
    }
    // Servers should repeat structured content as text, and not all do.
    if shown.text.trim().is_empty()
        && let Some(structured) = result.read::<Value>("structuredContent")
    {
        shown.text = readable(&structured);
    }
    Ok(shown)
}

impl Shown {
    fn binary(&mut self, tool: &str, part: &Value, key: &str, save: Save<'_>) -> Result<String, Failure> {
        let kind = part["mimeType"].as_str().unwrap_or("application/octet-stream");
        let Some(bytes) = part[key].as_str().and_then(|text| STANDARD.decode(text).ok()) else {
            return Ok(format!("[{} that cannot be shown]", part["type"].as_str().unwrap_or("something")));
        };
        let folder = match save {
            Save::In(folder) => folder,
            Save::Offered => return Ok(format!("[{kind}, {}; --save DIR keeps it]", size(bytes.len()))),
            Save::No => return Ok(format!("[{kind}, {}]", size(bytes.len()))),
        };
        let path = write(folder, tool, extension(kind), &bytes).map_err(|err| {
            Failure::new(format!("the answer cannot be saved in `{}`: {err}", folder.display()))
        })?;
        let line = format!("[{kind}, {}; saved as {}]", size(bytes.len()), path.display());
        self.saved.push(path);
        Ok(line)
    }
}

fn word<'a>(part: &'a Value, key: &str) -> &'a str {
    part[key].as_str().unwrap_or_default()
}

/// Writes a file under the first name that is free.
fn write(folder: &Path, name: &str, extension: &str, bytes: &[u8]) -> std::io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for number in 1_u32.. {
        let path = folder.join(format!("{name}-{number}.{extension}"));
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                return Ok(path);
            }
            Err(err) if err.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(err) => return Err(err),
        }
    }
    Err(std::io::Error::other("every name is taken"))
}

fn extension(kind: &str) -> &'static str {
    match kind.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        kind if kind.starts_with("text/") => "txt",
        _ => "bin",
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
