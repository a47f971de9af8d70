//! Files of encoders: with another header, or with damaged bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolyard_encoder::fuzzing::encode_by_every_path;
use toolyard_encoder::{Encoder, Reader, Title};

const ENCODER: &[u8] = include_bytes!("../../crates/encoder/tests/data/encoder/tiny.tyenc");
const WEIGHTS: &[u8] = include_bytes!("../../crates/encoder/tests/data/encoder/model.safetensors");
const CONFIG: &str = include_str!("../../crates/encoder/tests/data/encoder/config.json");

fuzz_target!(|data: &[u8]| {
    check(data.to_vec());
    check(with_header(data));
    check(damaged(data));
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Encoder::from_parts(WEIGHTS, text, CONFIG);
        let _ = Encoder::from_parts(WEIGHTS, "[UNK]\n[CLS]\n[SEP]\na\n##b\n", text);
    }
    let _ = Encoder::from_parts(data, "[UNK]\n[CLS]\n[SEP]\na\n##b\n", CONFIG);
});

fn check(file: Vec<u8>) {
    let title = Title::read(&file).ok();
    let Ok(mut encoder) = Encoder::open(file.clone()) else { return };
    assert_eq!(title.map(|it| it.dims), Some(encoder.dims()));
    let vectors = encode_by_every_path(&mut encoder, "turn on the kitchen lights");
    assert!(vectors.windows(2).all(|two| two[0] == two[1]), "every path computes the same");
    assert!(vectors[0].values().iter().all(|value| value.is_finite()));
    let _ = encoder.read("turn on", "the lights");
    let _ = Reader::open(file, &encoder);
}

/// The numbers of a good file behind another header.
fn with_header(header: &[u8]) -> Vec<u8> {
    let length = u32::from_le_bytes(ENCODER[8..12].try_into().expect("four bytes")) as usize;
    let mut file = [&ENCODER[..8], &(header.len() as u32).to_le_bytes(), header].concat();
    file.resize(file.len().next_multiple_of(64), 0);
    file.extend(&ENCODER[(12 + length).next_multiple_of(64)..]);
    file
}

/// A good file with other bytes in some places: three say where, and the fourth what.
fn damaged(data: &[u8]) -> Vec<u8> {
    let mut file = ENCODER.to_vec();
    for [a, b, c, byte] in data.as_chunks().0.iter().take(64) {
        let at = u32::from_le_bytes([*a, *b, *c, 0]) as usize % file.len();
        file[at] = *byte;
    }
    file
}
