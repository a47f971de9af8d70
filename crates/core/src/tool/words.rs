//! The words inside an identifier.

/// Splits `read_file`, `read-file`, `readFile` and `HTTPServer` into their words, as written.
pub(crate) fn words(identifier: &str) -> impl Iterator<Item = &str> {
    identifier.split(|c: char| !c.is_alphanumeric()).flat_map(camel_words)
}

/// Returns identifiers in plain words, one after the other.
pub(crate) fn in_words(path: &[impl AsRef<str>]) -> String {
    path.iter().flat_map(|name| words(name.as_ref())).map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Splits one run of letters and digits where its case says that a word begins.
pub(crate) fn camel_words(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (word, tail) = rest.split_at(first_word_end(rest));
        rest = tail;
        Some(word)
    })
}

fn first_word_end(run: &str) -> usize {
    let mut chars = run.char_indices();
    let Some((_, mut before)) = chars.next() else { return 0 };
    while let Some((at, c)) = chars.next() {
        let begins = c.is_uppercase() && {
            let tail = chars.as_str();
            // `URLs` and `APIs` are one word, `HTTPServer` is two.
            let followed_by_word = tail != "s" && tail.starts_with(char::is_lowercase);
            !before.is_uppercase() || followed_by_word
        };
        if begins {
            return at;
        }
        before = c;
    }
    run.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_of_every_habit_fall_into_words() {
        let split = |name| words(name).collect::<Vec<_>>().join(" ");
        assert_eq!(split("read_text-file.now"), "read text file now");
        assert_eq!(split("getHTTPServerURLs"), "get HTTP Server URLs");
        assert_eq!(split("listV2Users"), "list V2 Users");
        assert_eq!(split("API-delete-a-block"), "API delete a block");
        assert_eq!(split("ÜberÄnderung"), "Über Änderung");
        assert_eq!(split("__"), "");
    }
}
