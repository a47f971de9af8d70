//! Packaging: what it looks like and says, and the texts on it.
//!
//! The analysis measures what can be measured without a model and never changes anything; a model, where one is
//! offered, adds its view.

use serde_json::{Value, json};

use super::{
    Studio,
    action::{Action, Actions},
    describe::Doc,
    interrupt,
    product::{self, Product, TEXT_FIELDS},
    schema::{self, Page, choice, count, is, said, texts},
    upload::{self, Image, UPLOADS, Upload},
};
use crate::{
    arguments::Arguments,
    picture::{Colour, contrast},
    reply::{Answer, Outcome, quoted},
    tool::{Effect, Spec, Tool, record},
};

const MODES: Actions = Actions {
    tool: "analyze_packaging",
    key: "mode",
    all: &[
        Action { name: "single", required: &["slug"], optional: &[], confirm: false },
        Action { name: "all", required: &[], optional: &["offset", "limit"], confirm: false },
    ],
};

/// Print needs this many pixels on the shorter side.
const SHARP: u64 = 1000;
/// The contrast that text needs to be read by most people (WCAG AA).
const READABLE: f64 = 4.5;
/// A colour that covers less is a detail.
const MAIN_SHARE: f64 = 0.05;

pub(super) fn tools() -> Vec<Tool<Studio>> {
    let mut analysis = analyze_spec().run(analyze).tagged(["domain:products", "analysis"]);
    let item = &mut analysis.definition["outputSchema"]["properties"]["analyses"]["items"];
    // A product may have no image, and there may be no model.
    item["required"] = json!(["slug", "name", "packaging_text", "text_present", "text_missing", "findings"]);
    vec![analysis, update_spec().run(update).tagged(["domain:products"])]
}

fn analyze(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let mode = MODES.chosen(arguments)?;
    let page = Page::of(arguments);
    let (total, products) = studio.store.read(|connection| {
        if mode.name == "single" {
            return Ok((1, vec![Product::read(connection, arguments.required("slug"))?]));
        }
        let slugs = product::slugs(connection, page)?;
        let products: Result<Vec<_>, _> = slugs.iter().map(|slug| Product::read(connection, slug)).collect();
        Ok((product::total(connection)?, products?))
    })?;
    let mut analyses = Vec::new();
    let mut stopped = false;
    for product in &products {
        // One product was asked for; many are a job that can be stopped.
        if mode.name == "all" && interrupt::asked(&studio.sandbox) {
            stopped = true;
            break;
        }
        analyses.push(analysis(studio, product));
    }
    let next = page.offset.saturating_add(analyses.len());
    Ok(Answer::json(json!({
        "mode": mode.name,
        "total_count": total,
        "offset": page.offset,
        "next_offset": next,
        "has_more": next < total,
        "stopped": stopped,
        "analyses": analyses,
    })))
}

/// Measures one product.
fn analysis(studio: &Studio, product: &Product) -> Value {
    let present: Vec<&str> =
        TEXT_FIELDS.into_iter().filter(|it| product.packaging.contains_key(*it)).collect();
    let missing: Vec<&str> = TEXT_FIELDS.into_iter().filter(|it| !present.contains(it)).collect();
    let mut findings = text_findings(product, &missing);
    let mut data = json!({
        "slug": product.slug,
        "name": product.name,
        "packaging_text": product.texts(),
        "text_present": present,
        "text_missing": missing,
    });
    let seen = product.primary().map(|image| (image, upload::load(studio, &image.path, &[UPLOADS])));
    let mut file = None;
    match seen {
        Some((image, Ok(read))) => {
            let image = Image { facts: upload::facts(&read.picture), ..image.clone() };
            look(&image, &mut data, &mut findings);
            file = Some(read);
        }
        Some((image, Err(error))) => {
            findings.push(format!("the image cannot be read, these are the facts from when it was added: {error}"));
            look(image, &mut data, &mut findings);
        }
        None => findings.push(format!(
            "there is no image: manage_product(action=\"add_image\", slug=\"{}\", image_path=\"uploads/...\")",
            product.slug
        )),
    }
    if let Some(notes) = model_notes(studio, &data, file) {
        match notes {
            Ok(notes) => data["model_notes"] = json!(notes),
            Err(error) => findings.push(format!("the model could not be asked: {error}")),
        }
    }
    data["findings"] = json!(findings);
    data
}

fn text_findings(product: &Product, missing: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    if !missing.is_empty() {
        findings.push(format!(
            "missing packaging text: {}; update_packaging_text(slug=\"{}\", field=\"{}\", value=\"...\")",
            missing.join(", "),
            product.slug,
            missing[0]
        ));
    }
    let headline =
        product.packaging.get("headline").and_then(Value::as_str).map_or(0, |it| it.chars().count());
    if 60 < headline {
        findings.push(format!("the headline has {headline} characters: up to 60 can be read at a glance"));
    }
    findings
}

/// Adds what the image shows.
fn look(image: &Image, data: &mut Value, findings: &mut Vec<String>) {
    let (width, height) =
        (image.facts["width"].as_u64().unwrap_or(0), image.facts["height"].as_u64().unwrap_or(0));
    if width.min(height) < SHARP {
        findings.push(format!(
            "the image is {width} by {height} pixels: print needs {SHARP} on the shorter side"
        ));
    }
    data["image"] = image.data();
    let palette = image.palette();
    let main: Vec<&Colour> = palette.iter().filter(|it| MAIN_SHARE <= it.share).collect();
    let Some(ground) = main.first() else {
        findings.push("the image has no visible colour".to_owned());
        return;
    };
    let pairs =
        main.iter().enumerate().flat_map(|(at, one)| main[at + 1..].iter().map(move |other| (one, other)));
    let best = pairs
        .map(|(one, other)| (contrast(one.rgb, other.rgb), one.hex(), other.hex()))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or((1.0, ground.hex(), ground.hex()));
    let (black, white) = (contrast(ground.rgb, [0; 3]), contrast(ground.rgb, [255; 3]));
    let (text, text_ratio) = if white < black { ("#000000", black) } else { ("#ffffff", white) };
    if best.0 < READABLE {
        findings.push(format!(
            "low contrast: the main colours reach {:.1} to 1 and text needs {READABLE}; write in {text} on {}",
            best.0,
            ground.hex()
        ));
    }
    data["contrast"] = json!({
        "between": [best.1, best.2],
        "ratio": rounded(best.0),
        "readable": READABLE <= best.0,
        "text_colour": text,
        "text_ratio": rounded(text_ratio),
    });
}

/// Asks the model, where there is one, what it thinks of the packaging.
fn model_notes(studio: &Studio, facts: &Value, file: Option<Upload>) -> Option<Result<String, String>> {
    let outside = studio.outside.as_ref()?;
    let abilities = outside.abilities();
    if !abilities.answers {
        return None;
    }
    let images: Vec<_> = file
        .filter(|_| abilities.vision)
        .map(|it| it.reference("packaging".to_owned()))
        .into_iter()
        .collect();
    let prompt = format!(
        "Review this product packaging for a designer in at most five sentences: legibility, hierarchy, colours, \
         texts. Measured facts as JSON:\n{facts:#}"
    );
    Some(outside.services().answer(&prompt, &images))
}

fn update(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let (slug, field) = (arguments.required("slug"), arguments.required("field"));
    let value = arguments.required("value").trim();
    let (previous, product) = studio.store.write(|writing| {
        let mut product = Product::read(writing, slug)?;
        let previous = product.texts()[field].clone();
        if value.is_empty() {
            product.packaging.shift_remove(field);
        } else {
            product.packaging.insert(field.to_owned(), json!(value));
        }
        let packaging = Value::Object(product.packaging).to_string();
        writing.execute("UPDATE product SET packaging = ?2 WHERE slug = ?1", [slug, &packaging])?;
        product::touch(studio, writing, slug)?;
        Ok((previous, Product::read(writing, slug)?))
    })?;
    Ok(Answer::json(json!({
        "slug": slug,
        "field": field,
        "value": value,
        "previous": previous,
        "packaging_text": product.texts(),
    })))
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn analyze_spec() -> Spec {
    let doc = Doc {
        purpose: "Measures packaging: image size, format, colours, contrast, and which packaging texts are missing.",
        prerequisite: "mode single needs the slug of a product (list_products).",
        use_when: &[
            "check the packaging of one product",
            "find weak or unfinished packaging among all products",
        ],
        not: &[
            "change anything (use update_packaging_text, manage_product)",
            "describe a style (use manage_style_reference with action reanalyze)",
        ],
        args: &[
            "mode: single (needs slug) or all. Defaults to single",
            "slug: with single, e.g. \"summer-soda\"",
            "offset, limit: with all; limit 1 to 20. Default to 0 and 20",
        ],
        returns: "JSON with analyses (image facts, contrast, text_present, text_missing, findings), total_count, \
            next_offset, has_more, and stopped when Stop was asked for.",
        examples: &["analyze_packaging(slug=\"summer-soda\")", "analyze_packaging(mode=\"all\", offset=20)"],
    };
    Spec {
        name: "analyze_packaging".into(),
        title: "Analyze packaging".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "slug": schema::slug("The product; with mode single.", "summer-soda"),
                "mode": choice("One product or a page of all.", &MODES.names()),
                "offset": schema::offset(),
                "limit": schema::limit(20),
            }),
            Vec::new(),
        ),
        output: json!({
            "mode": said("single or all."),
            "total_count": count("How many products there are to analyze."),
            "offset": count("How many were left out at the start."),
            "next_offset": count("Where to go on."),
            "has_more": is("Whether there are more."),
            "stopped": is("Whether Stop was asked for before the end."),
            "analyses": schema::records(&json!({
                "slug": said("The product."),
                "name": said("What people call it."),
                "packaging_text": product::text_record(),
                "text_present": texts("Packaging texts that are there."),
                "text_missing": texts("Packaging texts that are missing."),
                "image": record(&upload::record_fields()),
                "contrast": record(&json!({
                    "between": texts("The two main colours that differ most."),
                    "ratio": { "type": "number", "description": "From 1 to 21, as WCAG defines it." },
                    "readable": is("Whether it is enough for text."),
                    "text_colour": said("Black or white, whichever reads better on the main colour."),
                    "text_ratio": { "type": "number", "description": "The contrast that it reaches." },
                })),
                "findings": texts("What to do about it."),
                "model_notes": said("What a model thinks, where one is offered."),
            })),
        }),
    }
}

fn update_spec() -> Spec {
    let doc = Doc {
        purpose: "Writes one of the four texts on a product's packaging.",
        prerequisite: "the slug of a product (list_products).",
        use_when: &[
            "write or change a headline, subheadline, body or tagline",
            "remove such a text (empty value)",
        ],
        not: &[
            "judge the packaging (use analyze_packaging)",
            "change name or description (use manage_product)",
        ],
        args: &[
            "slug: e.g. \"summer-soda\"",
            "field: headline, subheadline, body or tagline",
            "value: the text; empty removes it, e.g. \"Taste the sun\"",
        ],
        returns: "JSON with the field, its new value and the previous one, and all four texts.",
        examples: &[
            "update_packaging_text(slug=\"summer-soda\", field=\"headline\", value=\"Taste the sun\")",
        ],
    };
    Spec {
        name: "update_packaging_text".into(),
        title: "Update packaging text".into(),
        description: doc.text().into(),
        effect: Effect::Settles,
        input: (
            json!({
                "slug": schema::slug("The product.", "summer-soda"),
                "field": choice(&format!("Which text: {}.", quoted(TEXT_FIELDS)), &TEXT_FIELDS),
                "value": schema::text("The text; empty removes it.", 5000, &["Taste the sun"]),
            }),
            vec!["slug".to_owned(), "field".to_owned(), "value".to_owned()],
        ),
        output: json!({
            "slug": said("The product."),
            "field": said("Which text."),
            "value": said("The text; empty when it was removed."),
            "previous": said("What stood there before."),
            "packaging_text": product::text_record(),
        }),
    }
}
