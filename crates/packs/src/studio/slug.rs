//! Slugs: short names that are made from names and never change.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    fold,
    reply::{Refusal, shown},
    slug,
};

/// A kind of thing that has slugs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entity {
    Brand,
    Product,
    StyleReference,
}

impl Entity {
    /// Returns the name of its table; a table of its images has `_image` behind it.
    pub(super) const fn table(self) -> &'static str {
        match self {
            Self::Brand => "brand",
            Self::Product => "product",
            Self::StyleReference => "style_reference",
        }
    }

    /// Returns what a person calls it.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Brand => "brand",
            Self::Product => "product",
            Self::StyleReference => "style reference",
        }
    }

    const fn listing(self) -> &'static str {
        match self {
            Self::Brand => "load_brand()",
            Self::Product => "list_products()",
            Self::StyleReference => "get_style_reference()",
        }
    }

    const fn managing(self) -> &'static str {
        match self {
            Self::Brand => "manage_brand",
            Self::Product => "manage_product",
            Self::StyleReference => "manage_style_reference",
        }
    }
}

/// Makes a slug from words: `Crème Brûlée №2` becomes `creme-brulee-2`.
pub(super) fn from_words(words: &str) -> String {
    Some(slug::slug(words)).filter(|slug| !slug.is_empty()).unwrap_or_else(|| "item".to_owned())
}

/// Finds a slug that is free, with a number behind it if it has to be.
pub(super) fn free(connection: &Connection, entity: Entity, name: &str) -> Result<String, Refusal> {
    slug::free(&from_words(name), |slug| exists(connection, entity, slug))
}

/// Refuses a name that something of this kind has already, whatever its capitals and accents.
pub(super) fn check_new(connection: &Connection, entity: Entity, name: &str) -> Result<(), Refusal> {
    let mut query = connection.prepare(&format!("SELECT slug, name FROM {}", entity.table()))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (slug, taken): (String, String) = (row.get(0)?, row.get(1)?);
        if fold::fold(taken.trim()) == fold::fold(name.trim()) {
            let (noun, tool) = (entity.noun(), entity.managing());
            return Err(Refusal::new(format!(
                "there is a {noun} `{}` already: change it with {tool}(action=\"update\", slug=\"{slug}\", ...) or \
                 choose another name",
                shown(&taken)
            )));
        }
    }
    Ok(())
}

/// Refuses a slug that nothing has, and says which one may be meant.
pub(super) fn check(connection: &Connection, entity: Entity, slug: &str) -> Result<(), Refusal> {
    if exists(connection, entity, slug)? {
        return Ok(());
    }
    let mut query =
        connection.prepare(&format!("SELECT slug FROM {} ORDER BY slug LIMIT 1000", entity.table()))?;
    let known: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let wanted = from_words(slug);
    let scored = known.iter().map(|it| (strsim::jaro_winkler(&wanted, it), it));
    let near = scored.filter(|(score, _)| 0.8 < *score).max_by(|a, b| a.0.total_cmp(&b.0));
    let (noun, listing, managing) = (entity.noun(), entity.listing(), entity.managing());
    let advice = match near {
        Some((_, near)) => format!("did you mean `{near}`? {listing} shows them all"),
        None if known.is_empty() => {
            format!("there are none yet: {managing}(action=\"create\", name=\"...\") makes one")
        }
        None => format!("{listing} shows them all"),
    };
    Err(Refusal::new(format!("there is no {noun} `{}`: {advice}", shown(slug))))
}

fn exists(connection: &Connection, entity: Entity, slug: &str) -> Result<bool, Refusal> {
    let sql = format!("SELECT 1 FROM {} WHERE slug = ?", entity.table());
    Ok(connection.query_row(&sql, [slug], |_| Ok(())).optional()?.is_some())
}
