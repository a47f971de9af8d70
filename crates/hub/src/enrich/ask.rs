//! One question to a language model, and one more where its answer cannot be read.

use std::collections::BTreeMap;

use reqwest::Client;
use toolyard_core::enrich::{Suggested, read};

use super::{Batch, Error, tokens};
use crate::chat::{self, Turn};
use crate::config::LanguageModel;

/// Answers that are read: the first, and one that mends it.
const ATTEMPTS: usize = 2;
/// Characters of a wrong answer that the model is shown again.
const SHOWN_CHARS: usize = 2000;

/// What a model answered.
#[derive(Clone, Debug)]
pub struct BatchAnswer {
    /// What it says about each tool, by name.
    pub tools: BTreeMap<String, Suggested>,
    /// About how many tokens that took.
    pub tokens: usize,
}

/// Asks a model about the tools of a batch.
pub async fn ask(client: &Client, model: &LanguageModel, batch: &Batch) -> Result<BatchAnswer, Error> {
    let mut turns = vec![Turn::Rules(batch.rules.clone()), Turn::Question(batch.data.clone())];
    let names: Vec<&str> = batch.tools.keys().map(String::as_str).collect();
    let mut spent = 0;
    let mut attempt = 1;
    loop {
        spent += turns.iter().map(|turn| tokens(text(turn))).sum::<usize>();
        let said = chat::ask(client, model, &turns, (&batch.schema, model.timeout)).await?;
        spent += tokens(&said);
        match read(&said, &names) {
            Ok(tools) => return Ok(BatchAnswer { tools, tokens: spent }),
            Err(why) if attempt == ATTEMPTS => return Err(Error::Answer { model: model.name.clone(), why }),
            Err(why) => {
                let told =
                    format!("That cannot be used: {why}. Answer with the JSON alone, about these tools.");
                let said = said.chars().take(SHOWN_CHARS).collect();
                turns.extend([Turn::Answer(said), Turn::Question(told)]);
            }
        }
        attempt += 1;
    }
}

fn text(turn: &Turn) -> &str {
    match turn {
        Turn::Rules(said) | Turn::Question(said) | Turn::Answer(said) => said,
    }
}
