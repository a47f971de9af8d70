//! Requests of many languages.

use super::*;

#[test]
fn r4_every_language_is_in_the_lexicon() {
    let lexicon = Lexicon::builtin();
    for language in Language::ALL {
        assert!(lexicon.stops.values().any(|languages| languages.contains(&language)), "{language:?}");
    }
    assert!(lexicon.exact.len() > 1000);
}
