//! What tools and their phrasings mean, as vectors.

use toolyard_encoder::{Embedding, Error, Packed, Vectors};

use crate::catalog::Catalog;
use crate::metadata::Knowledge;
use crate::text::{sentences, without_folders};
use crate::tool::Tool;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;

/// What the tools of a catalog and their phrasings mean.
#[derive(Clone, Debug)]
pub struct Meaning {
    tools: Vectors,
    /// The tool of each vector.
    of_tool: Vec<u32>,
    phrases: Vectors,
    of_phrase: Vec<u32>,
    /// How many tools the catalog has.
    count: usize,
}

/// How alike a request and the tools are in meaning, by position; made by an encoder.
#[derive(Clone, Debug, Default)]
pub struct Sense {
    /// Between the request and each tool's text; 0 where there is no vector yet.
    pub tools: Vec<f32>,
    /// Between the request and the nearest of each tool's phrasings or its own text.
    pub phrases: Vec<f32>,
    /// The same for that sentence of the request which is nearest.
    pub sentences: Vec<f32>,
}

/// Something of a tool that has a meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Its own text.
    Text,
    /// One of its phrasings.
    Phrase,
}

impl Meaning {
    /// Makes an empty set for a catalog of `count` tools and vectors of `dims` numbers.
    pub fn new(count: usize, dims: usize) -> Self {
        let (tools, phrases) = (Vectors::new(dims), Vectors::new(dims));
        Self { tools, of_tool: Vec::new(), phrases, of_phrase: Vec::new(), count }
    }

    /// Adds the vector of a part of the tool at `position`.
    pub fn add(&mut self, position: usize, part: &Part, vector: &Packed) -> Result<(), Error> {
        let tool = u32::try_from(position).expect("a catalog has fewer than four billion tools");
        let (vectors, owners) = match part {
            Part::Text => (&mut self.tools, &mut self.of_tool),
            Part::Phrase => (&mut self.phrases, &mut self.of_phrase),
        };
        vectors.push(vector)?;
        owners.push(tool);
        Ok(())
    }

    /// Returns how many vectors there are.
    pub fn len(&self) -> usize {
        self.tools.len() + self.phrases.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Compares a request with every tool: the vectors of what [`asked`] returns for it.
    pub fn sense(&self, request: &[Embedding]) -> Result<Sense, Error> {
        let Some((whole, sentences)) = request.split_first() else { return Ok(Sense::default()) };
        let mut sense = self.compare(whole)?;
        for sentence in sentences {
            for (nearest, other) in sense.sentences.iter_mut().zip(self.compare(sentence)?.phrases) {
                *nearest = nearest.max(other);
            }
        }
        Ok(sense)
    }

    fn compare(&self, request: &Embedding) -> Result<Sense, Error> {
        let mut cosines = Vec::new();
        let mut best = |vectors: &Vectors, owners: &[u32]| -> Result<Vec<f32>, Error> {
            vectors.score(request, &mut cosines)?;
            let mut best = vec![0.0_f32; self.count];
            for (owner, cosine) in owners.iter().zip(&cosines) {
                let place = &mut best[*owner as usize];
                *place = place.max(*cosine);
            }
            Ok(best)
        };
        let tools = best(&self.tools, &self.of_tool)?;
        let mut phrases = best(&self.phrases, &self.of_phrase)?;
        // A tool without phrasings has at least its own text to be like.
        for (phrase, own) in phrases.iter_mut().zip(&tools) {
            *phrase = phrase.max(*own);
        }
        Ok(Sense { tools, sentences: phrases.clone(), phrases })
    }
}

/// Returns the texts of a request that are compared: the whole, then its sentences where it has several.
pub fn asked(task: &str) -> Vec<String> {
    let task = spoken(task);
    let mut texts: Vec<String> = sentences(&task, MAX_SENTENCES).into_iter().map(str::to_owned).collect();
    if texts.len() < 2 {
        texts.clear();
    }
    texts.insert(0, task);
    texts
}

/// Returns a request as the encoder sees it: of a path only the name of its file, as what folders are called says nothing
/// about what is wanted.
pub fn spoken(task: &str) -> String {
    without_folders(task, FOLDER).into_owned()
}

/// Returns the text by which the encoder knows a tool. Training uses the same form.
pub fn tool_text(tool: &Tool) -> String {
    let server: Vec<String> = lower(tool.server.rsplit('/').next().unwrap_or_default())
        .filter(|word| !vocabulary().servers.unspoken.contains(word))
        .collect();
    let head: Vec<String> = server.into_iter().chain(lower(&tool.name)).collect();
    let names = tool.parameters.iter().take(MAX_PARAMETERS);
    let parameters: Vec<String> = names
        .map(|parameter| lower(&parameter.name).collect::<Vec<_>>().join(" "))
        .filter(|name| !name.is_empty())
        .collect();
    let mut text = format!("{}: {}", head.join(" "), lead(&tool.description));
    if !parameters.is_empty() {
        text.push_str(" | ");
        text.push_str(&parameters.join(", "));
    }
    text
}

/// Returns everything of a tool that has a meaning.
pub fn parts(catalog: &Catalog, knowledge: &Knowledge, position: usize) -> Vec<(Part, String)> {
    let mut parts = vec![(Part::Text, tool_text(&catalog.tools()[position]))];
    parts.extend(knowledge.of(position).phrasings().map(|text| (Part::Phrase, text.clone())));
    parts
}

/// What the encoder sees of a path that names no file.
const FOLDER: &str = "folder";

const MAX_SENTENCES: usize = 8;
const MAX_PARAMETERS: usize = 12;
const LEAD_CHARS: usize = 300;
/// A heading this early is a part of the sentence.
const MIN_LEAD: usize = 20;

fn lower(identifier: &str) -> impl Iterator<Item = String> {
    words(identifier).map(str::to_lowercase)
}

/// The description on one line, up to where it begins to list arguments.
fn lead(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let heading = line.match_indices(':').find_map(|(colon, _)| {
        let before = line[..colon].trim_end();
        let start = vocabulary()
            .descriptions
            .headings
            .iter()
            .filter(|heading| before.ends_with(heading.as_str()))
            .map(|heading| before.len() - heading.len());
        let is_whole = |start: &usize| !line[..*start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        start.filter(is_whole).find(|start| line[..*start].chars().count() >= MIN_LEAD)
    });
    let end = heading.unwrap_or(line.len());
    line[..end].chars().take(LEAD_CHARS).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;

    use super::*;
    use crate::catalog::{Advertised, Bounds};

    fn text(server: &str, definition: &str) -> String {
        let bounds = Bounds { tools: 10, name_chars: 100, description_chars: 2000, nesting: 20 };
        let tools = vec![RawValue::from_string(definition.to_owned()).expect("JSON")];
        let (catalog, _) = Catalog::gather([(Advertised { server: Arc::from(server), tools }, bounds)]);
        tool_text(&catalog.tools()[0])
    }

    #[test]
    fn r13_a_tool_is_rendered_as_in_training() {
        let definition = r#"{"name": "getFileContents_v2", "description": "Reads a file  from\na repository. Args: path: where", "inputSchema": {"properties": {"filePath": {}, "ref": {}}}}"#;
        assert_eq!(
            text("acme/github-mcp-server", definition),
            "github get file contents v2: Reads a file from a repository. | file path, ref"
        );
        assert_eq!(text("x", r#"{"name": "ping"}"#), "x ping: ");
    }

    #[test]
    fn r13_folders_say_nothing_about_what_is_wanted() {
        assert_eq!(spoken("Read /tmp/.tmpX1/notes.md in \"~/a/b\"."), "Read notes.md in \"folder\".");
        assert_eq!(asked("Open /x/y.md"), ["Open y.md"]);
    }

    #[test]
    fn r13_a_tool_is_as_near_as_its_nearest_phrasing() {
        let axis = |at: usize| Embedding::new((0..4).map(|it| if it == at { 1.0 } else { 0.0 }).collect());
        let mut meaning = Meaning::new(2, 4);
        for (position, part, at) in [(0, Part::Text, 0), (1, Part::Phrase, 1), (1, Part::Phrase, 2)] {
            meaning.add(position, &part, &axis(at).pack()).expect("four numbers");
        }
        let sense = meaning.sense(&[axis(2)]).expect("four numbers");
        assert!(sense.tools[0].abs() < 0.02 && sense.phrases[1] > 0.98);
        assert_eq!(sense.tools[1], 0.0);
        let own = meaning.sense(&[axis(0)]).expect("four numbers");
        assert!(own.phrases[0] > 0.98, "its own text counts where it has no phrasing");
        assert!(meaning.sense(&[Embedding::new(vec![1.0; 3])]).is_err());
        let parted = meaning.sense(&[axis(3), axis(0), axis(2)]).expect("four numbers");
        assert!(parted.phrases.iter().all(|it| *it < 0.02), "the whole is like none");
        assert!(parted.sentences.iter().all(|it| *it > 0.98), "each sentence is like one");
    }
}
