//! What fuzz targets reach besides: every path of the processor, on the same numbers.

use crate::layout::{Accumulated, Group, LANE, Quad, ROWS, WIDTH};
use crate::simd::Path;
use crate::{Embedding, Encoder};

/// Returns the vector of a text by every path of this processor.
pub fn encode_by_every_path(encoder: &mut Encoder, text: &str) -> Vec<Embedding> {
    let usual = encoder.path;
    let vectors = Path::all().into_iter().map(|path| {
        encoder.path = path;
        encoder.encode(text)
    });
    let vectors = vectors.collect();
    encoder.path = usual;
    vectors
}

/// Returns the product of two vectors of whole numbers by every path; what only one of them has does not count.
pub fn dot_by_every_path(a: &[u8], b: &[u8]) -> Vec<i32> {
    let (a, b) = (whole(a), whole(b));
    let common = a.len().min(b.len()) / LANE;
    let (a, b) = (&a.as_chunks().0[..common], &b.as_chunks().0[..common]);
    let sum = a.as_flattened().iter().map(|byte| i32::from(*byte as i8)).sum();
    Path::all().into_iter().map(|path| path.dot(a, sum, b)).collect()
}

/// Multiplies four rows of activations with a panel of weights by every path.
pub fn tile_by_every_path(activations: &[u8], weights: &[u8]) -> Vec<[[i32; WIDTH]; ROWS]> {
    let four = |bytes: &[u8; 4]| i32::from_le_bytes(bytes.map(|byte| byte.max(1)));
    let numbers: Vec<i32> = activations.as_chunks().0.iter().map(four).collect();
    let quads: &[Quad] = numbers.as_chunks().0;
    let weights = whole(weights);
    let panel: &[Group] = weights.as_chunks::<LANE>().0.as_chunks().0;
    let common = quads.len().min(panel.len());
    let (quads, panel) = (&quads[..common], &panel[..common]);
    let mut sums = [0; WIDTH];
    for group in panel {
        for (sum, four) in sums.iter_mut().zip(group.as_flattened().as_chunks::<4>().0) {
            *sum += four.iter().map(|byte| i32::from(*byte as i8)).sum::<i32>();
        }
    }
    let product = |path: Path| {
        let mut out: Accumulated = [[0; WIDTH]; ROWS];
        path.tile(quads, panel, &sums, &mut out);
        out
    };
    Path::all().into_iter().map(product).collect()
}

/// Whole numbers as they are in files that were checked: never the one without a counterpart of the other sign.
fn whole(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| if *byte == 0x80 { 0x81 } else { *byte }).collect()
}
