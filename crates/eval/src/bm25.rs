//! Plain BM25, the baseline that everything is compared with.
//!
//! It looks at servers, names, descriptions and the names of parameters as one text: lower case, no stemming, no
//! list of stop words.

use std::collections::HashMap;

use crate::sets::Listed;

const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// Ranks tools by the words that they share with a request.
#[derive(Debug)]
pub(crate) struct Bm25 {
    terms: HashMap<String, Vec<(usize, f64)>>,
    tools: usize,
}

impl Bm25 {
    /// Reads tools.
    pub(crate) fn new(tools: &[Listed]) -> Self {
        let texts: Vec<Vec<String>> = tools.iter().map(text).collect();
        let mean = texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len().max(1) as f64;
        let mut counts: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        for (place, words) in texts.iter().enumerate() {
            let mut own: HashMap<&str, f64> = HashMap::new();
            for word in words {
                *own.entry(word).or_default() += 1.0;
            }
            for (word, count) in own {
                counts.entry(word.to_owned()).or_default().push((place, count));
            }
        }
        let all = tools.len() as f64;
        for postings in counts.values_mut() {
            let having = postings.len() as f64;
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for (place, count) in postings {
                let length = 1.0 - LENGTH + LENGTH * texts[*place].len() as f64 / mean.max(1.0);
                *count = rarity * *count * (SATURATION + 1.0) / (*count + SATURATION * length);
            }
        }
        Self { terms: counts, tools: tools.len() }
    }

    /// Returns the places of the tools that fit best; ties go to the tool listed first.
    pub(crate) fn rank(&self, request: &str, most: usize) -> Vec<usize> {
        let mut scores = vec![0.0; self.tools];
        for word in words(request) {
            for (place, weight) in self.terms.get(&word).into_iter().flatten() {
                scores[*place] += weight;
            }
        }
        let mut found: Vec<usize> = (0..self.tools).filter(|place| scores[*place] > 0.0).collect();
        found.sort_by(|a, b| f64::total_cmp(&scores[*b], &scores[*a]).then(a.cmp(b)));
        found.truncate(most);
        found
    }
}

fn text(tool: &Listed) -> Vec<String> {
    let mut text: Vec<String> = words(&parted(&tool.server)).chain(words(&parted(&tool.name))).collect();
    text.extend(words(tool.definition["description"].as_str().unwrap_or_default()));
    let parameters = tool.definition["inputSchema"]["properties"].as_object();
    for name in parameters.into_iter().flat_map(|parameters| parameters.keys()) {
        text.extend(words(&parted(name)));
    }
    text
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Parts an identifier where a capital follows a small letter.
fn parted(name: &str) -> String {
    let mut parted = String::with_capacity(name.len() + 8);
    let mut last = ' ';
    for c in name.chars() {
        if c.is_uppercase() && (last.is_lowercase() || last.is_numeric()) {
            parted.push(' ');
        }
        parted.push(c);
        last = c;
    }
    parted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rarer_word_and_the_shorter_text_win() {
        let tools = [
            ("sendMail", "Send a mail", json!({})),
            ("send_letter", "Send a letter by post to somebody far away", json!({})),
            ("read", "Read a thing", json!({ "letterBox": {} })),
        ];
        let tools = tools.map(|(name, description, parameters)| Listed {
            server: "s".to_owned(),
            name: name.to_owned(),
            definition: json!({
                "name": name, "description": description, "inputSchema": { "properties": parameters },
            }),
        });
        let bm25 = Bm25::new(&tools);
        assert_eq!(bm25.rank("MAIL", 9), [0]);
        assert_eq!(bm25.rank("box, please!", 9), [2]);
        assert_eq!(bm25.rank("send", 9), [0, 1]);
        assert_eq!(bm25.rank("send a letter", 9), [1, 0, 2]);
        assert_eq!(bm25.rank("send a letter", 1), [1]);
        assert_eq!(bm25.rank("nothing known", 9), [0; 0]);
        // One tool of three has `mail`, twice among its six words; all have 25.
        let length: f64 = 1.0 - LENGTH + LENGTH * 6.0 / (6.0 + 12.0 + 7.0) * 3.0;
        let expected = f64::ln(1.0 + 2.5 / 1.5) * 2.0 * 2.2 / (2.0 + 1.2 * length);
        assert!((bm25.terms["mail"][0].1 - expected).abs() < 1e-9);
    }
}
