//! Facts of an image file: format, size and colours.
//!
//! An image is decoded only within limits, so that a small file that unpacks into a huge picture is refused.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, metadata::Orientation};

/// What is known of an image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) format: Format,
    /// As it is shown, after turning a photograph upright.
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) bytes: usize,
    /// Whether a part of it is see-through.
    pub(crate) transparent: bool,
    /// The most common colours, most common first; none when everything is see-through.
    pub(crate) palette: Vec<Colour>,
}

/// A colour and how much of the image has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Colour {
    pub(crate) rgb: [u8; 3],
    /// From 0 to 1.
    pub(crate) share: f64,
}

/// An image format that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Jpeg,
    Webp,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("Invalid image format: send a png, jpg or webp file")]
    Format,
    #[error(
        "the image is {width} by {height} pixels: at most {MOST_PIXELS} pixels and {LONGEST_SIDE} a side are read"
    )]
    TooManyPixels { width: u32, height: u32 },
    #[error("the image is damaged: {0}")]
    Damaged(image::ImageError),
}

const MOST_PIXELS: u64 = 40_000_000;
const LONGEST_SIDE: u32 = 20_000;
const MOST_MEMORY: u64 = 192 * 1024 * 1024;
/// Colours are counted on this many pixels, spread evenly.
const MOST_SAMPLES: u64 = 65_536;
const MOST_COLOURS: usize = 6;
/// Colours nearer than this (in steps of the three channels) count as one.
const NEAR: i32 = 40;

impl Format {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Webp => "webp",
        }
    }

    /// Reads a file name's ending, in lower case.
    pub(crate) fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }

    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }

    const fn decoder(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Webp => ImageFormat::WebP,
        }
    }

    /// Reads the first bytes of a file.
    fn of_content(bytes: &[u8]) -> Option<Self> {
        let guessed = image::guess_format(bytes).ok()?;
        [Self::Png, Self::Jpeg, Self::Webp].into_iter().find(|format| format.decoder() == guessed)
    }
}

impl Colour {
    pub(crate) fn hex(&self) -> String {
        let [red, green, blue] = self.rgb;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Decodes an image and returns its facts.
pub(crate) fn examine(bytes: &[u8]) -> Result<Picture, Error> {
    let format = Format::of_content(bytes).ok_or(Error::Format)?;
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format.decoder());
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(Error::Damaged)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if MOST_PIXELS < pixels || LONGEST_SIDE < width.max(height) || MOST_MEMORY < decoder.total_bytes() {
        return Err(Error::TooManyPixels { width, height });
    }
    // Damaged notes of a camera do not make the picture unusable.
    let turned = matches!(
        decoder.orientation(),
        Ok(Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH)
    );
    let image = DynamicImage::from_decoder(decoder).map_err(Error::Damaged)?;
    let (palette, transparent) = colours(&image, pixels);
    let (width, height) = if turned { (height, width) } else { (width, height) };
    Ok(Picture { format, width, height, bytes: bytes.len(), transparent, palette })
}

/// Returns the contrast of two colours as WCAG defines it, from 1 to 21.
pub(crate) fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Returns how bright a colour is to the eye, from 0 to 1.
pub(crate) fn luminance(rgb: [u8; 3]) -> f64 {
    let [red, green, blue] = rgb.map(|channel| {
        let channel = f64::from(channel) / 255.0;
        if channel <= 0.040_45 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// Joins the palettes of several images into one; every image counts the same.
pub(crate) fn blend<'p>(palettes: impl IntoIterator<Item = &'p [Colour]>) -> Vec<Colour> {
    let palettes: Vec<&[Colour]> = palettes.into_iter().filter(|it| !it.is_empty()).collect();
    let scale = 1.0 / palettes.len().max(1) as f64;
    let all = palettes.iter().flat_map(|it| it.iter());
    gather(all.map(|colour| Colour { rgb: colour.rgb, share: colour.share * scale }).collect())
}

/// Counts the colours of pixels that are spread evenly over the image.
fn colours(image: &DynamicImage, pixels: u64) -> (Vec<Colour>, bool) {
    const BINS: usize = 1 << 15;
    let pixels_of = image.to_rgba8();
    // An odd step does not keep hitting the same columns.
    let step = usize::try_from(pixels / MOST_SAMPLES).unwrap_or(1).max(1) | 1;
    let mut bins = vec![[0_u64; 4]; BINS];
    let (mut counted, mut transparent) = (0_u64, false);
    for pixel in pixels_of.pixels().step_by(step) {
        let [red, green, blue, alpha] = pixel.0;
        if alpha < 128 {
            transparent = true;
            continue;
        }
        let bin = [red, green, blue].iter().fold(0, |bin, channel| (bin << 5) | usize::from(channel >> 3));
        for (sum, channel) in bins[bin].iter_mut().zip([red, green, blue]) {
            *sum += u64::from(channel);
        }
        bins[bin][3] += 1;
        counted += 1;
    }
    let found = bins.into_iter().filter(|bin| 0 < bin[3]).map(|[red, green, blue, count]| {
        let mean = |sum: u64| u8::try_from((sum + count / 2) / count).unwrap_or(u8::MAX);
        Colour { rgb: [mean(red), mean(green), mean(blue)], share: count as f64 / counted as f64 }
    });
    (gather(found.collect()), transparent)
}

/// Keeps the most common colours and adds what is near to one of them to it.
fn gather(mut found: Vec<Colour>) -> Vec<Colour> {
    found.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.rgb.cmp(&b.rgb)));
    let mut kept: Vec<Colour> = Vec::new();
    for colour in found {
        match kept.iter().position(|it| near(it.rgb, colour.rgb)) {
            Some(same) => kept[same].share += colour.share,
            None if kept.len() < MOST_COLOURS => kept.push(colour),
            None => {}
        }
    }
    kept.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.rgb.cmp(&b.rgb)));
    for colour in &mut kept {
        colour.share = (colour.share * 1000.0).round() / 1000.0;
    }
    kept
}

fn near(one: [u8; 3], other: [u8; 3]) -> bool {
    let apart = one.iter().zip(other).map(|(a, b)| (i32::from(*a) - i32::from(b)).pow(2));
    apart.sum::<i32>() < NEAR * NEAR
}
