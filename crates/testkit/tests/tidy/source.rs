//! Rust text, line by line, with code and comments told apart and strings emptied.

/// One line of a Rust file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The code, without what stands in strings.
    pub(crate) code: String,
    /// The comment, without its slashes.
    pub(crate) comment: String,
}

#[derive(Clone, Copy)]
enum Within {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

/// Splits a file.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let chars: Vec<char> = text.chars().collect();
    let mut lines = vec![Line::default()];
    let mut within = Within::Code;
    let mut at = 0;
    while at < chars.len() {
        let (now, next) = (chars[at], chars.get(at + 1).copied().unwrap_or(' '));
        if now == '\n' {
            lines.push(Line::default());
            if matches!(within, Within::LineComment) {
                within = Within::Code;
            }
            at += 1;
            continue;
        }
        let line = lines.last_mut().expect("there is always a line");
        let step;
        (within, step) = match within {
            Within::Code => code(&chars, at, line),
            Within::LineComment => {
                line.comment.push(now);
                (within, 1)
            }
            Within::BlockComment { depth } => match (now, next, depth) {
                ('/', '*', _) => (Within::BlockComment { depth: depth + 1 }, 2),
                ('*', '/', 1) => (Within::Code, 2),
                ('*', '/', _) => (Within::BlockComment { depth: depth - 1 }, 2),
                _ => {
                    line.comment.push(now);
                    (within, 1)
                }
            },
            Within::Text if now == '\\' && next != '\n' => (within, 2),
            Within::Text if now == '"' => (Within::Code, push(line, '"')),
            Within::RawText { hashes } if ends_raw(&chars[at..], hashes) => {
                (Within::Code, push(line, '"') + hashes)
            }
            Within::Text | Within::RawText { .. } => (within, 1),
        };
        at += step;
    }
    for line in &mut lines {
        line.comment = line.comment.trim_start_matches(['/', '!']).trim().to_owned();
    }
    lines
}

fn code(chars: &[char], at: usize, line: &mut Line) -> (Within, usize) {
    let (now, next) = (chars[at], chars.get(at + 1).copied().unwrap_or(' '));
    let follows_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match (now, next) {
        ('/', '/') => (Within::LineComment, 2),
        ('/', '*') => (Within::BlockComment { depth: 1 }, 2),
        ('"', _) => (Within::Text, push(line, '"')),
        ('r' | 'b' | 'c', '"' | '#' | 'r') if !follows_word => {
            let rest = &chars[at..];
            let letters = rest.iter().take_while(|it| matches!(it, 'r' | 'b' | 'c')).count();
            let hashes = rest[letters..].iter().take_while(|it| **it == '#').count();
            let is_raw = rest[..letters].contains(&'r');
            match rest.get(letters + hashes) {
                Some('"') if is_raw => {
                    line.code.push('"');
                    (Within::RawText { hashes }, letters + hashes + 1)
                }
                _ => (Within::Code, push(line, now)),
            }
        }
        // A character, unlike a lifetime, ends with another quote.
        ('\'', '\\') => {
            let length = chars[at + 2..].iter().skip(1).position(|it| *it == '\'').unwrap_or(0);
            (Within::Code, length + 4)
        }
        ('\'', _) if chars.get(at + 2) == Some(&'\'') => (Within::Code, 3),
        _ => (Within::Code, push(line, now)),
    }
}

fn push(line: &mut Line, char: char) -> usize {
    line.code.push(char);
    1
}

fn ends_raw(rest: &[char], hashes: usize) -> bool {
    rest.first() == Some(&'"') && rest[1..].iter().take_while(|it| **it == '#').count() >= hashes
}

/// Returns the words of a text: runs of letters, digits and `_`, with where they begin.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|it: char| !it.is_alphanumeric() && it != '_')
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

#[test]
fn code_comments_and_strings_are_told_apart() {
    let text = "let a = \"// no \\\" comment\"; // yes\nlet b = r#\"x\" // no\"#; /* one /* two */ */ b'\\''; '\"' 'a\n//! doc\n'\\u{7f}' c";
    let told: Vec<(String, String)> = lines(text).into_iter().map(|line| (line.code, line.comment)).collect();
    let expected =
        [("let a = \"\"; ", "yes"), ("let b = \"\";  b;  'a", "one  two"), ("", "doc"), (" c", "")];
    assert_eq!(told, expected.map(|(code, comment)| (code.to_owned(), comment.to_owned())));
}
