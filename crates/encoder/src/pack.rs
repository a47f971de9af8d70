//! Turns the files of a BERT-type sentence encoder into one file of ours.
//!
//! `training/export.py` does the same beforehand; here it is done for a folder that a person names.

use std::collections::HashMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::Error;
use crate::format::{ALIGNMENT, Header, Kind, MAGIC, Tensor, VOCABULARY};
use crate::safetensors::{Matrix, Tensors};
use crate::tile::{panel_bytes, panel_place};

/// Longer texts are cut: what a tool is for stands at its beginning.
const MAX_TOKENS: usize = 128;

/// What is needed of a `config.json`.
#[derive(Debug, Deserialize)]
struct Config {
    #[serde(rename = "_name_or_path", default)]
    name: String,
    #[serde(default)]
    model_type: String,
    #[serde(default)]
    hidden_act: String,
    #[serde(default)]
    position_embedding_type: Option<String>,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    #[serde(default = "usual_epsilon")]
    layer_norm_eps: f32,
}

fn usual_epsilon() -> f32 {
    1e-12
}

/// What is needed of a `tokenizer.json`.
#[derive(Debug, Deserialize)]
struct Tokenizer {
    model: Model,
    normalizer: Option<Normalizer>,
}

#[derive(Debug, Deserialize)]
struct Model {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    vocab: Vocab,
}

/// Other kinds of tokenizers list theirs in other ways.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Vocab {
    Ids(HashMap<String, usize>),
    Other(serde::de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
struct Normalizer {
    lowercase: Option<bool>,
    strip_accents: Option<bool>,
}

/// Tokens, one a line, and what becomes of letters before they are looked up.
struct Vocabulary {
    lines: String,
    count: usize,
    lowercase: bool,
    strip_accents: bool,
}

/// Writes the file; `tokenizer` is a `tokenizer.json` or a `vocab.txt`.
pub(super) fn pack(safetensors: &[u8], tokenizer: &str, config: &str) -> Result<Vec<u8>, Error> {
    let tensors = Tensors::read(safetensors)?;
    let config: Config = serde_json::from_str(config)?;
    supported("model_type", &config.model_type, &["bert", ""])?;
    supported("hidden_act", &config.hidden_act, &["gelu", ""])?;
    let position_type = config.position_embedding_type.as_deref().unwrap_or_default();
    supported("position_embedding_type", position_type, &["absolute", ""])?;
    let vocabulary = vocabulary(tokenizer)?;
    let positions = tensors.get("embeddings.position_embeddings.weight")?;
    let max_tokens = positions.shape.first().map_or(0, |rows| MAX_TOKENS.min(*rows));
    let header = Header {
        name: config.name.rsplit('/').next().filter(|it| !it.is_empty()).unwrap_or("bert").to_owned(),
        digest: String::new(),
        layers: config.num_hidden_layers,
        hidden: config.hidden_size,
        heads: config.num_attention_heads,
        intermediate: config.intermediate_size,
        vocab: vocabulary.count,
        max_tokens,
        position: max_tokens,
        layer_norm_eps: config.layer_norm_eps,
        lowercase: vocabulary.lowercase,
        strip_accents: vocabulary.strip_accents,
        reads: None,
        words: None,
        tensors: Vec::new(),
    };
    // Before the sizes are multiplied with one another.
    header.check()?;
    let mut sections = Sections::default();
    sections.text(VOCABULARY, &vocabulary.lines);
    write(&mut sections, &tensors, &header, positions)?;
    sections.file(header)
}

fn write(
    sections: &mut Sections,
    tensors: &Tensors<'_>,
    header: &Header,
    mut positions: Matrix,
) -> Result<(), Error> {
    let (hidden, intermediate) = (header.hidden, header.intermediate);
    let words = "embeddings.word_embeddings.weight";
    sections.whole(words, &tensors.get(words)?, [header.vocab, hidden], Kind::Rows)?;
    positions.cut(header.position);
    let name = "embeddings.position_embeddings.weight";
    sections.whole(name, &positions, [header.position, hidden], Kind::Rows)?;
    let name = "embeddings.token_type_embeddings.weight";
    let mut segments = tensors.get(name)?;
    segments.cut(1);
    sections.floats(name, &segments, &[1, hidden])?;

    let norm = |sections: &mut Sections, name: &str| {
        for name in [format!("{name}.weight"), format!("{name}.bias")] {
            sections.floats(&name, &tensors.get(&name)?, &[hidden])?;
        }
        Ok::<_, Error>(())
    };
    let linear = |sections: &mut Sections, name: &str, shape: [usize; 2]| {
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        sections.whole(&weight, &tensors.get(&weight)?, shape, Kind::Panels)?;
        sections.floats(&bias, &tensors.get(&bias)?, &shape[..1])
    };
    norm(sections, "embeddings.LayerNorm")?;
    for layer in 0..header.layers {
        let start = format!("encoder.layer.{layer}");
        for part in ["self.query", "self.key", "self.value", "output.dense"] {
            linear(sections, &format!("{start}.attention.{part}"), [hidden, hidden])?;
        }
        norm(sections, &format!("{start}.attention.output.LayerNorm"))?;
        linear(sections, &format!("{start}.intermediate.dense"), [intermediate, hidden])?;
        linear(sections, &format!("{start}.output.dense"), [hidden, intermediate])?;
        norm(sections, &format!("{start}.output.LayerNorm"))?;
    }
    Ok(())
}

fn supported(what: &'static str, found: &str, known: &[&str]) -> Result<(), Error> {
    match known.contains(&found) {
        true => Ok(()),
        false => Err(Error::Unsupported { what, found: found.to_owned() }),
    }
}

fn vocabulary(tokenizer: &str) -> Result<Vocabulary, Error> {
    if !tokenizer.trim_start().starts_with('{') {
        let lines: Vec<&str> = tokenizer.lines().collect();
        return Ok(Vocabulary {
            lines: lines.join("\n"),
            count: lines.len(),
            lowercase: true,
            strip_accents: true,
        });
    }
    let parsed: Tokenizer = serde_json::from_str(tokenizer)?;
    supported("tokenizer", parsed.model.kind.as_deref().unwrap_or("WordPiece"), &["WordPiece"])?;
    let Vocab::Ids(ids) = parsed.model.vocab else {
        return Err(Error::Vocabulary("it does not give each token a number"));
    };
    let count = ids.len();
    let mut lines = vec![""; count];
    for (token, id) in &ids {
        let line = lines.get_mut(*id).ok_or(Error::Vocabulary("its numbers have gaps"))?;
        *line = token;
    }
    if lines.iter().any(|line| line.contains('\n')) {
        return Err(Error::Vocabulary("a token has two lines"));
    }
    let lowercase = parsed.normalizer.as_ref().and_then(|it| it.lowercase).unwrap_or(true);
    let strip_accents = parsed.normalizer.and_then(|it| it.strip_accents).unwrap_or(lowercase);
    Ok(Vocabulary { lines: lines.join("\n"), count, lowercase, strip_accents })
}

/// The part of the file behind the header.
#[derive(Default)]
pub(super) struct Sections {
    data: Vec<u8>,
    tensors: Vec<Tensor>,
}

impl Sections {
    /// Puts a header before them that says what they are.
    pub(super) fn file(mut self, mut header: Header) -> Result<Vec<u8>, Error> {
        header.digest = Sha256::digest(&self.data)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        header.tensors = self.tensors;
        let front = serde_json::to_vec(&header)?;
        let length = u32::try_from(front.len()).map_err(|_| Error::Truncated)?;
        let mut file = [MAGIC, &length.to_le_bytes()[..], &front].concat();
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
        file.append(&mut self.data);
        Ok(file)
    }

    fn put(&mut self, bytes: impl IntoIterator<Item = u8>) -> usize {
        let offset = self.data.len().next_multiple_of(ALIGNMENT);
        self.data.resize(offset, 0);
        self.data.extend(bytes);
        offset
    }

    fn text(&mut self, name: &str, text: &str) {
        let offset = self.put(text.bytes());
        self.entry(name, Kind::Text, &[text.len()], (offset, None));
    }

    /// Adds numbers as they are.
    pub(super) fn floats(&mut self, name: &str, matrix: &Matrix, shape: &[usize]) -> Result<(), Error> {
        matrix.check(name, shape)?;
        let offset = self.put(matrix.values.iter().flat_map(|value| value.to_le_bytes()));
        self.entry(name, Kind::Floats, shape, (offset, None));
        Ok(())
    }

    /// Adds rows of whole numbers, each with its scale.
    pub(super) fn whole(
        &mut self,
        name: &str,
        matrix: &Matrix,
        shape: [usize; 2],
        kind: Kind,
    ) -> Result<(), Error> {
        matrix.check(name, &shape)?;
        let [rows, columns] = shape;
        let is_rows = kind == Kind::Rows;
        let mut whole = vec![0; if is_rows { rows * columns } else { panel_bytes(rows, columns) }];
        let mut scales = Vec::with_capacity(rows);
        for (at, row) in matrix.values.chunks_exact(columns).enumerate() {
            let peak = row.iter().fold(0.0_f32, |peak, value| peak.max(value.abs()));
            let fine = if peak > 0.0 { 127.0 / peak } else { 0.0 };
            scales.push(peak / 127.0);
            for (column, value) in row.iter().enumerate() {
                let place = if is_rows { at * columns + column } else { panel_place(at, column, columns) };
                whole[place] = (value * fine).round_ties_even() as i8 as u8;
            }
        }
        let offset = self.put(whole);
        let scales = self.put(scales.iter().flat_map(|scale| scale.to_le_bytes()));
        self.entry(name, kind, &shape, (offset, Some(scales)));
        Ok(())
    }

    fn entry(&mut self, name: &str, kind: Kind, shape: &[usize], place: (usize, Option<usize>)) {
        let (offset, scales) = place;
        self.tensors.push(Tensor { name: name.to_owned(), kind, shape: shape.to_vec(), offset, scales });
    }
}

impl Matrix {
    fn check(&self, name: &str, shape: &[usize]) -> Result<(), Error> {
        if self.shape == shape { Ok(()) } else { Err(Error::Shape { name: name.to_owned() }) }
    }

    /// Keeps the first rows.
    fn cut(&mut self, rows: usize) {
        if let [all, columns] = &mut self.shape[..]
            && *all > rows
        {
            self.values.truncate(rows * *columns);
            *all = rows;
        }
    }
}
