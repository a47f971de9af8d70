//! Tests of the encoder as a whole, with a tiny one that `training/reference.py` wrote.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::*;

const FILE: &[u8] = include_bytes!("../tests/data/encoder/tiny.tyenc");
const WEIGHTS: &[u8] = include_bytes!("../tests/data/encoder/model.safetensors");
const TOKENIZER: &str = include_str!("../tests/data/encoder/tokenizer.json");
const CONFIG: &str = include_str!("../tests/data/encoder/config.json");
const READINGS: &str = include_str!("../tests/data/encoder/readings.json");
const EXPECTED: &str = include_str!("../tests/data/encoder/expected.json");

/// A text and what the reference in float32 makes of it.
#[derive(Deserialize)]
struct Case {
    text: String,
    ids: Vec<u32>,
    vector: Vec<f32>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(EXPECTED).unwrap()
}

fn exported() -> Encoder {
    Encoder::open(FILE).unwrap()
}

fn from_parts() -> Encoder {
    Encoder::from_parts(WEIGHTS, TOKENIZER, CONFIG).unwrap()
}

/// The exported file with another header.
fn with_header(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let length = u32::from_le_bytes(FILE[8..12].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&FILE[12..][..length]).unwrap();
    change(&mut header);
    let header = header.to_string();
    let mut file = [&FILE[..8], &(header.len() as u32).to_le_bytes(), header.as_bytes()].concat();
    file.resize(file.len().next_multiple_of(64), 0);
    file.extend(&FILE[(12 + length).next_multiple_of(64)..]);
    file
}

fn refusal(file: Vec<u8>) -> String {
    Encoder::open(file).map_or_else(|error| error.to_string(), |_| "opened".to_owned())
}

/// A request and a text, and how well they fit by the reference.
#[derive(Deserialize)]
struct Pair {
    request: String,
    text: String,
    fit: f32,
}

#[test]
fn r13_readings_are_near_those_of_the_reference_and_differ() {
    let encoder = exported();
    let pairs: Vec<Pair> = serde_json::from_str(READINGS).unwrap();
    let fits: Vec<f32> =
        pairs.iter().map(|pair| encoder.read(&pair.request, &pair.text).expect("it can read")).collect();
    for (pair, fit) in pairs.iter().zip(&fits) {
        assert!(
            (pair.fit - fit).abs() < 0.1,
            "{:?} beside {:?}: {fit}, not {}",
            pair.request,
            pair.text,
            pair.fit
        );
    }
    assert!((fits[0] - fits[1]).abs() > 0.2, "the second text counts: {fits:?}");
    let turned = encoder.read(&pairs[0].text, &pairs[0].request).expect("it can read");
    assert!((turned - fits[0]).abs() > 0.1, "which is which counts: {turned} and {}", fits[0]);
}

#[test]
fn an_encoder_from_elsewhere_cannot_read() {
    assert!(exported().can_read());
    assert!(!from_parts().can_read());
    assert_eq!(from_parts().read("turn on the lights", "lights turn"), None);
}

#[test]
fn texts_fall_into_the_pieces_of_the_reference() {
    let encoder = exported();
    for case in cases() {
        assert_eq!(encoder.words.ids(&case.text, encoder.max_tokens), case.ids, "{:?}", case.text);
    }
}

#[test]
fn r13_vectors_are_near_those_of_the_reference_and_far_from_each_other() {
    for encoder in [exported(), from_parts()] {
        let cases = cases();
        let vectors: Vec<Embedding> = cases.iter().map(|case| encoder.encode(&case.text)).collect();
        for (case, vector) in cases.iter().zip(&vectors) {
            let cosine = vector.cosine(&Embedding::new(case.vector.clone()));
            assert!(cosine > 0.995, "{cosine} for {:?} with {encoder:?}", case.text);
        }
        let apart = vectors[0].cosine(&vectors[1]);
        assert!(apart < 0.6, "two texts about different things have a cosine of {apart}");
    }
}

#[test]
fn r13_every_processor_computes_the_same_vector() {
    let mut encoder = exported();
    let paths = Path::all();
    // The plain path takes its time without optimisation; the longest text that is left spans two blocks.
    for case in cases().into_iter().filter(|case| case.ids.len() < 128).step_by(2) {
        let expected = encoder.encode(&case.text);
        for path in &paths {
            encoder.path = *path;
            assert_eq!(encoder.encode(&case.text), expected, "{path:?} {:?}", case.text);
        }
    }
}

#[test]
fn r13_every_kind_of_machine_computes_the_same_vector() {
    let encoder = exported();
    let mut hash = Sha256::new();
    for case in cases() {
        for value in encoder.encode(&case.text).values() {
            hash.update(value.to_le_bytes());
        }
    }
    // The same on x86-64 and on AArch64; another value means that stored vectors do not fit new ones.
    insta::assert_snapshot!(hex(&hash.finalize()[..8]), @"ba07b03095802435");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn an_encoder_says_what_it_is() {
    let encoder = exported();
    let said = format!("{} {} {}", encoder.name(), encoder.key(), encoder.dims());
    insta::assert_snapshot!(said, @"tiny tiny-3a24909b2547a329 32");
    assert_eq!(from_parts().name(), "tiny");
    assert_ne!(from_parts().key(), encoder.key(), "other roundings are other vectors");
}

#[test]
fn any_text_has_a_vector() {
    let encoder = exported();
    let texts = [
        String::new(),
        "\0".repeat(1_000),
        "word ".repeat(20_000),
        "x".repeat(100_000),
        "e\u{301}\u{302}".repeat(30_000),
        "\u{301}".repeat(50_000),
        "東".repeat(30_000),
        "!?".repeat(50_000),
        "\u{10ffff}\u{fdd0}\u{202e}\u{feff}".repeat(1_000),
    ];
    for text in &texts {
        let ids = encoder.words.ids(text, encoder.max_tokens);
        assert!(ids.len() <= encoder.max_tokens, "{} tokens for {:?}", ids.len(), &text[..text.len().min(9)]);
        let length: f32 = encoder.encode(text).values().iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-4, "{length}");
    }
}

#[test]
fn a_text_counts_up_to_the_limit() {
    let encoder = exported();
    let limit = "pay the bill ".repeat(42);
    assert_eq!(encoder.words.ids(&limit, encoder.max_tokens).len(), encoder.max_tokens);
    let longer = encoder.encode(&format!("{limit} and something else"));
    assert_eq!(encoder.encode(&limit), longer);
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    for length in (0..FILE.len()).step_by(331).chain([FILE.len() - 1]) {
        assert!(Encoder::open(&FILE[..length]).is_err(), "{length} bytes were enough");
    }
}

#[test]
fn a_file_that_contradicts_itself_is_refused() {
    let changed = |key: &str, value: Value| refusal(with_header(|header| header[key] = value));
    let tensor = |at: usize, key: &str, value: Value| {
        refusal(with_header(|header| header["tensors"][at][key] = value))
    };
    let refusals = [
        refusal(b"TYENC002 and more".to_vec()),
        refusal(b"TYENC001\xff\xff\xff\xff".to_vec()),
        refusal(b"TYENC001\x04\0\0\0null".to_vec()),
        changed("hidden", json!(0)),
        changed("hidden", json!(1_000_000_000)),
        changed("hidden", json!(64)),
        changed("heads", json!(5)),
        changed("layers", json!(3)),
        changed("vocab", json!(7)),
        changed("max_tokens", json!(129)),
        changed("layer_norm_eps", json!("small")),
        tensor(0, "offset", json!(u64::MAX)),
        tensor(0, "shape", json!([u64::MAX])),
        tensor(0, "shape", json!([])),
        tensor(0, "shape", json!([3])),
        tensor(0, "kind", json!("f32")),
        tensor(1, "kind", json!("i8-panels")),
        tensor(1, "scales", json!(usize::MAX / 2)),
        tensor(1, "scales", Value::Null),
        tensor(2, "name", json!("elsewhere")),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    this is no encoder file
    `header` is 4294967295; it must be between 1 and 1048576
    invalid type: null, expected struct Header at line 1 column 4
    `hidden` is 0; it must be between 1 and 4096
    `hidden` is 1000000000; it must be between 1 and 4096
    tensor `embeddings.word_embeddings.weight` does not fit the model
    5 heads cannot share a width of 32
    tensor `encoder.layer.2.attention.self.query.weight` is missing
    the vocabulary cannot be used: it has another number of tokens than the model
    `max_tokens` is 129; it must be between 1 and 128
    invalid type: string "small", expected f32 at line 1 column 162
    the file ends too early
    the file ends too early
    tensor `vocabulary` does not fit the model
    the vocabulary cannot be used: it lacks `[CLS]`, `[SEP]` or `[UNK]`
    tensor `vocabulary` does not fit the model
    tensor `embeddings.word_embeddings.weight` does not fit the model
    the file ends too early
    tensor `embeddings.word_embeddings.weight` does not fit the model
    tensor `embeddings.position_embeddings.weight` is missing
    "#);
}

#[test]
fn a_folder_with_another_kind_of_model_is_refused() {
    let config = |key: &str, value: Value| {
        let mut config: Value = serde_json::from_str(CONFIG).unwrap();
        config[key] = value;
        Encoder::from_parts(WEIGHTS, TOKENIZER, &config.to_string()).unwrap_err().to_string()
    };
    let tokenizer = |text: &str| Encoder::from_parts(WEIGHTS, text, CONFIG).unwrap_err().to_string();
    let refusals = [
        config("model_type", json!("xlm-roberta")),
        config("hidden_act", json!("relu")),
        config("position_embedding_type", json!("relative_key")),
        config("hidden_size", json!(48)),
        config("num_hidden_layers", json!(3)),
        config("num_attention_heads", json!(0)),
        tokenizer(r#"{"model": {"type": "Unigram", "vocab": [["a", 0.5]]}}"#),
        tokenizer(r#"{"model": {"type": "WordPiece", "vocab": [["a", 0.5]]}}"#),
        tokenizer(r#"{"model": {"vocab": {"a": 0, "b": 99999999999}}}"#),
        tokenizer("[CLS]\n[SEP]\n"),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r"
    `model_type` is `xlm-roberta`, which is not supported
    `hidden_act` is `relu`, which is not supported
    `position_embedding_type` is `relative_key`, which is not supported
    tensor `embeddings.word_embeddings.weight` does not fit the model
    tensor `encoder.layer.2.attention.self.query.weight` is missing
    `heads` is 0; it must be between 1 and 4096
    `tokenizer` is `Unigram`, which is not supported
    the vocabulary cannot be used: it does not give each token a number
    the vocabulary cannot be used: its numbers have gaps
    tensor `embeddings.word_embeddings.weight` does not fit the model
    ");
}

#[test]
fn a_vocabulary_may_come_as_lines() {
    let parsed: Value = serde_json::from_str(TOKENIZER).unwrap();
    let mut tokens: Vec<(&String, &Value)> = parsed["model"]["vocab"].as_object().unwrap().iter().collect();
    tokens.sort_by_key(|(_, id)| id.as_u64());
    let lines: String = tokens.into_iter().map(|(token, _)| format!("{token}\r\n")).collect();
    let encoder = Encoder::from_parts(WEIGHTS, &lines, CONFIG).unwrap();
    assert_eq!(encoder.key(), from_parts().key());
}

/// The sizes of a made-up model.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    layers: usize,
    heads: usize,
    head: usize,
    intermediate: usize,
    seed: u64,
}

/// Writes the parts of a model whose weights are noise.
fn made_up(sizes: Sizes) -> (Vec<u8>, String) {
    let Sizes { layers, heads, head, intermediate, seed } = sizes;
    let hidden = heads * head;
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![5, hidden]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![40, hidden]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, hidden]),
    ];
    let mut part = |name: String, shape: Vec<usize>| {
        shapes.push((format!("{name}.bias"), shape[..1].to_vec()));
        shapes.push((format!("{name}.weight"), shape));
    };
    part("embeddings.LayerNorm".to_owned(), vec![hidden]);
    for layer in 0..layers {
        for name in ["self.query", "self.key", "self.value", "output.dense"] {
            part(format!("encoder.layer.{layer}.attention.{name}"), vec![hidden, hidden]);
        }
        part(format!("encoder.layer.{layer}.attention.output.LayerNorm"), vec![hidden]);
        part(format!("encoder.layer.{layer}.intermediate.dense"), vec![intermediate, hidden]);
        part(format!("encoder.layer.{layer}.output.dense"), vec![hidden, intermediate]);
        part(format!("encoder.layer.{layer}.output.LayerNorm"), vec![hidden]);
    }
    let (mut header, mut data, mut state) = (serde_json::Map::new(), Vec::new(), seed | 1);
    for (name, shape) in shapes {
        let start = data.len();
        for _ in 0..shape.iter().product() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            data.extend(((state >> 40) as f32 / 8_388_608.0 - 1.0).to_le_bytes());
        }
        header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}));
    }
    let header = Value::Object(header).to_string();
    let config = json!({"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "intermediate_size": intermediate});
    ([&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat(), config.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn models_of_any_size_work(
        (layers, heads, head, intermediate, seed) in (1..4_usize, 1..6_usize, 1..20_usize, 1..150_usize, any::<u64>()),
        words in 0..14_usize,
    ) {
        let (weights, config) = made_up(Sizes { layers, heads, head, intermediate, seed });
        let mut encoder = Encoder::from_parts(&weights, "[UNK]\n[CLS]\n[SEP]\na\n##b\n", &config).unwrap();
        prop_assert_eq!(encoder.dims(), heads * head);
        let text = "ab a b ".repeat(words);
        let expected = encoder.encode(&text);
        prop_assert!(expected.values().iter().all(|value| value.is_finite()));
        for path in Path::all() {
            encoder.path = path;
            prop_assert_eq!(&encoder.encode(&text), &expected, "{:?}", path);
        }
    }

    #[test]
    fn a_damaged_file_is_refused_or_works(damage in prop::collection::vec((0..FILE.len(), any::<u8>()), 1..6)) {
        let mut file = FILE.to_vec();
        for (at, byte) in damage {
            file[at] = byte;
        }
        if let Ok(encoder) = Encoder::open(file) {
            prop_assert_eq!(encoder.encode("turn on the lights").values().len(), encoder.dims());
        }
    }

    #[test]
    fn a_damaged_header_is_refused_or_works(damage in prop::collection::vec((0..3_000_usize, any::<u8>()), 1..3)) {
        let mut file = FILE.to_vec();
        for (at, byte) in damage {
            file[at] = byte;
        }
        if let Ok(encoder) = Encoder::open(file) {
            prop_assert_eq!(encoder.encode("turn on the lights").values().len(), encoder.dims());
        }
    }

    #[test]
    fn damaged_weights_are_refused_or_work(damage in prop::collection::vec((0..WEIGHTS.len(), any::<u8>()), 1..6)) {
        let mut weights = WEIGHTS.to_vec();
        for (at, byte) in damage {
            weights[at] = byte;
        }
        if let Ok(encoder) = Encoder::from_parts(&weights, TOKENIZER, CONFIG) {
            prop_assert_eq!(encoder.encode("turn on the lights").values().len(), encoder.dims());
        }
    }
}
