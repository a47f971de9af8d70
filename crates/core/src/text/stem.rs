//! English endings, cut lightly: what is left need not be a word, only the same for its forms.

/// Cuts plural, `-ing`, `-ed` and a final `e` from a lower-case word; other words stay.
pub(super) fn stem(word: &mut String) {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    cut_plural(word);
    cut_verb_ending(word);
    if word.len() > 4 && word.ends_with('e') {
        word.pop();
    }
}

fn cut_plural(word: &mut String) {
    let keeps_s = ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    if keeps_s || !word.ends_with('s') {
        return;
    }
    if word.ends_with("ies") && word.len() > 4 {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["sses", "xes", "ches", "shes", "zzes"].iter().any(|end| word.ends_with(end)) {
        word.truncate(word.len() - 2);
    } else {
        word.pop();
    }
}

fn cut_verb_ending(word: &mut String) {
    let rest = match word.strip_suffix("ing") {
        Some(rest) => rest,
        None if word.ends_with("eed") => return,
        None => match word.strip_suffix("ed") {
            Some(rest) => rest,
            None => return,
        },
    };
    if rest.len() < 3 || !rest.bytes().any(is_vowel) {
        return;
    }
    word.truncate(rest.len());
    match word.as_bytes() {
        // `running` to `run`, but `call`, `pass` and `add` have their two.
        [.., b, c] if b == c && word.len() > 3 && !matches!(c, b'l' | b's' | b'z') => {
            word.pop();
        }
        // `moving` to `move`: too short to stand without its vowel.
        [a, b, c] if !is_vowel(*a) && is_vowel(*b) && !is_vowel(*c) && !matches!(c, b'w' | b'x' | b'y') => {
            word.push('e');
        }
        _ => {}
    }
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        let mut word = word.to_owned();
        stem(&mut word);
        word
    }

    #[test]
    fn the_forms_of_a_word_meet() {
        let families = [
            "create creates created creating",
            "file files",
            "move moves moved moving",
            "run runs running",
            "get gets getting",
            "add adds added adding",
            "call calls called calling",
            "entry entries",
            "search searches searched searching",
            "box boxes",
            "list lists listed listing listings",
            "issue issues",
            "update updated updating updates",
            "delete deleting deleted",
            "note notes noted",
        ];
        for family in families {
            let mut forms: Vec<String> = family.split(' ').map(stemmed).collect();
            forms.dedup();
            assert_eq!(forms.len(), 1, "{forms:?}");
        }
    }

    #[test]
    fn short_and_foreign_words_stay() {
        for word in ["status", "class", "analysis", "speed", "bus", "thing", "bring", "größe", "s3", "ids2"]
        {
            assert_eq!(stemmed(word), word);
        }
    }
}
