//! The definitions of the style reference tools.

use serde_json::{Value, json};

use super::{
    analysis,
    describe::Doc,
    schema::{self, choice, confirm, count, flag, image_path, is, line, lines, page_of, records, said},
    style::ACTIONS,
    upload,
};
use crate::tool::{Effect, Spec, record};

/// The fields of a style reference in an answer.
pub(super) fn fields() -> Value {
    json!({
        "slug": said("Names the style reference in every tool."),
        "name": said("What people call it."),
        "description": said("What it is for; may be empty."),
        "default_strict": is("Whether generated images follow it closely unless told otherwise."),
        "analysis": analysis::schema(),
        "images": records(&upload::record_fields()),
        "created": said("When, ISO 8601 in UTC."),
        "changed": said("When it was last changed."),
    })
}

pub(super) fn manage_spec() -> Spec {
    let doc = Doc {
        purpose: "Creates, changes, analyzes or deletes a style reference: images that show how new ones should look.",
        prerequisite: "update, delete, add_image and reanalyze need a slug (get_style_reference). Images lie in uploads/.",
        use_when: &[
            "save a look, also many images at once",
            "rename, extend, re-analyze or delete a saved look",
        ],
        not: &["show style references (use get_style_reference)", "manage products (use manage_product)"],
        args: &[
            "action: create (name; description, image_path, default_strict), create_batch (image_paths; \
             default_strict), update (slug; name, description, default_strict), delete (slug, confirm), add_image \
             (slug, image_path; reanalyze), reanalyze (slug)",
            "slug, name, description: e.g. \"hero-banner\"",
            "image_path, image_paths: up to 10, e.g. \"uploads/hero-banner.png\"",
            "default_strict: follow closely. Defaults to false",
            "reanalyze: Defaults to true",
            "confirm: true to delete",
        ],
        returns: "JSON with message and style_reference; create_batch: created, failed, total, success_count.",
        examples: &["manage_style_reference(action=\"create_batch\", image_paths=[\"uploads/a.png\"])"],
    };
    Spec {
        name: "manage_style_reference".into(),
        title: "Manage a style reference".into(),
        description: doc.text().into(),
        effect: Effect::Changes,
        input: (
            json!({
                "action": choice("What to do.", &ACTIONS.names()),
                "slug": schema::slug("The style reference.", "hero-banner"),
                "name": line("What people call it.", 200, &["Hero Banner"]),
                "description": schema::text("What it is for.", 10_000, &["Warm light, wide shots."]),
                "image_path": image_path(),
                "image_paths": lines("Images in `uploads/`, each becomes one.", 10, 1000, &["uploads/hero-banner.png"]),
                "default_strict": flag("Whether generated images follow it closely.", false),
                "reanalyze": flag("Whether the new image joins the analysis.", true),
                "confirm": confirm(),
            }),
            vec!["action".to_owned()],
        ),
        output: json!({
            "action": said("What was done."),
            "message": said("The same in a sentence."),
            "style_reference": record(&fields()),
            "created": records(&json!({ "name": said("What people call it."), "slug": said("Its slug.") })),
            "failed": records(&json!({ "path": said("The image."), "error": said("Why, and what to do.") })),
            "total": count("How many images were sent."),
            "success_count": count("How many style references were made."),
        }),
    }
}

pub(super) fn get_spec() -> Spec {
    let doc = Doc {
        purpose: "Shows one style reference, or lists all of them.",
        prerequisite: "none; with slug, a style reference of that name.",
        use_when: &["see which looks are saved", "see the images, colours and analysis of one look"],
        not: &[
            "create, change or re-analyze one (use manage_style_reference)",
            "list products (use list_products)",
        ],
        args: &[
            "slug: e.g. \"hero-banner\"; without it, all are listed",
            "offset: how many to leave out. Defaults to 0",
            "limit: 1 to 100. Defaults to 20",
        ],
        returns: "JSON with style_references (slug, name, description, default_strict, analysis, images), total_count \
            and has_more.",
        examples: &[
            "get_style_reference()",
            "get_style_reference(slug=\"hero-banner\")",
            "get_style_reference(offset=20)",
        ],
    };
    Spec {
        name: "get_style_reference".into(),
        title: "Get style references".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "slug": schema::slug("The style reference; without it, all are listed.", "hero-banner"),
                "offset": schema::offset(),
                "limit": schema::limit(100),
            }),
            Vec::new(),
        ),
        output: page_of("style_references", records(&fields())),
    }
}
