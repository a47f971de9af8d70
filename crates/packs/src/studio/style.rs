//! Style references: images that show how new images should look.

use rusqlite::{Connection, Transaction, params};
use serde_json::{Value, json};

use super::{
    Studio,
    action::{Action, Actions},
    analysis::Analysis,
    interrupt, slug,
    slug::Entity,
    style_tools,
    upload::{self, Image, UPLOADS, Upload},
};
use crate::{
    arguments::Arguments,
    reply::{Answer, Outcome, Refusal, shown},
    studio::schema::Page,
    tool::Tool,
};

pub(super) const ACTIONS: Actions = Actions {
    tool: "manage_style_reference",
    key: "action",
    all: &[
        Action {
            name: "create",
            required: &["name"],
            optional: &["description", "image_path", "default_strict"],
            confirm: false,
        },
        Action {
            name: "create_batch",
            required: &["image_paths"],
            optional: &["default_strict"],
            confirm: false,
        },
        Action {
            name: "update",
            required: &["slug"],
            optional: &["name", "description", "default_strict"],
            confirm: false,
        },
        Action { name: "delete", required: &["slug"], optional: &[], confirm: true },
        Action {
            name: "add_image",
            required: &["slug", "image_path"],
            optional: &["reanalyze"],
            confirm: false,
        },
        Action { name: "reanalyze", required: &["slug"], optional: &[], confirm: false },
    ],
};

/// A style reference as it is recorded.
#[derive(Debug)]
pub(super) struct StyleReference {
    pub(super) slug: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) default_strict: bool,
    pub(super) analysis: Value,
    pub(super) images: Vec<Image>,
    created: String,
    changed: String,
}

pub(super) fn tools() -> Vec<Tool<Studio>> {
    let mut managing = style_tools::manage_spec().run(manage).tagged(["domain:style_references"]);
    // A batch is answered with its report alone.
    managing.definition["outputSchema"]["required"] = json!([]);
    vec![managing, style_tools::get_spec().run(get).tagged(["domain:style_references"])]
}

impl StyleReference {
    /// Reads a style reference; a slug that nothing has is refused.
    pub(super) fn read(connection: &Connection, slug: &str) -> Result<Self, Refusal> {
        slug::check(connection, Entity::StyleReference, slug)?;
        let sql = "SELECT name, description, default_strict, analysis, created, changed
                   FROM style_reference WHERE slug = ?";
        let (mut style, analysis) = connection.query_row(sql, [slug], |row| {
            let style = Self {
                slug: slug.to_owned(),
                name: row.get(0)?,
                description: row.get(1)?,
                default_strict: row.get(2)?,
                analysis: Value::Null,
                images: Vec::new(),
                created: row.get(4)?,
                changed: row.get(5)?,
            };
            Ok((style, row.get::<_, String>(3)?))
        })?;
        style.analysis = serde_json::from_str(&analysis)?;
        style.images = upload::images(connection, Entity::StyleReference, slug)?;
        Ok(style)
    }

    /// Returns the style reference in the form of [`style_tools::fields`].
    pub(super) fn data(&self) -> Value {
        json!({
            "slug": self.slug,
            "name": self.name,
            "description": self.description,
            "default_strict": self.default_strict,
            "analysis": self.analysis,
            "images": self.images.iter().map(Image::data).collect::<Vec<_>>(),
            "created": self.created,
            "changed": self.changed,
        })
    }
}

/// Counts the style references.
pub(super) fn total(connection: &Connection) -> Result<usize, Refusal> {
    let count: u32 = connection.query_row("SELECT COUNT(*) FROM style_reference", [], |row| row.get(0))?;
    Ok(count as usize)
}

fn manage(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let action = ACTIONS.chosen(arguments)?;
    let slug = arguments.required("slug");
    let (message, style) = match action.name {
        "create" => create(studio, arguments)?,
        "create_batch" => return create_batch(studio, arguments),
        "update" => {
            ACTIONS.needs_a_change(action, arguments)?;
            studio.store.write(|writing| update(studio, writing, arguments))?
        }
        "delete" => studio.store.write(|writing| {
            let style = StyleReference::read(writing, slug)?;
            writing.execute("DELETE FROM style_reference WHERE slug = ?", [slug])?;
            Ok((format!("Deleted style reference `{}`; its image files stay in uploads/", style.name), style))
        })?,
        "add_image" => add_image(studio, arguments)?,
        _ => reanalyze(studio, slug)?,
    };
    Ok(Answer::json(json!({ "action": action.name, "message": message, "style_reference": style.data() })))
}

type Changed = Result<(String, StyleReference), Refusal>;

/// What a new style reference is made of.
struct New<'a> {
    name: &'a str,
    description: &'a str,
    default_strict: bool,
    image: Option<&'a Upload>,
    analysis: Value,
}

fn create(studio: &Studio, arguments: &Arguments<'_>) -> Changed {
    let name = arguments.required("name").trim();
    let image = match arguments.text("image_path") {
        Some(path) => Some(upload::load(studio, path, &[UPLOADS])?),
        None => None,
    };
    // The model is asked before the database is locked, and not at all for a name that is taken.
    studio.store.read(|connection| slug::check_new(connection, Entity::StyleReference, name))?;
    let (analysis, remark) = Analysis::of(studio, name, image.as_slice()).with_model();
    studio.store.write(|writing| {
        slug::check_new(writing, Entity::StyleReference, name)?;
        let new = New {
            name,
            description: arguments.text("description").unwrap_or_default(),
            default_strict: arguments.flag("default_strict").unwrap_or(false),
            image: image.as_ref(),
            analysis,
        };
        let style = insert(studio, writing, &new)?;
        Ok((format!("Created style reference `{name}` with slug `{}`{remark}", style.slug), style))
    })
}

fn insert(studio: &Studio, writing: &Transaction<'_>, new: &New<'_>) -> Result<StyleReference, Refusal> {
    let slug = slug::free(writing, Entity::StyleReference, new.name)?;
    writing.execute(
        "INSERT INTO style_reference (slug, name, description, default_strict, analysis, created, changed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
        params![slug, new.name, new.description, new.default_strict, new.analysis.to_string(), studio.now()],
    )?;
    if let Some(image) = new.image {
        upload::record(writing, Entity::StyleReference, &slug, image)?;
    }
    StyleReference::read(writing, &slug)
}

/// Makes one style reference from each image and reports what became of each.
fn create_batch(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let paths = arguments.list("image_paths");
    if paths.is_empty() {
        return Err(Refusal::new(
            "`image_paths` is empty: send 1 to 10 images, for example [\"uploads/hero-banner.png\"]",
        ));
    }
    let default_strict = arguments.flag("default_strict").unwrap_or(false);
    let (mut created, mut failed) = (Vec::new(), Vec::new());
    for path in &paths {
        let made = if interrupt::asked(&studio.sandbox) {
            Err(Refusal::new("not tried, because Stop was asked for: send it again later"))
        } else {
            create_from(studio, path, default_strict)
        };
        match made {
            Ok(style) => created.push(json!({ "name": style.name, "slug": style.slug })),
            Err(error) => failed.push(json!({ "path": shown(path), "error": error.text() })),
        }
    }
    let success_count = created.len();
    Ok(Answer::json(json!({
        "created": created, "failed": failed, "total": paths.len(), "success_count": success_count,
    })))
}

fn create_from(studio: &Studio, path: &str, default_strict: bool) -> Result<StyleReference, Refusal> {
    let image = upload::load(studio, path, &[UPLOADS])?;
    let name = name_of(image.path.stem());
    let (analysis, _) = Analysis::of(studio, &name, std::slice::from_ref(&image)).with_model();
    studio.store.write(|writing| {
        let new = New { name: &name, description: "", default_strict, image: Some(&image), analysis };
        insert(studio, writing, &new)
    })
}

/// Makes a name from a file's: `hero-banner_2` becomes `Hero Banner 2`.
fn name_of(stem: &str) -> String {
    let words = stem.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    let name = words.map(capital).collect::<Vec<_>>().join(" ");
    if name.is_empty() { "Style reference".to_owned() } else { name }
}

fn update(studio: &Studio, writing: &Transaction<'_>, arguments: &Arguments<'_>) -> Changed {
    let before = StyleReference::read(writing, arguments.required("slug"))?;
    let name = arguments.text("name").map_or(before.name.as_str(), str::trim);
    if crate::fold::fold(name) != crate::fold::fold(&before.name) {
        slug::check_new(writing, Entity::StyleReference, name)?;
    }
    let description = arguments.text("description").unwrap_or(&before.description);
    let strict = arguments.flag("default_strict").unwrap_or(before.default_strict);
    writing.execute(
        "UPDATE style_reference SET name = ?2, description = ?3, default_strict = ?4, changed = ?5 WHERE slug = ?1",
        params![before.slug, name, description, strict, studio.now()],
    )?;
    Ok((format!("Updated style reference `{name}`"), StyleReference::read(writing, &before.slug)?))
}

fn add_image(studio: &Studio, arguments: &Arguments<'_>) -> Changed {
    let slug = arguments.required("slug");
    let image = upload::load(studio, arguments.required("image_path"), &[UPLOADS])?;
    let path = image.path.as_str().to_owned();
    studio.store.write(|writing| {
        slug::check(writing, Entity::StyleReference, slug)?;
        upload::record(writing, Entity::StyleReference, slug, &image)?;
        touch(studio, writing, slug)
    })?;
    let done = format!("Style reference `{slug}` has the image {path}");
    if arguments.flag("reanalyze") == Some(false) {
        let style = studio.store.read(|connection| StyleReference::read(connection, slug))?;
        return Ok((format!("{done}; its analysis stays as it was"), style));
    }
    let (message, style) = reanalyze(studio, slug)?;
    Ok((format!("{done}. {message}"), style))
}

/// Reads all images again and records what they show.
fn reanalyze(studio: &Studio, slug: &str) -> Changed {
    let style = studio.store.read(|connection| StyleReference::read(connection, slug))?;
    let (mut images, mut lost) = (Vec::new(), Vec::new());
    for image in &style.images {
        match upload::load(studio, &image.path, &[UPLOADS]) {
            Ok(image) => images.push(image),
            Err(error) => lost.push(error.to_string()),
        }
    }
    if images.is_empty() {
        let why = if lost.is_empty() { "it has no image".to_owned() } else { lost.join("; ") };
        return Err(Refusal::new(format!(
            "style reference `{slug}` was not analyzed: {why}. Add one with manage_style_reference(action=\"add_image\", \
             slug=\"{slug}\", image_path=\"uploads/...\")"
        )));
    }
    let (analysis, remark) = Analysis::of(studio, &style.name, &images).with_model();
    studio.store.write(|writing| {
        slug::check(writing, Entity::StyleReference, slug)?;
        for image in &images {
            upload::record(writing, Entity::StyleReference, slug, image)?;
        }
        writing.execute(
            "UPDATE style_reference SET analysis = ?2 WHERE slug = ?1",
            params![slug, analysis.to_string()],
        )?;
        touch(studio, writing, slug)?;
        let lost = if lost.is_empty() { String::new() } else { format!("; not read: {}", lost.join("; ")) };
        let message = format!("Analyzed {} image(s) of style reference `{slug}`{lost}{remark}", images.len());
        Ok((message, StyleReference::read(writing, slug)?))
    })
}

fn touch(studio: &Studio, writing: &Transaction<'_>, slug: &str) -> Result<(), Refusal> {
    writing
        .execute("UPDATE style_reference SET changed = ?2 WHERE slug = ?1", params![slug, studio.now()])?;
    Ok(())
}

fn get(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let page = Page::unless(arguments, "slug")?;
    let (total, styles) = studio.store.read(|connection| {
        if let Some(slug) = arguments.text("slug") {
            return Ok((1, vec![StyleReference::read(connection, slug)?]));
        }
        let sql = "SELECT slug FROM style_reference ORDER BY name COLLATE NOCASE, slug LIMIT ? OFFSET ?";
        let mut query = connection.prepare(sql)?;
        let slugs = query.query_map(page.bounds(), |row| row.get::<_, String>(0))?;
        let mut styles = Vec::new();
        for slug in slugs {
            styles.push(StyleReference::read(connection, &slug?)?);
        }
        Ok((total(connection)?, styles))
    })?;
    Ok(Answer::json(json!({
        "style_references": styles.iter().map(StyleReference::data).collect::<Vec<_>>(),
        "total_count": total,
        "offset": page.offset,
        "has_more": page.has_more(styles.len(), total),
    })))
}
