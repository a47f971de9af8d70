//! Proposals: questions with choices, among words or among images, for the user to decide.

use serde_json::{Value, json};

use super::{
    Studio,
    describe::Doc,
    schema::{count, flag, is, line, lines, records, said},
    upload::{self, GENERATED, UPLOADS, facts},
};
use crate::{
    arguments::Arguments,
    reply::{Answer, Outcome, Refusal},
    tool::{Effect, Spec, Tool},
};

const MOST: usize = 10;

pub(super) fn tools() -> Vec<Tool<Studio>> {
    let mut images = images_spec().run(images).tagged(["domain:proposals"]);
    let option = &mut images.definition["outputSchema"]["properties"]["options"]["items"];
    // An option is an image that is there or a prompt for one that is not.
    option["required"] = json!(["number", "kind", "text"]);
    vec![choices_spec().run(choices).tagged(["domain:proposals", "core"]), images]
}

fn choices(_: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let choices: Vec<&str> = arguments.list("choices").into_iter().map(str::trim).collect();
    check_count(choices.len(), "choices")?;
    let mut seen = choices.clone();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() < choices.len() {
        return Err(Refusal::new("two of the `choices` are the same: send different ones"));
    }
    let free_answer = arguments.flag("allow_custom").unwrap_or(true);
    let options: Vec<Value> =
        (1..).zip(&choices).map(|(number, text)| json!({ "number": number, "text": text })).collect();
    Ok(Answer::json(json!({
        "question": arguments.required("question").trim(),
        "options": options,
        "allow_custom": free_answer,
        "next_step": next_step(free_answer),
    })))
}

fn images(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let (paths, prompts) = (arguments.list("image_paths"), arguments.list("prompts"));
    check_count(paths.len() + prompts.len(), "image_paths and prompts together")?;
    let mut options = Vec::new();
    for path in paths {
        let image = upload::load(studio, path, &[UPLOADS, GENERATED])?;
        let facts = facts(&image.picture);
        options.push(json!({
            "number": options.len() + 1,
            "kind": "image",
            "text": image.path.as_str(),
            "width": facts["width"],
            "height": facts["height"],
            "format": facts["format"],
            "colours": facts["colours"],
        }));
    }
    for prompt in prompts {
        options.push(json!({ "number": options.len() + 1, "kind": "prompt", "text": prompt.trim() }));
    }
    Ok(Answer::json(json!({
        "question": arguments.text("question").unwrap_or("Which one do you like best?").trim(),
        "options": options,
        "next_step": next_step(true),
    })))
}

fn check_count(count: usize, what: &str) -> Result<(), Refusal> {
    if (2..=MOST).contains(&count) {
        return Ok(());
    }
    Err(Refusal::new(format!("there are {count} options: send 2 to {MOST} {what}")))
}

fn next_step(free_answer: bool) -> &'static str {
    if free_answer {
        "show the question with the numbered options and wait; the user answers with a number or in own words"
    } else {
        "show the question with the numbered options and wait; the user answers with a number"
    }
}

fn choices_spec() -> Spec {
    let doc = Doc {
        purpose: "Puts a question with numbered choices to the user.",
        prerequisite: "none.",
        use_when: &[
            "decide between a few options",
            "be asked before something is done in one of several ways",
        ],
        not: &["choose among images (use propose_images)", "decide by itself or change anything"],
        args: &[
            "question: e.g. \"Which tone fits?\"",
            "choices: 2 to 10 different ones, e.g. [\"Playful\", \"Serious\"]",
            "allow_custom: whether own words are welcome. Defaults to true",
        ],
        returns: "JSON with the question, numbered options and what to do next.",
        examples: &["propose_choices(question=\"Which tone fits?\", choices=[\"Playful\", \"Serious\"])"],
    };
    Spec {
        name: "propose_choices".into(),
        title: "Propose choices".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "question": line("What to decide.", 1000, &["Which tone fits?"]),
                "choices": lines("2 to 10 different choices.", 10, 500, &["Playful", "Serious"]),
                "allow_custom": flag("Whether the user may answer in own words.", true),
            }),
            vec!["question".to_owned(), "choices".to_owned()],
        ),
        output: json!({
            "question": said("What to decide."),
            "options": records(&json!({ "number": count("What the user answers."), "text": said("The choice.") })),
            "allow_custom": is("Whether own words are welcome."),
            "next_step": said("What to do."),
        }),
    }
}

fn images_spec() -> Spec {
    let doc = Doc {
        purpose: "Lets the user choose among images, or among prompts for new images.",
        prerequisite: "image_paths have to exist in uploads/ or generated/ (browse_brand_assets).",
        use_when: &["pick the best of several images", "choose an idea before an image is made from it"],
        not: &["make images", "ask about words (use propose_choices)"],
        args: &[
            "image_paths: e.g. [\"uploads/a.png\", \"generated/b.png\"]",
            "prompts: ideas for new images, e.g. [\"Bottle on a beach\", \"Bottle in the snow\"]",
            "question: e.g. \"Which one for the poster?\"",
            "together 2 to 10 image_paths and prompts",
        ],
        returns: "JSON with the question and numbered options; images with size, format and colours.",
        examples: &["propose_images(prompts=[\"Bottle on a beach\", \"Bottle in the snow\"])"],
    };
    Spec {
        name: "propose_images".into(),
        title: "Propose images".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "image_paths": lines("Images in uploads/ or generated/.", 10, 1000, &["uploads/a.png", "generated/b.png"]),
                "prompts": lines("Ideas for new images.", 10, 2000, &["Bottle on a beach", "Bottle in the snow"]),
                "question": line("What to decide.", 1000, &["Which one for the poster?"]),
            }),
            Vec::new(),
        ),
        output: json!({
            "question": said("What to decide."),
            "options": records(&json!({
                "number": count("What the user answers."),
                "kind": said("image or prompt."),
                "text": said("The path or the prompt."),
                "width": count("In pixels."),
                "height": count("In pixels."),
                "format": said("png, jpg or webp."),
                "colours": super::schema::colours(),
            })),
            "next_step": said("What to do."),
        }),
    }
}
