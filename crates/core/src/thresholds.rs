//! Every number that decides, in one file: `data/thresholds.json` says what each means and where it comes from.
//!
//! The weights of signals and features are tables of their own, written by the examples `fit` and `fit_arguments`.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Returns the thresholds.
pub fn thresholds() -> &'static Thresholds {
    static ALL: LazyLock<Thresholds> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../data/thresholds.json")).expect("a test reads the thresholds")
    });
    &ALL
}

/// One number that decides, as people read it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Its group and its name, such as `decision.confidence`.
    pub name: String,
    /// The number.
    pub value: f64,
    /// What it decides.
    pub meaning: String,
    /// Where it comes from.
    pub source: String,
}

/// Returns every number that decides with what it means, in the order of the file.
pub fn explained() -> Vec<Threshold> {
    let groups: Map<String, Value> =
        serde_json::from_str(include_str!("../data/thresholds.json")).expect("a test reads the thresholds");
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let of_group = |(group, entries): (&String, &Value)| -> Vec<Threshold> {
        let entries = entries.as_object().into_iter().flatten();
        let one = |(name, entry): (&String, &Value)| Threshold {
            name: format!("{group}.{name}"),
            value: entry["value"].as_f64().unwrap_or_default(),
            meaning: text(entry, "meaning"),
            source: text(entry, "source"),
        };
        entries.map(one).collect()
    };
    groups.iter().flat_map(of_group).collect()
}

/// A number with its meaning and its source; both are for people.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        value: f64,
        #[serde(rename = "meaning")]
        _meaning: String,
        #[serde(rename = "source")]
        _source: String,
    }
    Entry::deserialize(deserializer).map(|entry| entry.value)
}

macro_rules! thresholds {
    ($($(#[$doc:meta])* $group:ident: $name:ident { $($field:ident),* $(,)? })*) => {
        /// Every number that decides.
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Thresholds { $($(#[$doc])* pub $group: $name,)* }

        $(
            $(#[$doc])*
            #[derive(Debug, Deserialize)]
            #[serde(deny_unknown_fields)]
            #[expect(missing_docs, reason = "data/thresholds.json says what each means")]
            pub struct $name { $(#[serde(deserialize_with = "number")] pub $field: f64,)* }
        )*
    };
}

thresholds! {
    /// When to act, ask or decline.
    decision: Decision {
        confidence, sure, vague, maybe_vague, maybe_right, no_tool, unclear_intent, given_confidence, given_vague,
        given_likely, told_right, told_vague,
    }
    /// Which requests are read beside tools.
    rerank: Rerank {
        clear, reach, unit,
    }
    /// How signals are scaled.
    ranking: Ranking {
        nothing, contrary, copied, best_word, word_sum_unit, gloss_word, write_effect, near_action, support_phrase,
        least_belief, most_margin, score_unit, detail_unit, length_unit, reason, shown,
    }
    /// How clear a request is by its words alone.
    intent: Intent {
        base, action, target, product, detail, stand_in, least, most,
    }
    /// How much each part of a tool's text counts.
    index: Index {
        name, name_length, server, server_length, title, title_length, parameters, parameters_length,
        description, description_length, parameter_descriptions, parameter_descriptions_length, saturation,
        second_phrase, common_name,
    }
    /// When a task is several steps, and how sure each is.
    plan: Plan {
        careful_part, bold_part, no_part, sure_part, told, weak_opening, question, doubtful_question,
        whole, same_server, same_action, in_whole, least_likely, step_bias, step_share, step_in_whole,
        only_taker, undone, weakest_step,
    }
    /// Which tools a message gets.
    toolset: Toolset {
        vague, domain, named_domain, tool, far_likelier,
    }
    /// The ranking of the first design.
    seed: Seed {
        category, keywords, use_case, availability, same_use_case, sharpness, no_tool, vague,
    }
    /// How sure a value must be.
    arguments: Arguments {
        doubtful, sure_marked, sure_shape, sure_prose, repository, model, only_of_format, file_ending,
        earlier, related_choice, related_name, result_place, result_description, result_format,
        result_path, result_other, action_choice, said_choice, only_place, read_option, read_share,
        read_unthought, implied,
    }
    /// How tools are told apart by the values that a caller names.
    values: Values {
        unused, doubt, read, no_tool,
    }
    /// How tools are told apart by reading the request beside them.
    reading: Reading {
        fits, nothing, unfit, likely,
    }
    /// How sure a whole call must be before it is made.
    call: Call {
        read, write, step, named_read, named_write,
    }
    /// How the language of a request is told.
    language: Language {
        known_word, ascii, other, english_share, english_lead, product,
    }
    /// Which texts that a model wrote for a tool are about another one.
    enrich: Enrichment {
        word_margin, sense_margin,
    }
    /// Which name a misspelt one may mean.
    spelling: Spelling {
        setting, slip, tool,
    }
    /// How far what people said about requests reaches.
    lessons: LessonLimits {
        unrelated, sharpness, wrong, half_life_days, other, relayed, settled, settled_confidence,
    }
    /// When a text is taken for instructions to a model.
    screening: ScreeningLimits {
        suspicious, hostile,
    }
}

#[cfg(test)]
mod tests {
    use super::{explained, thresholds};

    #[test]
    fn r14_every_threshold_is_read_and_is_a_number() {
        assert!(format!("{:?}", thresholds()).matches(": ").count() > 80);
    }

    #[test]
    fn r15_every_threshold_says_what_it_means() {
        let all = explained();
        let confidence = all.first().expect("there are thresholds");
        assert_eq!(
            (confidence.name.as_str(), confidence.value),
            ("decision.confidence", thresholds().decision.confidence)
        );
        let silent: Vec<&str> = all
            .iter()
            .filter(|it| it.meaning.is_empty() || it.source.is_empty())
            .map(|it| it.name.as_str())
            .collect();
        assert!(all.len() > 80 && silent.is_empty(), "{silent:?}");
    }
}
