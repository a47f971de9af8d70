//! Texts that no client wrote.

use proptest::prelude::*;

use super::*;

/// Pieces that configurations are made of, so that random texts get past the first character.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "=",
        "\"",
        "\\",
        "//",
        "/*",
        "*/",
        "#",
        "\n",
        " ",
        "null",
        "true",
        "1e9",
        "${",
        "$A",
        "${env:A}",
        "${input:a}",
        "$$",
        "\u{0}",
        "é",
        "\u{feff}",
        "\"mcpServers\"",
        "\"toolyard\"",
        "\"command\"",
        "\"x\"",
        "mcp_servers",
        "toolyard",
        ".",
        "[mcp_servers.toolyard]\n",
        "command = \"x\"\n",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn client() -> impl Strategy<Value = Client> {
    prop::sample::select(Client::ALL.to_vec())
}

/// Reads and changes a text in every way there is.
fn try_everything(client: Client, text: &str) {
    let (servers, problems) = read(client, text);
    let found = Found { client, path: "x".into(), project: None, servers, problems };
    let planned = plan(&[found], "{}", &|_| None).unwrap();
    let folders = config::Folders { home: "/h".into(), config: "/c".into(), data: "/d".into() };
    let parsed = config::parse(planned.text(), Path::new("/nowhere/toolyard.json"), &|_| None, &folders);
    assert!(parsed.is_ok(), "{parsed:?}");
    for entry in [stdio(), url()] {
        if let Ok(changed) = connected(client, text, &entry) {
            assert_eq!(connected(client, &changed, &entry).unwrap(), changed);
            assert!(read(client, &changed).0.iter().any(|(name, _)| name == "toolyard"));
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_or_writer_panic(client in client(), text in prop_oneof![".{0,200}", pieces()]) {
        try_everything(client, &text);
    }

    #[test]
    fn no_mutation_of_a_file_makes_a_reader_or_writer_panic(
        client in client(), at in any::<prop::sample::Index>(), length in 0_usize..30, instead in pieces()
    ) {
        let whole = fixture(client);
        // The files are ASCII, so that every index is a place to cut.
        let at = at.index(whole.len());
        let end = (at + length).min(whole.len());
        try_everything(client, &format!("{}{instead}{}", &whole[..at], &whole[end..]));
    }
}
