//! What the images of a style reference have in common: colours, brightness, saturation, temperature.

use serde_json::{Value, json};

use super::{Studio, schema, upload, upload::Upload};
use crate::{
    picture::{self, Colour, luminance},
    tool::record,
};

/// What was measured, before a model has looked.
pub(super) struct Analysis<'a> {
    studio: &'a Studio,
    name: &'a str,
    images: &'a [Upload],
    data: Value,
}

impl<'a> Analysis<'a> {
    /// Measures images.
    pub(super) fn of(studio: &'a Studio, name: &'a str, images: &'a [Upload]) -> Self {
        let palette = picture::blend(images.iter().map(|image| image.picture.palette.as_slice()));
        let weight: f64 = palette.iter().map(|it| it.share).sum();
        let mean = |measure: fn([u8; 3]) -> f64| {
            let sum: f64 = palette.iter().map(|it| measure(it.rgb) * it.share).sum();
            if weight == 0.0 { 0.0 } else { (sum / weight * 1000.0).round() / 1000.0 }
        };
        let (brightness, saturation, warmth) = (mean(luminance), mean(saturation), mean(warmth));
        let temperature = match warmth {
            it if 0.08 < it => "warm",
            it if it < -0.08 => "cool",
            _ => "neutral",
        };
        let data = json!({
            "summary": summary(images.len(), &palette, brightness, saturation, temperature),
            "brightness": brightness,
            "saturation": saturation,
            "temperature": temperature,
            "colours": upload::painted(&palette),
            "image_count": images.len(),
            "model_notes": "",
        });
        Self { studio, name, images, data }
    }

    /// Lets a model look as well, where one is offered; a failure is a remark and loses nothing.
    pub(super) fn with_model(mut self) -> (Value, String) {
        let Some(outside) = self.studio.outside.as_ref().filter(|it| it.abilities().answers) else {
            return (self.data, String::new());
        };
        if self.images.is_empty() {
            return (self.data, String::new());
        }
        let label = |image: &Upload| format!("style reference: {}", image.path.as_str());
        let images: Vec<_> = self.images.iter().filter(|_| outside.abilities().vision).collect();
        let images: Vec<_> = images
            .into_iter()
            .map(|image| super::outside::ReferenceImage {
                label: label(image),
                media_type: image.picture.format.media_type(),
                bytes: image.bytes.clone(),
            })
            .collect();
        let prompt = format!(
            "Describe the visual style of `{}` so that an image generator can follow it: composition, light, colours, \
             mood, in at most five sentences. Measured facts as JSON:\n{:#}",
            self.name, self.data
        );
        match outside.services().answer(&prompt, &images) {
            Ok(notes) => {
                self.data["model_notes"] = json!(notes.trim());
                (self.data, String::new())
            }
            Err(error) => (self.data, format!("; the model could not be asked: {error}")),
        }
    }
}

/// The analysis in an answer.
pub(super) fn schema() -> Value {
    record(&json!({
        "summary": schema::said("The look in a sentence."),
        "brightness": { "type": "number", "description": "From 0 (black) to 1 (white)." },
        "saturation": { "type": "number", "description": "From 0 (grey) to 1 (pure colour)." },
        "temperature": schema::said("warm, cool or neutral."),
        "colours": schema::colours(),
        "image_count": schema::count("How many images were measured."),
        "model_notes": schema::said("What a model sees, where one is offered; otherwise empty."),
    }))
}

fn summary(count: usize, palette: &[Colour], brightness: f64, saturation: f64, temperature: &str) -> String {
    if palette.is_empty() {
        return if count == 0 { "no image yet".to_owned() } else { "nothing visible".to_owned() };
    }
    let light = match brightness {
        it if it < 0.15 => "dark",
        it if it < 0.5 => "medium bright",
        _ => "bright",
    };
    let colourful = match saturation {
        it if it < 0.15 => "muted",
        it if it < 0.5 => "moderately saturated",
        _ => "saturated",
    };
    let colours: Vec<String> = palette.iter().take(3).map(Colour::hex).collect();
    format!("{light}, {colourful}, {temperature}; mainly {}", colours.join(", "))
}

fn saturation(rgb: [u8; 3]) -> f64 {
    let most = f64::from(rgb.iter().copied().max().unwrap_or(0));
    let least = f64::from(rgb.iter().copied().min().unwrap_or(0));
    if most == 0.0 { 0.0 } else { (most - least) / most }
}

/// Red against blue, from -1 to 1.
fn warmth(rgb: [u8; 3]) -> f64 {
    (f64::from(rgb[0]) - f64::from(rgb[2])) / 255.0
}
