//! Any text through the encoder and the reader of arguments, on every path that the processor has.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use toolyard_encoder::fuzzing::{dot_by_every_path, encode_by_every_path, tile_by_every_path};
use toolyard_encoder::{Encoder, FieldText, Packed, Reader, ReaderInput, Vectors};

const ENCODER: &[u8] = include_bytes!("../../crates/encoder/tests/data/encoder/tiny.tyenc");
const READER: &[u8] = include_bytes!("../../crates/encoder/tests/data/encoder/reader.tyenc");

thread_local! {
    static MODELS: RefCell<(Encoder, Reader)> = RefCell::new({
        let encoder = Encoder::open(ENCODER).expect("it is an encoder");
        let reader = Reader::open(READER, &encoder).expect("it is a reader for it");
        (encoder, reader)
    });
}

fuzz_target!(|data: &[u8]| {
    let (first, second) = data.split_at(data.len() / 2);
    all_the_same(&dot_by_every_path(first, second));
    all_the_same(&tile_by_every_path(first, second));
    if let Ok(packed) = Packed::from_bytes(data) {
        assert_eq!(packed.to_bytes().len(), data.len());
        assert!(packed.unpack().values().iter().all(|value| value.is_finite()));
    }
    let text = String::from_utf8_lossy(data);
    MODELS.with_borrow_mut(|(encoder, reader)| {
        encode(encoder, &text);
        read(encoder, reader, &text);
    });
});

fn encode(encoder: &mut Encoder, text: &str) {
    let vectors = encode_by_every_path(encoder, text);
    all_the_same(&vectors);
    let vector = &vectors[0];
    assert_eq!(vector.values().len(), encoder.dims());
    let length = vector.cosine(vector);
    assert!((length - 1.0).abs() < 1e-3 || length == 0.0, "{length}");
    let packed = vector.pack();
    assert_eq!(Packed::from_bytes(&packed.to_bytes()).expect("it was written so"), packed);
    let (mut many, mut scores) = (Vectors::new(encoder.dims()), Vec::new());
    many.push(&packed).expect("it is of this encoder");
    many.score(vector, &mut scores).expect("so is this");
    assert!((scores[0] - length).abs() < 0.05, "{scores:?} {length}");
}

fn read(encoder: &Encoder, reader: &Reader, text: &str) {
    let (request, about) = text.split_once("\n====\n").unwrap_or((text, text));
    let fit = encoder.read(request, about).expect("this one can read");
    assert!(fit.is_finite());
    let options: Vec<String> = about.split('\n').take(4).map(str::to_owned).collect();
    let parameters = [
        FieldText { name: "room", description: about, kind: "one of", options: &options },
        FieldText { name: about, description: "", kind: "text", options: &[] },
    ];
    let reading =
        reader.read(encoder, &ReaderInput { request, tool: "house lights", about, parameters: &parameters });
    assert!(reading.fits.is_finite());
    assert_eq!(reading.fields.len(), parameters.len());
    assert_eq!(reading.fields[0].options.len(), options.len());
    for (place, _) in reading.fields.iter().flat_map(|it| it.spans.iter().chain(&it.items)) {
        assert!(request.get(place.clone()).is_some(), "{place:?} lies in the request");
    }
}

fn all_the_same<T: PartialEq + std::fmt::Debug>(results: &[T]) {
    assert!(results.windows(2).all(|two| two[0] == two[1]), "{results:?}");
}
