//! Everything about one product or style reference in one answer.

use serde_json::json;

use super::{
    Studio,
    describe::Doc,
    product::Product,
    schema::{self, choice, records, said},
    style::StyleReference,
    style_tools,
};
use crate::{
    arguments::Arguments,
    reply::{Answer, Outcome},
    tool::{Effect, Spec, Tool, record},
};

pub(super) fn tools() -> Vec<Tool<Studio>> {
    let mut tool = spec().run(get).tagged(["domain:products", "domain:style_references"]);
    tool.definition["outputSchema"]["required"] = json!(["entity_type", "slug", "generated"]);
    vec![tool]
}

fn get(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let (entity_type, slug) = (arguments.required("entity_type"), arguments.required("slug"));
    studio.store.read(|connection| {
        let mut data = json!({ "entity_type": entity_type, "slug": slug });
        // The enum of the schema has these two.
        let column = if entity_type == "product" {
            data["product"] = Product::read(connection, slug)?.data();
            "product"
        } else {
            data["style_reference"] = StyleReference::read(connection, slug)?.data();
            "style_reference"
        };
        let sql = format!("SELECT path, prompt, created FROM generated WHERE {column} = ? ORDER BY created DESC, path LIMIT 20");
        let mut query = connection.prepare(&sql)?;
        let generated = query.query_map([slug], |row| {
            let (path, prompt, created): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(json!({ "path": path, "prompt": prompt, "created": created }))
        })?;
        data["generated"] = json!(generated.collect::<Result<Vec<_>, _>>()?);
        Ok(Answer::json(data))
    })
}

fn spec() -> Spec {
    let doc = Doc {
        purpose: "Shows everything about one product or one style reference.",
        prerequisite: "the slug (list_products, get_style_reference).",
        use_when: &["work with one product or style", "see its texts, attributes, images and colours"],
        not: &[
            "list all (use list_products, get_style_reference)",
            "judge packaging (use analyze_packaging)",
        ],
        args: &["entity_type: product or style_reference", "slug: e.g. \"summer-soda\""],
        returns: "JSON with the product or the style_reference, and the images that were generated with it.",
        examples: &["get_context(entity_type=\"product\", slug=\"summer-soda\")"],
    };
    Spec {
        name: "get_context".into(),
        title: "Get context".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "entity_type": choice("What the slug names.", &["product", "style_reference"]),
                "slug": schema::slug("The product or style reference.", "summer-soda"),
            }),
            vec!["entity_type".to_owned(), "slug".to_owned()],
        ),
        output: json!({
            "entity_type": said("product or style_reference."),
            "slug": said("Its slug."),
            "product": record(&super::product::fields()),
            "style_reference": record(&style_tools::fields()),
            "generated": records(&json!({
                "path": said("The image."), "prompt": said("What was asked for."), "created": said("When."),
            })),
        }),
    }
}
