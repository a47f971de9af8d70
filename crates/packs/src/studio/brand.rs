//! Brands: what the studio works for, its identity in sections, and the images that it has.

use std::collections::BTreeMap;

use rusqlite::{Connection, Transaction, params};
use serde_json::{Map, Value, json};

use super::{
    Studio,
    action::{Action, Actions},
    brand_tools, product,
    schema::Page,
    slug,
    slug::Entity,
    style,
    upload::{GENERATED, UPLOADS},
};
use crate::{
    arguments::Arguments,
    picture::Format,
    reply::{Answer, Outcome, Refusal, quoted, shown},
    sandbox::{SafePath, Shape},
    tool::Tool,
};

pub(super) const ACTIONS: Actions = Actions {
    tool: "manage_brand",
    key: "action",
    all: &[
        Action { name: "create", required: &["name"], optional: &["summary", "sections"], confirm: false },
        Action {
            name: "update",
            required: &["slug"],
            optional: &["name", "summary", "sections"],
            confirm: false,
        },
        Action { name: "delete", required: &["slug"], optional: &[], confirm: true },
    ],
};

/// The parts of a brand's identity.
pub(super) const SECTIONS: [&str; 4] =
    ["visual_identity", "voice_guidelines", "audience_profile", "positioning"];
/// All parts at once.
pub(super) const EVERYTHING: &str = "full_identity";
/// What an asset is used for.
pub(super) const KINDS: [&str; 4] = ["product_image", "style_reference_image", "generated", "upload"];

const LONGEST_SECTION: usize = 20_000;

/// A brand as it is recorded.
#[derive(Debug)]
struct Brand {
    slug: String,
    name: String,
    summary: String,
    sections: Map<String, Value>,
}

pub(super) fn tools() -> Vec<Tool<Studio>> {
    vec![
        brand_tools::manage_spec().run(manage).tagged(["domain:brands"]),
        brand_tools::load_spec().run(load).tagged(["domain:brands", "core"]),
        brand_tools::detail_spec().run(detail).tagged(["domain:brands"]),
        brand_tools::browse_spec().run(browse).tagged(["domain:brands"]),
    ]
}

impl Brand {
    fn read(connection: &Connection, slug: &str) -> Result<Self, Refusal> {
        slug::check(connection, Entity::Brand, slug)?;
        let sql = "SELECT name, summary, sections FROM brand WHERE slug = ?";
        let (mut brand, sections) = connection.query_row(sql, [slug], |row| {
            let (name, summary) = (row.get(0)?, row.get(1)?);
            Ok((
                Self { slug: slug.to_owned(), name, summary, sections: Map::new() },
                row.get::<_, String>(2)?,
            ))
        })?;
        brand.sections = serde_json::from_str(&sections)?;
        Ok(brand)
    }

    /// Returns the brand in the form of [`brand_tools::fields`].
    fn data(&self) -> Value {
        let (present, missing): (Vec<&str>, Vec<&str>) =
            SECTIONS.into_iter().partition(|it| self.sections.contains_key(*it));
        json!({
            "slug": self.slug,
            "name": self.name,
            "summary": self.summary,
            "sections_present": present,
            "sections_missing": missing,
        })
    }
}

fn all(connection: &Connection) -> Result<Vec<Brand>, Refusal> {
    let mut query =
        connection.prepare("SELECT slug FROM brand ORDER BY name COLLATE NOCASE, slug LIMIT 100")?;
    let slugs = query.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    slugs.iter().map(|slug| Brand::read(connection, slug)).collect()
}

fn manage(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let action = ACTIONS.chosen(arguments)?;
    let slug = arguments.required("slug");
    let (message, brand) = match action.name {
        "create" => studio.store.write(|writing| create(studio, writing, arguments))?,
        "update" => {
            ACTIONS.needs_a_change(action, arguments)?;
            studio.store.write(|writing| update(studio, writing, arguments))?
        }
        _ => studio.store.write(|writing| {
            let brand = Brand::read(writing, slug)?;
            writing.execute("DELETE FROM brand WHERE slug = ?", [slug])?;
            Ok((format!("Deleted brand `{}`; products and style references stay", brand.name), brand))
        })?,
    };
    Ok(Answer::json(json!({ "action": action.name, "message": message, "brand": brand.data() })))
}

fn create(
    studio: &Studio,
    writing: &Transaction<'_>,
    arguments: &Arguments<'_>,
) -> Result<(String, Brand), Refusal> {
    let name = arguments.required("name").trim();
    slug::check_new(writing, Entity::Brand, name)?;
    let slug = slug::free(writing, Entity::Brand, name)?;
    let sections = Value::Object(merged(Map::new(), arguments.value("sections"))?).to_string();
    let summary = arguments.text("summary").unwrap_or_default();
    writing.execute(
        "INSERT INTO brand (slug, name, summary, sections, created, changed) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
        params![slug, name, summary, sections, studio.now()],
    )?;
    Ok((format!("Created brand `{name}` with slug `{slug}`"), Brand::read(writing, &slug)?))
}

fn update(
    studio: &Studio,
    writing: &Transaction<'_>,
    arguments: &Arguments<'_>,
) -> Result<(String, Brand), Refusal> {
    let before = Brand::read(writing, arguments.required("slug"))?;
    let name = arguments.text("name").map_or(before.name.as_str(), str::trim);
    if crate::fold::fold(name) != crate::fold::fold(&before.name) {
        slug::check_new(writing, Entity::Brand, name)?;
    }
    let summary = arguments.text("summary").unwrap_or(&before.summary);
    let sections = Value::Object(merged(before.sections.clone(), arguments.value("sections"))?).to_string();
    writing.execute(
        "UPDATE brand SET name = ?2, summary = ?3, sections = ?4, changed = ?5 WHERE slug = ?1",
        params![before.slug, name, summary, sections, studio.now()],
    )?;
    Ok((format!("Updated brand `{name}`"), Brand::read(writing, &before.slug)?))
}

/// Sets the given sections; null takes one away.
fn merged(mut sections: Map<String, Value>, given: Option<&Value>) -> Result<Map<String, Value>, Refusal> {
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        if !SECTIONS.contains(&name.as_str()) {
            let known = quoted(SECTIONS);
            return Err(Refusal::new(format!("there is no section `{}`: there are {known}", shown(name))));
        }
        match value {
            Value::Null => {
                sections.shift_remove(name);
            }
            Value::String(text) if text.chars().count() <= LONGEST_SECTION => {
                sections.insert(name.clone(), value.clone());
            }
            Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                return Err(Refusal::new(format!(
                    "section `{name}` has to be a text of at most {LONGEST_SECTION} characters, or null to remove it"
                )));
            }
        }
    }
    Ok(sections)
}

fn load(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    studio.store.read(|connection| {
        let brands = match arguments.text("slug") {
            Some(slug) => vec![Brand::read(connection, slug)?],
            None => all(connection)?,
        };
        let next_step = match brands.as_slice() {
            [] => "there is no brand yet: manage_brand(action=\"create\", name=\"...\") makes one".to_owned(),
            [brand] => format!(
                "fetch_brand_detail(slug=\"{}\", section=\"{EVERYTHING}\") shows all sections",
                brand.slug
            ),
            several => format!(
                "choose one of {}: load_brand(slug=\"...\")",
                quoted(several.iter().map(|it| &it.slug))
            ),
        };
        let sql = "SELECT topic, text FROM memory WHERE status = 'kept' ORDER BY id DESC LIMIT 20";
        let mut query = connection.prepare(sql)?;
        let memories = query
            .query_map([], |row| Ok(format!("{}: {}", row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Answer::json(json!({
            "loaded": brands.len() == 1,
            "brands": brands.iter().map(Brand::data).collect::<Vec<_>>(),
            "product_count": product::total(connection)?,
            "style_reference_count": style::total(connection)?,
            "memories": memories,
            "next_step": next_step,
        })))
    })
}

fn detail(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let section = arguments.required("section");
    studio.store.read(|connection| {
        let brand = match arguments.text("slug") {
            Some(slug) => Brand::read(connection, slug)?,
            None => only(all(connection)?)?,
        };
        let wanted = SECTIONS.into_iter().filter(|it| section == EVERYTHING || *it == section);
        let sections = wanted.map(|name| {
            json!({ "section": name, "text": brand.sections.get(name).cloned().unwrap_or_else(|| json!("")) })
        });
        Ok(Answer::json(json!({
            "slug": brand.slug,
            "name": brand.name,
            "summary": brand.summary,
            "sections": sections.collect::<Vec<_>>(),
        })))
    })
}

/// Takes the one brand there is.
fn only(mut brands: Vec<Brand>) -> Result<Brand, Refusal> {
    match brands.len() {
        0 => Err(Refusal::new(
            "there is no brand yet: manage_brand(action=\"create\", name=\"...\") makes one",
        )),
        1 => Ok(brands.remove(0)),
        _ => {
            let slugs = quoted(brands.iter().map(|it| &it.slug));
            Err(Refusal::new(format!("there are several brands: send the `slug` of one of {slugs}")))
        }
    }
}

/// An image of the workspace.
#[derive(Default)]
struct Asset {
    kind: &'static str,
    used_by: Vec<String>,
    bytes: u64,
    is_there: bool,
}

fn browse(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let page = Page::of(arguments);
    let mut assets: BTreeMap<String, Asset> = BTreeMap::new();
    let mut incomplete = false;
    for (folder, kind) in [(UPLOADS, KINDS[3]), (GENERATED, KINDS[2])] {
        let listing = studio.sandbox.list(Some(&SafePath::parse(folder)?), 15)?;
        incomplete |= listing.cut;
        for entry in listing.entries {
            let is_image = entry.path.extension().as_deref().and_then(Format::of_extension).is_some();
            if let (Shape::File(bytes), true) = (entry.shape, is_image) {
                let asset = Asset { kind, used_by: Vec::new(), bytes, is_there: true };
                assets.insert(entry.path.as_str().to_owned(), asset);
            }
        }
    }
    studio.store.read(|connection| {
        for (entity, kind) in [(Entity::StyleReference, KINDS[1]), (Entity::Product, KINDS[0])] {
            let mut query = connection
                .prepare(&format!("SELECT path, owner FROM {}_image ORDER BY owner", entity.table()))?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let asset = assets.entry(row.get(0)?).or_default();
                asset.kind = kind;
                asset.used_by.push(row.get(1)?);
            }
        }
        Ok(())
    })?;
    let wanted = arguments.text("kind");
    let found: Vec<_> =
        assets.into_iter().filter(|(_, asset)| wanted.is_none_or(|kind| asset.kind == kind)).collect();
    let total = found.len();
    let rows: Vec<Value> = page
        .take(found)
        .into_iter()
        .map(|(path, asset)| {
            json!({
                "path": path,
                "kind": asset.kind,
                "used_by": asset.used_by,
                "bytes": asset.bytes,
                "exists": asset.is_there,
            })
        })
        .collect();
    Ok(Answer::json(json!({
        "has_more": page.has_more(rows.len(), total),
        "assets": rows,
        "total_count": total,
        "offset": page.offset,
        "incomplete": incomplete,
    })))
}
