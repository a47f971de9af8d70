//! Texts that nobody meant to write.

use proptest::prelude::*;

use super::{WHOLE, parsed};
use crate::config::edit;

/// Pieces that settings files are made of, so that random texts get past the first character.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "//",
        "/*",
        "*/",
        "\n",
        " ",
        "null",
        "true",
        "1e9",
        "-1",
        "${",
        "${TOKEN}",
        "$$",
        "\u{0}",
        "é",
        "\u{202e}",
        "\"mcpServers\"",
        "\"command\"",
        "\"url\"",
        "\"serve\"",
        "\"tiers\"",
        "\"x\"",
        "\"routing\"",
        "\"limits\"",
        "\"\"",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in prop_oneof![".{0,200}", pieces()]) {
        let _ = parsed(&text);
        let _ = edit::add_server(&text, "new", &serde_json::json!({ "command": "x" }));
        let _ = edit::remove_server(&text, "x");
    }

    #[test]
    fn no_mutation_of_a_file_makes_the_reader_panic(
        at in 0..WHOLE.len(), length in 0_usize..40, instead in pieces()
    ) {
        // The file is ASCII, so that every index is a place to cut.
        let end = (at + length).min(WHOLE.len());
        let text = format!("{}{instead}{}", &WHOLE[..at], &WHOLE[end..]);
        let _ = parsed(&text);
        if let Ok(added) = edit::add_server(&text, "brand new", &serde_json::json!({ "command": "x" })) {
            let removed = edit::remove_server(&added, "brand new").unwrap();
            prop_assert_eq!(parsed(&removed).is_ok(), parsed(&text).is_ok());
        }
    }

    #[test]
    fn a_value_that_was_added_is_read_back(name in "[^\u{0}]{1,20}", argument in ".{0,40}") {
        prop_assume!(!name.trim().is_empty());
        let server = serde_json::json!({ "command": "x", "args": [argument] });
        let text = edit::add_server("{}", &name, &server).unwrap();
        let read = edit::value_of(&text).unwrap().unwrap();
        prop_assert_eq!(&read["mcpServers"][&name], &server);
    }
}
