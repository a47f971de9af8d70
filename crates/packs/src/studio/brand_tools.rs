//! The definitions of the brand tools.

use serde_json::{Value, json};

use super::{
    brand::{ACTIONS, EVERYTHING, KINDS, SECTIONS},
    describe::Doc,
    schema::{self, choice, confirm, count, is, line, page_of, records, said, texts},
};
use crate::tool::{Effect, Spec, record};

/// The fields of a brand in an answer.
fn fields() -> Value {
    json!({
        "slug": said("Names the brand in every tool."),
        "name": said("What people call it."),
        "summary": said("What it stands for; may be empty."),
        "sections_present": texts("Sections that are written."),
        "sections_missing": texts("Sections that are not written yet."),
    })
}

pub(super) fn manage_spec() -> Spec {
    let doc = Doc {
        purpose: "Creates, changes or deletes a brand and the sections of its identity.",
        prerequisite: "update and delete need the slug of a brand (load_brand).",
        use_when: &["set up a brand", "write its look, voice, audience or positioning", "delete a brand"],
        not: &["show a brand (use load_brand, fetch_brand_detail)", "manage products (use manage_product)"],
        args: &[
            "action: create (name; summary, sections), update (slug; name, summary, sections), delete (slug, confirm)",
            "slug: e.g. \"sunny-drinks\"",
            "name, summary: e.g. \"Sunny Drinks\"",
            "sections: visual_identity, voice_guidelines, audience_profile, positioning; set one by one, null removes, \
             e.g. {\"positioning\": \"Honest lemonade\"}",
            "confirm: true to delete",
        ],
        returns: "JSON with the action, a message and the brand.",
        examples: &[
            "manage_brand(action=\"create\", name=\"Sunny Drinks\", summary=\"Honest lemonade\")",
            "manage_brand(action=\"delete\", slug=\"sunny-drinks\", confirm=true)",
        ],
    };
    Spec {
        name: "manage_brand".into(),
        title: "Manage a brand".into(),
        description: doc.text().into(),
        effect: Effect::Changes,
        input: (
            json!({
                "action": choice("What to do.", &ACTIONS.names()),
                "slug": schema::slug("The brand.", "sunny-drinks"),
                "name": line("What people call it.", 200, &["Sunny Drinks"]),
                "summary": schema::text("What it stands for.", 5000, &["Honest lemonade for hot days."]),
                "sections": {
                    "type": "object",
                    "description": format!("Texts by section ({}); null removes one.", SECTIONS.join(", ")),
                    "examples": [{ "positioning": "Honest lemonade, not a cheap soda." }],
                },
                "confirm": confirm(),
            }),
            vec!["action".to_owned()],
        ),
        output: json!({
            "action": said("What was done."),
            "message": said("The same in a sentence."),
            "brand": record(&fields()),
        }),
    }
}

pub(super) fn load_spec() -> Spec {
    let doc = Doc {
        purpose: "Loads a brand: its summary, what is written about it, and what the workspace holds.",
        prerequisite: "none; call it first in a session.",
        use_when: &["start working on a brand", "see which brands there are"],
        not: &["show whole sections (use fetch_brand_detail)", "create or change a brand (use manage_brand)"],
        args: &["slug: e.g. \"sunny-drinks\"; without it, the only brand, or all to choose from"],
        returns: "JSON with loaded, brands, product_count, style_reference_count, memories and next_step.",
        examples: &["load_brand()", "load_brand(slug=\"sunny-drinks\")"],
    };
    Spec {
        name: "load_brand".into(),
        title: "Load a brand".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (json!({ "slug": schema::slug("The brand.", "sunny-drinks") }), Vec::new()),
        output: json!({
            "loaded": is("Whether exactly one brand is meant."),
            "brands": records(&fields()),
            "product_count": count("How many products there are."),
            "style_reference_count": count("How many style references there are."),
            "memories": texts("What was remembered last."),
            "next_step": said("What to call next."),
        }),
    }
}

pub(super) fn detail_spec() -> Spec {
    let doc = Doc {
        purpose: "Shows a section of a brand's identity, or all of them.",
        prerequisite: "a brand (load_brand).",
        use_when: &["know how the brand looks, speaks, whom it is for or how it is positioned"],
        not: &["write sections (use manage_brand)", "list images (use browse_brand_assets)"],
        args: &[
            "section: visual_identity, voice_guidelines, audience_profile, positioning or full_identity",
            "slug: e.g. \"sunny-drinks\"; without it, the only brand",
        ],
        returns: "JSON with slug, name, summary and the sections; a text that is empty is not written yet.",
        examples: &["fetch_brand_detail(section=\"voice_guidelines\")"],
    };
    let sections: Vec<&str> = SECTIONS.into_iter().chain([EVERYTHING]).collect();
    Spec {
        name: "fetch_brand_detail".into(),
        title: "Fetch brand detail".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "section": choice("Which part.", &sections),
                "slug": schema::slug("The brand; without it, the only one.", "sunny-drinks"),
            }),
            vec!["section".to_owned()],
        ),
        output: json!({
            "slug": said("The brand."),
            "name": said("What people call it."),
            "summary": said("What it stands for."),
            "sections": records(&json!({ "section": said("Its name."), "text": said("Empty when not written.") })),
        }),
    }
}

pub(super) fn browse_spec() -> Spec {
    let doc = Doc {
        purpose: "Lists the images of the workspace and what each is used for.",
        prerequisite: "none.",
        use_when: &["see which images there are", "find images that nothing uses, or that were generated"],
        not: &["list other files (use list_files)", "show the colours of an image (use get_context)"],
        args: &[
            "kind: product_image, style_reference_image, generated or upload (used by nothing); without it, all",
            "offset: Defaults to 0",
            "limit: 1 to 100. Defaults to 20",
        ],
        returns: "JSON with assets (path, kind, used_by, bytes, exists), total_count and has_more.",
        examples: &["browse_brand_assets()", "browse_brand_assets(kind=\"generated\")"],
    };
    let mut output = page_of(
        "assets",
        records(&json!({
            "path": said("Where the image is in the workspace."),
            "kind": said("What it is used for."),
            "used_by": texts("The slugs that use it."),
            "bytes": count("Size of the file; 0 when it is gone."),
            "exists": is("Whether the file is there."),
        })),
    );
    output["incomplete"] = is("Whether there is more than is looked at in one go.");
    Spec {
        name: "browse_brand_assets".into(),
        title: "Browse brand assets".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "kind": choice("Only images of this kind.", &KINDS),
                "offset": schema::offset(),
                "limit": schema::limit(100),
            }),
            Vec::new(),
        ),
        output,
    }
}
