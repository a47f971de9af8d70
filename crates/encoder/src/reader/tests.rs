//! Tests of the reader as a whole, with a tiny one whose weights are noise.

mod reference;

use std::fmt::Write as _;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::sequence::{Mark, Sequence, Token, sequences};
use super::*;
use reference::{Reference, Weights};

const ENCODER: &[u8] = include_bytes!("../../tests/data/encoder/tiny.tyenc");
/// A reader beside it, and what `training/reference_reader.py` makes of some questions with it in float32.
const READER: &[u8] = include_bytes!("../../tests/data/encoder/reader.tyenc");
const ARGUMENTS_READ: &str = include_str!("../../tests/data/encoder/arguments.json");
const MAX_TOKENS: usize = 448;
/// How far a logarithm of odds may be from that of the reference: the weights are noise, which enlarges roundings.
const NEAR_FIT: f32 = 0.25;

fn encoder() -> Encoder {
    Encoder::open(ENCODER).unwrap()
}

fn reader() -> Reader {
    Reader::open(Weights::noise().file(&encoder()), &encoder()).unwrap()
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A parameter without options.
fn plain<'a>(name: &'a str, description: &'a str) -> FieldText<'a> {
    FieldText { name, description, kind: "text", options: &[] }
}

/// Asks about a request, with three parameters one of which has options.
fn with_question<T>(request: &str, take: impl FnOnce(&ReaderInput<'_>) -> T) -> T {
    let options = strings(&["kitchen", "house and road", ""]);
    let parameters = [
        plain("event", "the event in my calendar"),
        FieldText { name: "room", description: "", kind: "one of these", options: &options },
        plain("day", "tomorrow, or a week"),
    ];
    take(&ReaderInput {
        request,
        tool: "create event",
        about: "write to the calendar",
        parameters: &parameters,
    })
}

fn cut(question: &ReaderInput<'_>, max_tokens: usize) -> Vec<Sequence> {
    let encoder = encoder();
    let request = encoder.words.pieces(question.request, MAX_REQUEST);
    sequences(&encoder.words, question, &request, max_tokens)
}

/// Shows tokens as the vocabulary has them.
fn shown(tokens: &[Token]) -> String {
    let contents = Contents::read(ENCODER).unwrap();
    let vocabulary: Vec<&str> = contents.vocabulary().unwrap().split('\n').collect();
    let shown = |token: &Token| match token {
        Token::Word(id) => vocabulary[*id as usize],
        Token::Mark(Mark::FieldText) => "[P]",
        Token::Mark(Mark::Option) => "[O]",
    };
    tokens.iter().map(shown).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_question_becomes_one_sequence() {
    let sequences = with_question("Remind me: tea", |question| cut(question, MAX_TOKENS));
    let [sequence] = &sequences[..] else { panic!("{sequences:?}") };
    let (first, second) = sequence.tokens.split_at(sequence.first);
    let mut text = format!("{}\n{}\n", shown(first), shown(second));
    for asked in &sequence.asked {
        writeln!(text, "{} {} {:?}", asked.parameter, asked.mark, asked.options).unwrap();
    }
    insta::assert_snapshot!(text, @r"
    [CLS] remind me : tea [SEP]
    create event : write to the calendar [P] event : the event in my calendar t ##e ##x ##t [P] r ##o ##o ##m : on ##e of the ##s ##e [O] kitchen [O] house and road [O] [P] day : tomorrow , o ##r a week t ##e ##x ##t [SEP]
    0 13 []
    1 25 [Some(37), Some(39), Some(43)]
    2 44 []
    ");
}

#[test]
fn every_part_has_its_limit() {
    let long = "dog ".repeat(300);
    let options =
        [vec![long.clone(); 6], strings(&["cat"]), vec![long.clone()], strings(&["", "tea", "tea"])].concat();
    let parameters = [FieldText { name: &long, description: &long, kind: &long, options: &options }];
    let question = ReaderInput { request: &long, tool: &long, about: &long, parameters: &parameters };
    let sequence = &cut(&question, MAX_TOKENS)[0];
    let asked = &sequence.asked[0];
    assert_eq!(sequence.first, 1 + 200 + 1);
    assert_eq!(asked.mark, sequence.first + 10 + 1 + 28);
    let part = 1 + 12 + 1 + 36 + 14;
    let places: Vec<Option<usize>> =
        asked.options.iter().map(|place| place.map(|at| at - asked.mark)).collect();
    let long_ones = (0..6).map(|at| Some(part + 11 * at));
    // Behind six long options and a short one there is room for an empty one and a short one, and no more.
    let rest = [Some(part + 66), None, Some(part + 68), Some(part + 69), None];
    assert_eq!(places, long_ones.chain(rest).collect::<Vec<_>>());
    assert_eq!(sequence.tokens.len(), asked.mark + part + 71 + 1);
}

#[test]
fn parameters_that_do_not_fit_go_into_further_sequences() {
    let long = "dog ".repeat(300);
    let short = [plain("cat", ""); 30];
    let few = [vec![plain(&long, &long); 5], short.to_vec()].concat();
    let ask =
        |parameters| cut(&ReaderInput { request: &long, tool: "tea", about: "", parameters }, MAX_TOKENS);
    let counts = |all: &[Sequence]| all.iter().map(|it| it.asked.len()).collect::<Vec<_>>();
    assert_eq!(counts(&ask(&short)), [24, 6]);
    let sequences = ask(&few);
    assert_eq!(counts(&sequences), [4, 24, 7]);
    let asked: Vec<usize> = sequences.iter().flat_map(|it| &it.asked).map(|it| it.parameter).collect();
    assert_eq!(asked, (0..35).collect::<Vec<_>>());
    for sequence in &sequences {
        let start = sequence.asked[0].mark;
        assert_eq!(sequence.tokens[..start], sequences[0].tokens[..start], "all begin in the same way");
        assert!(sequence.tokens.len() <= MAX_TOKENS);
        assert_eq!(sequence.tokens.last(), sequence.tokens.get(sequence.first - 1), "all end with the end");
        for asked in &sequence.asked {
            assert_eq!(sequence.tokens[asked.mark], Token::Mark(Mark::FieldText));
        }
    }
}

#[test]
fn a_sequence_is_full_with_the_last_token() {
    let parameters = [plain("cat", "dog"); 2];
    let question = ReaderInput { request: "tea", tool: "mail", about: "", parameters: &parameters };
    let whole = cut(&question, MAX_TOKENS)[0].tokens.len();
    assert_eq!(cut(&question, whole).len(), 1);
    assert_eq!(cut(&question, whole - 1).len(), 2);
}

#[test]
fn readings_are_near_those_of_the_reference() {
    let (encoder, reader, reference) = (encoder(), reader(), Reference::new(Weights::noise(), &encoder()));
    let long = "play music in the kitchen tomorrow, and pay the bill of my house ".repeat(12);
    let requests =
        ["remind me to call the cat tomorrow morning", "Café naïve 東京 tea, coffee 😀", "tea", &long];
    for request in requests {
        with_question(request, |question| {
            let RequestReading { fits, fields: readings } = reader.read(&encoder, question);
            let sequence = &cut(question, MAX_TOKENS)[0];
            let pieces = encoder.words.pieces(request, MAX_REQUEST);
            let expected_fit = reference.fits(sequence);
            assert!((fits - expected_fit).abs() < NEAR_FIT, "{request}: {fits}, not {expected_fit}");
            let expected = reference.read(sequence, &pieces);
            assert_eq!(readings.len(), 3);
            for (reading, expected) in readings.iter().zip(&expected) {
                expected.check(reading, request);
            }
            assert_eq!(readings[0].options, Vec::<[f32; 2]>::new());
            assert!(
                (readings[0].given[0] - readings[2].given[0]).abs() > 0.01,
                "parameters differ: {readings:?}"
            );
        });
    }
}

/// A question and what the reference says of it.
#[derive(Deserialize)]
struct Case {
    question: Asking,
    reading: ToldReading,
}

#[derive(Deserialize)]
struct ToldReading {
    fits: f32,
    fields: Vec<Told>,
}

#[derive(Deserialize)]
struct Asking {
    request: String,
    tool: String,
    about: String,
    parameters: Vec<Wanted>,
}

#[derive(Deserialize)]
struct Wanted {
    name: String,
    description: String,
    kind: String,
    options: Vec<String>,
}

#[derive(Deserialize)]
struct Told {
    given: [f32; 3],
    spans: Vec<(usize, usize, f32)>,
    options: Vec<(Option<f32>, f32)>,
}

impl Asking {
    fn ask(&self, reader: &Reader, encoder: &Encoder) -> RequestReading {
        let parameters = self.parameters.iter().map(|it| FieldText {
            name: &it.name,
            description: &it.description,
            kind: &it.kind,
            options: &it.options,
        });
        let parameters: Vec<FieldText<'_>> = parameters.collect();
        let Self { request, tool, about, .. } = self;
        reader.read(encoder, &ReaderInput { request, tool, about, parameters: &parameters })
    }
}

#[test]
fn an_exported_reader_reads_as_in_training() {
    // The weights are noise that enlarges every rounding; those that were learnt are far more even.
    const NEAR: f32 = 0.25;
    let encoder = encoder();
    let reader = Reader::open(READER, &encoder).unwrap();
    let cases: Vec<Case> = serde_json::from_str(ARGUMENTS_READ).unwrap();
    for Case { question, reading: ToldReading { fits: told_fits, fields: expected } } in cases {
        let RequestReading { fits, fields: readings } = question.ask(&reader, &encoder);
        assert!((fits - told_fits).abs() < NEAR_FIT, "{:?}: {fits}, not {told_fits}", question.request);
        assert_eq!(readings.len(), expected.len(), "{:?}", question.request);
        for (reading, told) in readings.iter().zip(&expected) {
            let is_near = |(a, b): (&f32, &f32)| (a - b).abs() < NEAR || a == b;
            assert!(reading.given.iter().zip(&told.given).all(is_near), "{reading:?} {:?}", told.given);
            assert_eq!((reading.spans.len(), reading.options.len()), (told.spans.len(), told.options.len()));
            for ([share, alone], (told_share, told_alone)) in reading.options.iter().zip(&told.options) {
                let told_share = told_share.unwrap_or(f32::NEG_INFINITY);
                assert!(
                    is_near((share, &told_share)) && is_near((alone, told_alone)),
                    "{:?}",
                    reading.options
                );
            }
            if let ([(_, best), ..], [(.., told_best), ..]) = (&reading.spans[..], &told.spans[..]) {
                assert!(is_near((best, told_best)), "{:?}, not {:?}", reading.spans, told.spans);
                let is_told = |(range, _): &&(Range<usize>, f32)| {
                    told.spans.iter().any(|(start, end, _)| (*start, *end) == (range.start, range.end))
                };
                assert!(
                    reading.spans.iter().filter(is_told).count() * 2 >= told.spans.len(),
                    "{:?}",
                    reading.spans
                );
            }
        }
    }
}

#[test]
fn ranges_are_bytes_of_the_request() {
    let request = "Ünï😀 e\u{301}te 東京 한국 ❤\u{fe0f} ok";
    let readings = with_question(request, |question| reader().read(&encoder(), question)).fields;
    let mut parts: Vec<&str> = readings
        .iter()
        .flat_map(|it| it.spans.iter().chain(&it.items))
        .map(|(range, _)| &request[range.clone()])
        .collect();
    parts.sort_unstable();
    parts.dedup();
    assert!(parts.len() > 5, "{parts:?}");
    assert!(parts.iter().all(|part| !part.is_empty() && part.trim() == *part), "{parts:?}");
}

#[test]
fn spans_and_options_are_ordered_and_add_up() {
    let request = "send the message to the house ".repeat(9);
    let readings = with_question(&request, |question| reader().read(&encoder(), question)).fields;
    for reading in readings {
        assert_eq!(reading.spans.len(), 10);
        assert!(reading.spans.is_sorted_by(|(_, a), (_, b)| a >= b), "{:?}", reading.spans);
        assert!(reading.items.is_sorted_by(|(a, _), (b, _)| a.end <= b.start), "{:?}", reading.items);
        assert!((reading.given.map(f32::exp).iter().sum::<f32>() - 1.0).abs() < 1e-5);
        if !reading.options.is_empty() {
            assert!((reading.options.iter().map(|[share, _]| share.exp()).sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn options_that_were_cut_are_ruled_out() {
    let options: Vec<String> = (0..60).map(|at| format!("dog {at}")).collect();
    let parameters = [FieldText { name: "pet", description: "", kind: "", options: &options }];
    let question = ReaderInput { request: "my dog", tool: "mail", about: "", parameters: &parameters };
    let reading = &reader().read(&encoder(), &question).fields[0];
    let cut = reading.options.iter().filter(|option| **option == [f32::NEG_INFINITY, 0.0]).count();
    assert_eq!(reading.options.len(), 60);
    assert!((20..40).contains(&cut), "{cut} were cut");
    assert!((reading.options.iter().map(|[share, _]| share.exp()).sum::<f32>() - 1.0).abs() < 1e-5);
}

#[test]
fn a_parameter_reads_the_same_in_a_further_sequence() {
    let parameters = vec![plain("cat", "the cat"); 48];
    let question = ReaderInput { request: "call the cat", tool: "call", about: "", parameters: &parameters };
    let readings = reader().read(&encoder(), &question).fields;
    assert_eq!(readings.len(), 48);
    assert_eq!(readings[..24], readings[24..]);
}

#[test]
fn every_processor_and_every_kind_of_machine_reads_the_same() {
    let (encoder, mut reader) = (encoder(), reader());
    let mut hash = Sha256::new();
    for request in ["remind me to call the cat tomorrow", &"turn on the light 東京 ".repeat(20)] {
        let expected = with_question(request, |question| reader.read(&encoder, question)).fields;
        for path in Path::all() {
            reader.path = path;
            assert_eq!(
                with_question(request, |question| reader.read(&encoder, question)).fields,
                expected,
                "{path:?}"
            );
        }
        for (range, likely) in expected.iter().flat_map(|it| it.spans.iter().chain(&it.items)) {
            hash.update(format!("{range:?} {}", likely.to_bits()));
        }
        for value in expected.iter().flat_map(|it| it.given.iter().chain(it.options.as_flattened())) {
            hash.update(value.to_le_bytes());
        }
    }
    let hash: String = hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    // The same on x86-64 and on AArch64.
    insta::assert_snapshot!(hash, @"88282fdbdf4c8f7f");
}

#[test]
fn any_request_can_be_read() {
    let (encoder, reader) = (encoder(), reader());
    for request in
        ["", "\0\u{301}", &"x".repeat(10_000), &"e\u{301}\u{302}".repeat(9_000), &"東 ".repeat(9_000)]
    {
        let readings = with_question(request, |question| reader.read(&encoder, question)).fields;
        assert_eq!(readings.len(), 3);
        let ranges = readings.iter().flat_map(|it| it.spans.iter().chain(&it.items));
        assert!(
            ranges
                .into_iter()
                .all(|(range, likely)| request.get(range.clone()).is_some() && likely.is_finite())
        );
    }
    let nothing = ReaderInput { request: "tea", tool: "", about: "", parameters: &[] };
    assert_eq!(reader.read(&encoder, &nothing).fields, []);
}

/// The file of the tiny reader with another header.
fn with_header(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let file = Weights::noise().file(&encoder());
    let length = u32::from_le_bytes(file[8..12].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&file[12..][..length]).unwrap();
    change(&mut header);
    let header = header.to_string();
    let mut changed = [&file[..8], &(header.len() as u32).to_le_bytes(), header.as_bytes()].concat();
    changed.resize(changed.len().next_multiple_of(64), 0);
    changed.extend(&file[(12 + length).next_multiple_of(64)..]);
    changed
}

fn refusal(file: impl AsRef<[u8]> + Send + Sync + 'static) -> String {
    Reader::open(file, &encoder()).map_or_else(|error| error.to_string(), |_| "opened".to_owned())
}

#[test]
fn a_file_that_is_no_reader_of_this_encoder_is_refused() {
    let changed = |key: &str, value: Value| refusal(with_header(|header| header[key] = value));
    let tensor = |at: usize, key: &str, value: Value| {
        refusal(with_header(|header| header["tensors"][at][key] = value))
    };
    let mut nan = Weights::noise();
    nan.spoil("embeddings.position");
    let reader_as_encoder = Encoder::open(Weights::noise().file(&encoder())).unwrap_err().to_string();
    let refusals = [
        refusal(ENCODER),
        reader_as_encoder,
        changed("reads", json!("minds")),
        changed("words", json!("0123456789abcdef")),
        changed("words", Value::Null),
        changed("hidden", json!(64)),
        changed("layers", json!(3)),
        changed("max_tokens", json!(449)),
        changed("position", json!(449)),
        tensor(0, "name", json!("elsewhere")),
        tensor(0, "offset", json!(u64::MAX)),
        tensor(1, "shape", json!([3, 32])),
        tensor(2, "kind", json!("i8")),
        refusal(nan.file(&encoder())),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r"
    `reads` is ``, which is not supported
    tensor `vocabulary` is missing
    `reads` is `minds`, which is not supported
    the reader belongs to encoder `0123456789abcdef`, not to `3a24909b2547a329`
    the reader belongs to encoder ``, not to `3a24909b2547a329`
    a vector of 64 numbers where there are 32 in each
    tensor `encoder.layer.2.attention.self.query.weight` is missing
    `max_tokens` is 449; it must be between 1 and 448
    tensor `embeddings.position` does not fit the model
    tensor `bias.bias` is missing
    the file ends too early
    tensor `bias.weight` does not fit the model
    tensor `choice.bias` does not fit the model
    tensor `embeddings.position` holds a number that cannot be computed with
    ");
}

#[test]
fn beside_another_encoder_everything_is_absent() {
    let mut other = encoder();
    other.digest = "another".to_owned();
    let readings = with_question("call the cat", |question| reader().read(&other, question)).fields;
    assert_eq!(readings[1].given, [0.0, f32::NEG_INFINITY, f32::NEG_INFINITY]);
    assert_eq!((readings[1].spans.len(), readings[1].options.len()), (0, 3));
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    let file = Weights::noise().file(&encoder());
    for length in (0..file.len()).step_by(997).chain([file.len() - 1]) {
        assert!(Reader::open(file[..length].to_vec(), &encoder()).is_err(), "{length} bytes were enough");
    }
}

#[test]
fn a_short_limit_cuts_hard() {
    for max_tokens in [1, 2, 5, 12, 20, 25] {
        let file = with_header(|header| header["max_tokens"] = json!(max_tokens));
        let reader = Reader::open(file, &encoder()).unwrap();
        let readings =
            with_question("call the cat tomorrow", |question| reader.read(&encoder(), question)).fields;
        assert_eq!(readings.len(), 3);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_damaged_file_is_refused_or_works(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        front in any::<bool>(),
    ) {
        let mut file = Weights::noise().file(&encoder());
        let reach = if front { 7_000 } else { file.len() };
        for (at, byte) in damage {
            file[at.index(reach)] = byte;
        }
        if let Ok(reader) = Reader::open(file, &encoder()) {
            let readings = with_question("call the cat tomorrow", |question| reader.read(&encoder(), question)).fields;
            prop_assert_eq!(readings.len(), 3);
        }
    }

    #[test]
    fn ranges_are_parts_of_any_request(request in "\\PC{0,40}") {
        for reading in with_question(&request, |question| reader().read(&encoder(), question)).fields {
            for (range, _) in reading.spans.iter().chain(&reading.items) {
                prop_assert!(request.get(range.clone()).is_some_and(|part| !part.is_empty()), "{range:?}");
            }
        }
    }
}
