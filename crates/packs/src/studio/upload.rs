//! Image files that are given to tools, and the images that products and style references have.
//!
//! A file is opened once; what was opened is checked, measured and kept.

use rusqlite::{Connection, Transaction, params};
use serde_json::{Value, json};

use super::{
    Studio,
    outside::ReferenceImage,
    schema::{colours, count, is, said},
    slug::Entity,
};
use crate::{
    picture::{self, Colour, Format, Picture},
    reply::{Refusal, quoted, shown},
    sandbox::{self, SafePath},
};

/// The folder that users put images into.
pub(super) const UPLOADS: &str = "uploads";
/// The folder that generated images are written to.
pub(super) const GENERATED: &str = "generated";

/// An image file may have this many bytes: 10 MB.
pub(super) const LARGEST: u64 = 10 * 1024 * 1024;
/// A product or style reference may have this many images.
const MOST_IMAGES: usize = 50;

/// An image file that was checked.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) path: SafePath,
    pub(super) picture: Picture,
    pub(super) bytes: Vec<u8>,
}

/// An image of a product or a style reference as it was recorded.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) path: String,
    pub(super) is_primary: bool,
    /// In the form of [`facts`].
    pub(super) facts: Value,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Path(#[from] sandbox::PathError),
    #[error("`{path}` is not in {folders}: put the image there and send, for example, `uploads/photo.png`")]
    Elsewhere { path: String, folders: String },
    #[error("`{0}` does not end in .png, .jpg, .jpeg or .webp: only these images are used")]
    Extension(String),
    #[error("`{0}` is larger than 10 MB: send a smaller image")]
    TooLarge(String),
    #[error("`{path}` is named like a {named} image and is a {real} image: rename it")]
    Misnamed { path: String, named: &'static str, real: &'static str },
    #[error("`{path}`: {source}")]
    Picture { path: String, source: picture::Error },
    #[error(transparent)]
    Sandbox(sandbox::Error),
}

/// Opens an image in one of these folders and checks it by name, size and content.
pub(super) fn load(studio: &Studio, text: &str, folders: &[&str]) -> Result<Upload, Error> {
    let path = SafePath::parse(text)?;
    let shown = || shown(path.as_str());
    if !folders.iter().any(|folder| path.split().0.first() == Some(folder)) {
        let folders = quoted(folders.iter().map(|folder| format!("{folder}/")));
        return Err(Error::Elsewhere { path: shown(), folders });
    }
    let named = path.extension().as_deref().and_then(Format::of_extension);
    let named = named.ok_or_else(|| Error::Extension(shown()))?;
    let bytes = studio.sandbox.read(&path, LARGEST).map_err(|error| match error {
        sandbox::Error::TooLarge { path, .. } => Error::TooLarge(path),
        sandbox::Error::Missing(_)
        | sandbox::Error::Link(_)
        | sandbox::Error::HardLink(_)
        | sandbox::Error::NotAFile(_)
        | sandbox::Error::NotAFolder(_)
        | sandbox::Error::Exists(_)
        | sandbox::Error::ReadOnly(_)
        | sandbox::Error::System { .. } => Error::Sandbox(error),
    })?;
    let picture = picture::examine(&bytes).map_err(|source| Error::Picture { path: shown(), source })?;
    if picture.format != named {
        let (named, real) = (named.name(), picture.format.name());
        return Err(Error::Misnamed { path: shown(), named, real });
    }
    Ok(Upload { path, picture, bytes })
}

impl Upload {
    /// Hands the image to a service.
    pub(super) fn reference(self, label: String) -> ReferenceImage {
        ReferenceImage { label, media_type: self.picture.format.media_type(), bytes: self.bytes }
    }
}

impl Image {
    /// Returns the image in the form of [`record_fields`].
    pub(super) fn data(&self) -> Value {
        let mut data = json!({ "path": self.path, "primary": self.is_primary });
        for (name, value) in self.facts.as_object().into_iter().flatten() {
            data[name] = value.clone();
        }
        data
    }

    /// Returns the recorded colours.
    pub(super) fn palette(&self) -> Vec<Colour> {
        let colours = self.facts["colours"].as_array().into_iter().flatten();
        colours
            .filter_map(|it| Some(Colour { rgb: parsed(it["hex"].as_str()?)?, share: it["share"].as_f64()? }))
            .collect()
    }
}

/// Returns what is recorded of an image.
pub(super) fn facts(picture: &Picture) -> Value {
    json!({
        "format": picture.format.name(),
        "width": picture.width,
        "height": picture.height,
        "bytes": picture.bytes,
        "transparent": picture.transparent,
        "colours": painted(&picture.palette),
    })
}

/// Returns colours in the form of an answer.
pub(super) fn painted(palette: &[Colour]) -> Value {
    palette.iter().map(|colour| json!({ "hex": colour.hex(), "share": colour.share })).collect()
}

/// The fields of an image in an answer.
pub(super) fn record_fields() -> Value {
    json!({
        "path": said("Where the image is in the workspace."),
        "primary": is("Whether it stands for the product."),
        "format": said("png, jpg or webp."),
        "width": count("In pixels."),
        "height": count("In pixels."),
        "bytes": count("Size of the file."),
        "transparent": is("Whether a part of it is see-through."),
        "colours": colours(),
    })
}

/// Returns the images of a product or style reference, in the order in which they were added.
pub(super) fn images(connection: &Connection, entity: Entity, slug: &str) -> Result<Vec<Image>, Refusal> {
    let sql = format!(
        "SELECT path, is_primary, facts FROM {}_image WHERE owner = ? ORDER BY position",
        entity.table()
    );
    let mut query = connection.prepare(&sql)?;
    let mut rows = query.query([slug])?;
    let mut images = Vec::new();
    while let Some(row) = rows.next()? {
        let facts: String = row.get(2)?;
        images.push(Image {
            path: row.get(0)?,
            is_primary: row.get(1)?,
            facts: serde_json::from_str(&facts)?,
        });
    }
    Ok(images)
}

/// Adds an image, or records its facts anew; the first one is the primary one.
pub(super) fn record(
    writing: &Transaction<'_>,
    entity: Entity,
    slug: &str,
    upload: &Upload,
) -> Result<(), Refusal> {
    let known = images(writing, entity, slug)?;
    let is_new = !known.iter().any(|image| image.path == upload.path.as_str());
    if is_new && MOST_IMAGES <= known.len() {
        let noun = entity.noun();
        return Err(Refusal::new(format!("{noun} `{slug}` has {MOST_IMAGES} images, the most it may have")));
    }
    let sql = format!(
        "INSERT INTO {0}_image (owner, path, is_primary, facts, position)
         VALUES (?1, ?2, ?3, ?4, (SELECT COALESCE(MAX(position), 0) + 1 FROM {0}_image WHERE owner = ?1))
         ON CONFLICT (owner, path) DO UPDATE SET facts = excluded.facts",
        entity.table()
    );
    let facts = facts(&upload.picture).to_string();
    writing.execute(&sql, params![slug, upload.path.as_str(), known.is_empty(), facts])?;
    Ok(())
}

fn parsed(hex: &str) -> Option<[u8; 3]> {
    let digits = hex.strip_prefix('#')?;
    let channel = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    Some([channel(0)?, channel(2)?, channel(4)?])
}
