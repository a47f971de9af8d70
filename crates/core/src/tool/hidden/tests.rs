//! What a definition looks like without hidden characters, and what its server gets.

use proptest::prelude::*;

use super::*;

#[test]
fn m7_a_definition_that_hides_nothing_is_left_alone() {
    for json in [
        r#"{"name":"a","description":"Plain","inputSchema":{"type":"object"}}"#,
        "{\"name\" : \"a\",\n \"description\":\"⚠️ 👩‍💻 Grüße, 日本語, می‌خواهم\",\"n\":1.50}",
        r#"{"name":"a","description":"two\r\nlines \u00e4 \\u200b","x":{"pattern":"^[\\u0000-\\u001f]$"}}"#,
    ] {
        assert!(unveiled(&raw(json)).unwrap().is_none(), "{json}");
    }
}

#[test]
fn m7_only_strings_that_hide_something_are_written_anew() {
    let json = "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\" , \"properties\":{\"pa\u{200b}th\":\
                {\"type\":\"string\",\"description\":\"A file\\u2060 \u{e0049}\u{e0067}\",\"maxLength\":1.0e2},\
                \"mode\":{\"enum\":[\"r\",\"w\\u200d\",3]}},\"required\":[\"pa\u{200b}th\"]},\"annotations\":{\"readOnlyHint\":true}}";
    let seen = unveiled(&raw(json)).unwrap().unwrap();
    insta::assert_snapshot!(seen.definition.get(), @r#"{"name":"a","inputSchema":{"type":"object" , "properties":{"path":{"type":"string","description":"A file ","maxLength":1.0e2},"mode":{"enum":["r","w",3]}},"required":["path"]},"annotations":{"readOnlyHint":true}}"#);
    insta::assert_snapshot!(seen.notes.join("; "), @"its inputSchema had 6 control or invisible characters, now removed");
}

#[test]
fn m7_a_pattern_keeps_its_meaning_and_shows_every_character() {
    let seen = shown("{\"inputSchema\":{\"properties\":{\"a\":{\"pattern\":\"^[^\\u0000\u{200b}\\r]+$\"}}}}");
    assert_eq!(
        seen,
        "{\"inputSchema\":{\"properties\":{\"a\":{\"pattern\":\"^[^\\\\u0000\\\\u200b\\r]+$\"}}}}"
    );
}

#[test]
fn m7_names_that_become_the_same_are_not_shown() {
    let alike =
        |json: &str| unveiled(&raw(json)).map(|seen| seen.is_some()).map_err(|error| error.to_string());
    let twice = "two of its names or values are both `path` without their hidden characters".to_owned();
    assert_eq!(
        alike("{\"inputSchema\":{\"properties\":{\"path\":{},\"pa\u{ad}th\":{}}}}"),
        Err(twice.clone())
    );
    assert_eq!(alike("{\"inputSchema\":{\"x\":{\"enum\":[\"path\u{e0020}\",\"path\"]}}}"), Err(twice));
    assert_eq!(
        alike("{\"inputSchema\":{\"properties\":{\"\u{200b}\":{}}}}"),
        Err("one of its names has hidden characters only".to_owned())
    );
    assert_eq!(
        alike("{\"inputSchema\":{\"properties\":{\"a\u{200b}\":{\"properties\":{\"a\":{}}}}}}"),
        Ok(true)
    );
}

#[test]
fn m7_a_form_of_results_goes_only_when_its_names_change() {
    let remark =
        shown("{\"outputSchema\":{\"properties\":{\"a\":{\"description\":\"x\u{200b}\",\"title\":\"y\"}}}}");
    assert_eq!(remark, r#"{"outputSchema":{"properties":{"a":{"description":"x","title":"y"}}}}"#);
    assert_eq!(shown("{\"name\":\"a\",\"outputSchema\":{\"required\":[\"a\u{200b}\"]}}"), r#"{"name":"a"}"#);
    assert_eq!(shown("{\"name\":\"a\",\"x\u{200b}\":\"hello\"}"), r#"{"name":"a"}"#);
}

#[test]
fn m7_arguments_reach_the_server_under_its_own_names() {
    let schema = "{\"properties\":{\"pa\u{200b}th\":{\"type\":\"string\"},\"mode\":{\"enum\":[\"read\u{2060}\",\"write\"]},\
         \"rows\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/Row\"}},\"free\":{\"type\":\"object\"},\
         \"any\":{\"additionalProperties\":{\"anyOf\":[{\"const\":\"on\u{200b}\"},{\"type\":\"null\"}]}}},\
         \"$defs\":{\"Row\":{\"properties\":{\"na\u{ad}me\":{},\"next\":{\"$ref\":\"#/$defs/Row\"}}}}}";
    let own = |arguments: &str| {
        own_arguments(&raw(schema), &raw(arguments)).map(|own| own.get().replace(is_hidden, "¬"))
    };
    assert_eq!(
        own(r#"{"path": "read", "mode":"read","n":1.50}"#).unwrap(),
        r#"{"pa¬th":"read","mode":"read¬","n":1.50}"#
    );
    assert_eq!(
        own(r#"{"mode":"write","free":{"path":"on"},"any":{"x":"on"}}"#).unwrap(),
        r#"{"mode":"write","free":{"path":"on"},"any":{"x":"on¬"}}"#
    );
    assert_eq!(
        own(r#"{"rows":[{"name":"a","next":{"name":"b"}},7]}"#).unwrap(),
        r#"{"rows":[{"na¬me":"a","next":{"na¬me":"b"}},7]}"#
    );
    assert_eq!(own("{\"pa\u{200b}th\":\"own names stay\"}").unwrap(), r#"{"pa¬th":"own names stay"}"#);
    assert_eq!(own("{\"pa\u{200b}th\":1,\"path\":2}").unwrap_err(), Veiled::Twice("path".to_owned()));
}

#[test]
fn m7_a_schema_that_refers_to_itself_ends() {
    let schema = "{\"$ref\":\"#\",\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}],\"properties\":{\"a\u{200b}\":{\"$ref\":\"#\"}}}";
    let own = own_arguments(&raw(schema), &raw(r#"{"a":{"a":{"a":1}}}"#)).unwrap();
    assert_eq!(own.get(), "{\"a\u{200b}\":{\"a\u{200b}\":{\"a\u{200b}\":1}}}");
}

proptest! {
    #[test]
    fn m7_whatever_is_shown_hides_nothing(words in proptest::collection::vec(prop::sample::select(vec![
        "path", "\u{200b}", "\\u200b", "\u{e0041}", "\\udb40\\udc41", "\\u001b[31m", "\u{f8ff}", "\\b", "👩‍💻", "\u{202e}",
        "\",\"", "\":\"", "\":{\"", "\"}", "\":[\"", "\"]", "pattern", "enum", "\\n", "\\r\\n", "\\\\",
    ]), 0..24)) {
        let json = format!("{{\"name\":\"a\",\"inputSchema\":{{\"{}\"}}}}", words.concat());
        let Ok(definition) = RawValue::from_string(json) else { return Ok(()) };
        if serde_json::from_str::<serde_json::Value>(definition.get()).is_err() {
            return Ok(());
        }
        let Ok(seen) = unveiled(&definition) else { return Ok(()) };
        let seen = seen.map_or(definition, |seen| seen.definition);
        prop_assert!(unveiled(&seen).unwrap().is_none(), "{}", seen.get());
        prop_assert!(serde_json::from_str::<serde_json::Value>(seen.get()).is_ok());
    }
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn shown(json: &str) -> String {
    unveiled(&raw(json)).unwrap().unwrap().definition.get().to_owned()
}
