//! Where mistakes are said to be.

use toolyard_hub::config::Mistake;

/// Checks that mistakes lie in the text that they were found in.
pub fn check_places(text: &str, mistakes: &[Mistake]) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    assert!(!mistakes.is_empty(), "a text that is refused has a mistake");
    for mistake in mistakes.iter().filter(|it| it.line > 0) {
        let line =
            text.split('\n').nth(mistake.line - 1).unwrap_or_else(|| panic!("no such line: {mistake}"));
        let most = line.chars().count() + 1;
        assert!((1..=most).contains(&mistake.column), "no such column in {line:?}: {mistake}");
    }
}
