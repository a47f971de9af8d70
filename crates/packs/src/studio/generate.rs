//! Images that a model makes, with products and style references as its models.

use rusqlite::params;
use serde_json::{Value, json};

use super::{
    Studio,
    describe::Doc,
    interrupt,
    outside::{Outside, ReferenceImage},
    product::Product,
    schema::{self, count, flag, is, line, said, texts},
    slug,
    style::StyleReference,
    upload::{self, GENERATED, UPLOADS},
};
use crate::{
    arguments::Arguments,
    picture,
    reply::{Answer, Outcome, Refusal},
    sandbox::{self, SafePath, Writing},
    tool::{Effect, Spec, Tool},
};

/// A service is given this many images of each kind.
const MOST_REFERENCES: usize = 4;
/// A generated image may have this many bytes.
const LARGEST: usize = 40 * 1024 * 1024;

/// Returns the tool that makes images with these services.
pub(super) fn tools(outside: &Outside) -> Vec<Tool<Studio>> {
    let outside = outside.clone();
    let run = move |studio: &Studio, arguments: &Arguments<'_>| generate(studio, &outside, arguments);
    let mut tool = spec().run(run).tagged(["domain:images"]);
    tool.definition["annotations"]["openWorldHint"] = json!(true);
    vec![tool]
}

/// What an image is made from.
struct Order {
    prompt: String,
    references: Vec<ReferenceImage>,
    paths: Vec<String>,
    strict: bool,
}

fn generate(studio: &Studio, outside: &Outside, arguments: &Arguments<'_>) -> Outcome {
    if interrupt::asked(&studio.sandbox) {
        return Err(Refusal::new(
            "Stop was asked for: nothing was generated. The user goes on by removing the file STOP",
        ));
    }
    let order = order(studio, arguments)?;
    let made = outside.services().picture(&order.prompt, &order.references);
    let bytes = made.map_err(|error| Refusal::new(format!("no image was made: {error}")))?;
    if LARGEST < bytes.len() {
        return Err(Refusal::new("the service sent an image of more than 40 MiB: ask for a smaller one"));
    }
    let picture = picture::examine(&bytes)
        .map_err(|error| Refusal::new(format!("the service sent no usable image: {error}")))?;
    let (product, style) = (arguments.text("product_slug"), arguments.text("style_reference_slug"));
    let prompt = arguments.required("prompt").trim();
    let path = keep(studio, prompt, picture.format.name(), &bytes)?;
    studio.store.write(|writing| {
        writing.execute(
            "INSERT INTO generated (path, prompt, product, style_reference, strict, created)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                path.as_str(),
                prompt,
                product.unwrap_or_default(),
                style.unwrap_or_default(),
                order.strict,
                studio.now()
            ],
        )?;
        Ok(())
    })?;
    let mut data = upload::facts(&picture);
    data["path"] = json!(path.as_str());
    data["prompt"] = json!(prompt);
    data["product_slug"] = json!(product.unwrap_or_default());
    data["style_reference_slug"] = json!(style.unwrap_or_default());
    data["strict"] = json!(order.strict);
    data["references"] = json!(order.paths);
    Ok(Answer::json(data))
}

/// Gathers the images and words of what is to be shown.
fn order(studio: &Studio, arguments: &Arguments<'_>) -> Result<Order, Refusal> {
    let (product, style) = studio.store.read(|connection| {
        let product =
            arguments.text("product_slug").map(|slug| Product::read(connection, slug)).transpose()?;
        let style = arguments.text("style_reference_slug");
        let style = style.map(|slug| StyleReference::read(connection, slug)).transpose()?;
        Ok((product, style))
    })?;
    let strict = arguments.flag("strict").or(style.as_ref().map(|it| it.default_strict)).unwrap_or(false);
    let mut prompt = arguments.required("prompt").trim().to_owned();
    let mut wanted: Vec<(String, String)> = Vec::new();
    if let Some(product) = &product {
        let facts = Value::Object(product.attributes.clone());
        prompt.push_str(&format!("\n\nProduct: {}. {} {facts}", product.name, product.description));
        let primary = product.primary().map(|image| image.path.clone());
        let others =
            product.images.iter().map(|image| image.path.clone()).filter(|it| Some(it) != primary.as_ref());
        let images = primary.clone().into_iter().chain(others).take(MOST_REFERENCES);
        wanted.extend(images.map(|path| (format!("product: {}", product.name), path)));
    }
    if let Some(style) = &style {
        let how = if strict { "Follow this style closely" } else { "Take this style as inspiration" };
        let (summary, notes) = (&style.analysis["summary"], &style.analysis["model_notes"]);
        let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let words = format!("{} {} {}", style.description, said(summary), said(notes));
        prompt.push_str(&format!("\n\n{how}: {}. {}", style.name, words.trim()));
        let images = style.images.iter().take(MOST_REFERENCES);
        wanted.extend(images.map(|image| (format!("style reference: {}", style.name), image.path.clone())));
    }
    let (mut references, mut paths) = (Vec::new(), Vec::new());
    for (label, path) in wanted {
        references.push(upload::load(studio, &path, &[UPLOADS])?.reference(label));
        paths.push(path);
    }
    Ok(Order { prompt, references, paths, strict })
}

/// Writes the image under a name that is free.
fn keep(studio: &Studio, prompt: &str, extension: &str, bytes: &[u8]) -> Result<SafePath, Refusal> {
    let base = slug::from_words(prompt);
    for number in 1..1_000_000 {
        let path = SafePath::parse(&format!("{GENERATED}/{base}-{number}.{extension}"))?;
        match studio.sandbox.write(&path, bytes, Writing::New) {
            Ok(()) => return Ok(path),
            Err(sandbox::Error::Exists(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Refusal::new("there is no name left for the image: change the prompt"))
}

fn spec() -> Spec {
    let doc = Doc {
        purpose: "Makes a new image from words, with a product and a style reference if wanted.",
        prerequisite: "product_slug and style_reference_slug have to exist (list_products, get_style_reference).",
        use_when: &["create a picture, banner or advertisement", "show a product in a given style"],
        not: &["choose among ideas first (use propose_images)", "save a style (use manage_style_reference)"],
        args: &[
            "prompt: what to show, e.g. \"A bottle on a sunny beach\"",
            "product_slug: e.g. \"summer-soda\"",
            "style_reference_slug: e.g. \"hero-banner\"",
            "strict: follow the style closely. Defaults to the style reference's default_strict",
        ],
        returns: "JSON with path (in generated/), format, width, height, colours and the references used.",
        examples: &["generate_image(prompt=\"A bottle on a sunny beach\", product_slug=\"summer-soda\")"],
    };
    Spec {
        name: "generate_image".into(),
        title: "Generate an image".into(),
        description: doc.text().into(),
        effect: Effect::Adds,
        input: (
            json!({
                "prompt": line("What to show.", 4000, &["A bottle on a sunny beach"]),
                "product_slug": schema::slug("The product to show.", "summer-soda"),
                "style_reference_slug": schema::slug("The style to follow.", "hero-banner"),
                "strict": flag("Whether the style is followed closely.", false),
            }),
            vec!["prompt".to_owned()],
        ),
        output: json!({
            "format": said("png, jpg or webp."),
            "width": count("In pixels."),
            "height": count("In pixels."),
            "bytes": count("Size of the file."),
            "transparent": is("Whether a part of it is see-through."),
            "colours": schema::colours(),
            "path": said("The image in the workspace."),
            "prompt": said("What was asked for."),
            "product_slug": said("The product; empty without one."),
            "style_reference_slug": said("The style reference; empty without one."),
            "strict": is("Whether the style was to be followed closely."),
            "references": texts("The images that were shown to the model."),
        }),
    }
}
