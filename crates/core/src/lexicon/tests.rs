//! Requests of many languages.

use super::*;

#[test]
fn r4_every_file_of_the_lexicon_is_read() {
    let languages: Vec<&str> = files::FILES.iter().map(|(name, _)| *name).collect();
    for language in Language::ALL {
        assert!(languages.contains(&language.code()), "{} is missing", language.code());
    }
    assert!(Lexicon::builtin().exact.len() > 1000);
}
