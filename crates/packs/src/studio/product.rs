//! Products: what is sold, with its attributes, packaging texts and images.

use rusqlite::{Connection, Transaction, params};
use serde_json::{Map, Value, json};

use super::{
    Studio,
    action::{Action, Actions},
    describe::Doc,
    schema::{self, Page, choice, confirm, count, free, image_path, line, page_of, said},
    slug::{self, Entity},
    upload::{self, Image, UPLOADS},
};
use crate::{
    arguments::Arguments,
    reply::{Answer, Outcome, Refusal, shown},
    tool::{Effect, Spec, Tool, record},
};

/// The texts that a packaging has.
pub(super) const TEXT_FIELDS: [&str; 4] = ["headline", "subheadline", "body", "tagline"];

const ACTIONS: Actions = Actions {
    tool: "manage_product",
    key: "action",
    all: &[
        Action {
            name: "create",
            required: &["name"],
            optional: &["description", "attributes"],
            confirm: false,
        },
        Action {
            name: "update",
            required: &["slug"],
            optional: &["name", "description", "attributes"],
            confirm: false,
        },
        Action { name: "delete", required: &["slug"], optional: &[], confirm: true },
        Action { name: "add_image", required: &["slug", "image_path"], optional: &[], confirm: false },
        Action { name: "set_primary", required: &["slug", "image_path"], optional: &[], confirm: false },
    ],
};

const MOST_ATTRIBUTES: usize = 50;

/// A product as it is recorded.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) slug: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) attributes: Map<String, Value>,
    /// Of [`TEXT_FIELDS`], those that are there.
    pub(super) packaging: Map<String, Value>,
    pub(super) images: Vec<Image>,
    created: String,
    changed: String,
}

pub(super) fn tools() -> Vec<Tool<Studio>> {
    vec![
        manage_spec().run(manage).tagged(["domain:products"]),
        list_spec().run(list).tagged(["domain:products", "core"]),
    ]
}

impl Product {
    /// Reads a product; a slug that nothing has is refused.
    pub(super) fn read(connection: &Connection, slug: &str) -> Result<Self, Refusal> {
        slug::check(connection, Entity::Product, slug)?;
        let sql =
            "SELECT name, description, attributes, packaging, created, changed FROM product WHERE slug = ?";
        let (mut product, attributes, packaging) = connection.query_row(sql, [slug], |row| {
            let product = Self {
                slug: slug.to_owned(),
                name: row.get(0)?,
                description: row.get(1)?,
                attributes: Map::new(),
                packaging: Map::new(),
                images: Vec::new(),
                created: row.get(4)?,
                changed: row.get(5)?,
            };
            Ok((product, row.get::<_, String>(2)?, row.get::<_, String>(3)?))
        })?;
        product.attributes = serde_json::from_str(&attributes)?;
        product.packaging = serde_json::from_str(&packaging)?;
        product.images = upload::images(connection, Entity::Product, slug)?;
        Ok(product)
    }

    /// Returns the product in the form of [`fields`].
    pub(super) fn data(&self) -> Value {
        json!({
            "slug": self.slug,
            "name": self.name,
            "description": self.description,
            "attributes": self.attributes,
            "packaging_text": self.texts(),
            "images": self.images.iter().map(Image::data).collect::<Vec<_>>(),
            "created": self.created,
            "changed": self.changed,
        })
    }

    /// Returns all packaging texts; one that is missing is empty.
    pub(super) fn texts(&self) -> Value {
        let mut texts = json!({});
        for field in TEXT_FIELDS {
            texts[field] = self.packaging.get(field).cloned().unwrap_or_else(|| json!(""));
        }
        texts
    }

    /// Returns the image that stands for the product.
    pub(super) fn primary(&self) -> Option<&Image> {
        self.images.iter().find(|image| image.is_primary).or_else(|| self.images.first())
    }
}

/// Counts the products.
pub(super) fn total(connection: &Connection) -> Result<usize, Refusal> {
    let count: u32 = connection.query_row("SELECT COUNT(*) FROM product", [], |row| row.get(0))?;
    Ok(count as usize)
}

/// Returns the slugs of a page of products, by name.
pub(super) fn slugs(connection: &Connection, page: Page) -> Result<Vec<String>, Refusal> {
    let mut query =
        connection.prepare("SELECT slug FROM product ORDER BY name COLLATE NOCASE, slug LIMIT ? OFFSET ?")?;
    let slugs = query.query_map(page.bounds(), |row| row.get(0))?;
    Ok(slugs.collect::<Result<_, _>>()?)
}

/// The fields of a product in an answer.
pub(super) fn fields() -> Value {
    json!({
        "slug": said("Names the product in every tool."),
        "name": said("What people call it."),
        "description": said("What it is; may be empty."),
        "attributes": free("Facts such as size or flavour."),
        "packaging_text": text_record(),
        "images": schema::records(&upload::record_fields()),
        "created": said("When, ISO 8601 in UTC."),
        "changed": said("When it was last changed."),
    })
}

/// The packaging texts in an answer.
pub(super) fn text_record() -> Value {
    let mut fields = json!({});
    for field in TEXT_FIELDS {
        fields[field] = said("Empty when it is missing.");
    }
    record(&fields)
}

fn manage(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let action = ACTIONS.chosen(arguments)?;
    let slug = arguments.required("slug");
    let (message, product) = match action.name {
        "create" => studio.store.write(|writing| create(studio, writing, arguments))?,
        "update" => {
            ACTIONS.needs_a_change(action, arguments)?;
            studio.store.write(|writing| update(studio, writing, arguments))?
        }
        "delete" => studio.store.write(|writing| {
            let product = Product::read(writing, slug)?;
            writing.execute("DELETE FROM product WHERE slug = ?", [slug])?;
            Ok((format!("Deleted product `{}`; its image files stay in uploads/", product.name), product))
        })?,
        "add_image" => {
            let image = upload::load(studio, arguments.required("image_path"), &[UPLOADS])?;
            studio.store.write(|writing| {
                slug::check(writing, Entity::Product, slug)?;
                upload::record(writing, Entity::Product, slug, &image)?;
                touch(studio, writing, slug)?;
                let product = Product::read(writing, slug)?;
                Ok((format!("Product `{}` has the image {}", product.name, image.path.as_str()), product))
            })?
        }
        _ => {
            let image = upload::load(studio, arguments.required("image_path"), &[UPLOADS])?;
            studio.store.write(|writing| set_primary(studio, writing, slug, image.path.as_str()))?
        }
    };
    Ok(Answer::json(json!({ "action": action.name, "message": message, "product": product.data() })))
}

type Changed = Result<(String, Product), Refusal>;

fn create(studio: &Studio, writing: &Transaction<'_>, arguments: &Arguments<'_>) -> Changed {
    let name = arguments.required("name").trim();
    slug::check_new(writing, Entity::Product, name)?;
    let slug = slug::free(writing, Entity::Product, name)?;
    let attributes = merged(Map::new(), arguments.value("attributes"))?;
    let (description, now) = (arguments.text("description").unwrap_or_default(), studio.now());
    let attributes = Value::Object(attributes).to_string();
    writing.execute(
        "INSERT INTO product (slug, name, description, attributes, packaging, created, changed)
         VALUES (?1, ?2, ?3, ?4, '{}', ?5, ?5)",
        params![slug, name, description, attributes, now],
    )?;
    Ok((format!("Created product `{name}` with slug `{slug}`"), Product::read(writing, &slug)?))
}

fn update(studio: &Studio, writing: &Transaction<'_>, arguments: &Arguments<'_>) -> Changed {
    let before = Product::read(writing, arguments.required("slug"))?;
    let name = arguments.text("name").map_or(before.name.as_str(), str::trim);
    if crate::fold::fold(name) != crate::fold::fold(&before.name) {
        slug::check_new(writing, Entity::Product, name)?;
    }
    let description = arguments.text("description").unwrap_or(&before.description);
    let attributes =
        Value::Object(merged(before.attributes.clone(), arguments.value("attributes"))?).to_string();
    writing.execute(
        "UPDATE product SET name = ?2, description = ?3, attributes = ?4, changed = ?5 WHERE slug = ?1",
        params![before.slug, name, description, attributes, studio.now()],
    )?;
    Ok((format!("Updated product `{name}`"), Product::read(writing, &before.slug)?))
}

fn set_primary(studio: &Studio, writing: &Transaction<'_>, slug: &str, path: &str) -> Changed {
    let product = Product::read(writing, slug)?;
    if !product.images.iter().any(|image| image.path == path) {
        return Err(Refusal::new(format!(
            "`{}` is no image of product `{slug}`: add it first with manage_product(action=\"add_image\", \
             slug=\"{slug}\", image_path=\"{}\")",
            shown(path),
            shown(path)
        )));
    }
    writing.execute("UPDATE product_image SET is_primary = (path = ?2) WHERE owner = ?1", [slug, path])?;
    touch(studio, writing, slug)?;
    Ok((format!("{path} stands for product `{}`", product.name), Product::read(writing, slug)?))
}

/// Notes that a product has changed.
pub(super) fn touch(studio: &Studio, writing: &Transaction<'_>, slug: &str) -> Result<(), Refusal> {
    writing.execute("UPDATE product SET changed = ?2 WHERE slug = ?1", params![slug, studio.now()])?;
    Ok(())
}

/// Sets the given attributes; null takes one away.
fn merged(mut attributes: Map<String, Value>, given: Option<&Value>) -> Result<Map<String, Value>, Refusal> {
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        if name.trim().is_empty() || 100 < name.chars().count() {
            return Err(Refusal::new(format!(
                "`{}` is no name for an attribute: send one of 1 to 100 characters, such as `size`",
                shown(name)
            )));
        }
        match value {
            Value::Null => {
                attributes.shift_remove(name);
            }
            Value::String(text) if text.chars().count() <= 1000 => {
                attributes.insert(name.clone(), value.clone());
            }
            Value::Bool(_) | Value::Number(_) => {
                attributes.insert(name.clone(), value.clone());
            }
            Value::String(_) | Value::Array(_) | Value::Object(_) => {
                return Err(Refusal::new(format!(
                    "attribute `{}` has to be a text of at most 1000 characters, a number, true or false, or null to \
                     remove it",
                    shown(name)
                )));
            }
        }
    }
    if MOST_ATTRIBUTES < attributes.len() {
        return Err(Refusal::new(format!(
            "a product may have {MOST_ATTRIBUTES} attributes; this would be more"
        )));
    }
    Ok(attributes)
}

fn list(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let page = Page::of(arguments);
    let (total, products) = studio.store.read(|connection| {
        let slugs = slugs(connection, page)?;
        let products: Result<Vec<Product>, Refusal> =
            slugs.iter().map(|it| Product::read(connection, it)).collect();
        Ok((total(connection)?, products?))
    })?;
    let rows = products.iter().map(|product| {
        json!({
            "slug": product.slug,
            "name": product.name,
            "description": product.description,
            "image_count": product.images.len(),
            "primary_image": product.primary().map_or("", |image| image.path.as_str()),
        })
    });
    Ok(Answer::json(json!({
        "products": rows.collect::<Vec<_>>(),
        "total_count": total,
        "offset": page.offset,
        "has_more": page.has_more(products.len(), total),
    })))
}

fn manage_spec() -> Spec {
    let doc = Doc {
        purpose: "Creates, changes or deletes a product, and gives it images.",
        prerequisite: "every action but create needs the slug of a product (list_products). Images lie in uploads/.",
        use_when: &[
            "add, rename, describe or delete a product",
            "give a product an image or choose its main image",
        ],
        not: &[
            "list products or show one (use list_products, get_context)",
            "write packaging texts (use update_packaging_text)",
        ],
        args: &[
            "action: create (name; description, attributes), update (slug; name, description, attributes), delete \
             (slug, confirm), add_image or set_primary (slug, image_path)",
            "slug: e.g. \"summer-soda\"",
            "name, description: e.g. \"Summer Soda\"",
            "attributes: set one by one, null removes, e.g. {\"size\": \"330 ml\"}",
            "image_path: png, jpg, webp up to 10 MB, e.g. \"uploads/bottle.png\"",
            "confirm: true to delete",
        ],
        returns: "JSON with the action, a message and the product.",
        examples: &[
            "manage_product(action=\"create\", name=\"Summer Soda\")",
            "manage_product(action=\"delete\", slug=\"summer-soda\", confirm=true)",
        ],
    };
    Spec {
        name: "manage_product".into(),
        title: "Manage a product".into(),
        description: doc.text().into(),
        effect: Effect::Changes,
        input: (
            json!({
                "action": choice("What to do.", &ACTIONS.names()),
                "slug": schema::slug("The product.", "summer-soda"),
                "name": line("What people call it.", 200, &["Summer Soda"]),
                "description": schema::text("What it is.", 10_000, &["A light lemonade with mint."]),
                "attributes": {
                    "type": "object",
                    "description": "Facts by name: texts, numbers, true or false; null removes one.",
                    "examples": [{ "size": "330 ml", "vegan": true }],
                },
                "image_path": image_path(),
                "confirm": confirm(),
            }),
            vec!["action".to_owned()],
        ),
        output: json!({
            "action": said("What was done."),
            "message": said("The same in a sentence."),
            "product": record(&fields()),
        }),
    }
}

fn list_spec() -> Spec {
    let doc = Doc {
        purpose: "Lists the products of the workspace, by name.",
        prerequisite: "none.",
        use_when: &["see which products there are", "find the slug of a product"],
        not: &[
            "show everything about one product (use get_context)",
            "create or change products (use manage_product)",
        ],
        args: &["offset: how many to leave out, e.g. 20. Defaults to 0", "limit: 1 to 100. Defaults to 20"],
        returns: "JSON with products (slug, name, description, image_count, primary_image), total_count and has_more.",
        examples: &["list_products()", "list_products(offset=20, limit=20)"],
    };
    Spec {
        name: "list_products".into(),
        title: "List products".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (json!({ "offset": schema::offset(), "limit": schema::limit(100) }), Vec::new()),
        output: page_of(
            "products",
            schema::records(&json!({
                "slug": said("Names the product in every tool."),
                "name": said("What people call it."),
                "description": said("What it is; may be empty."),
                "image_count": count("How many images it has."),
                "primary_image": said("The image that stands for it; empty when it has none."),
            })),
        ),
    }
}
