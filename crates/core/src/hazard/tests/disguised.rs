//! Destructive calls in every disguise that comes to mind: none of them is judged a read.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use super::corpus::{ATTACKS, Call, calls};
use super::*;

/// A way to write a text differently so that it still does, or hides, what it did.
#[derive(Clone, Copy, Debug)]
enum Disguise {
    /// White space around and within.
    Space,
    /// Letters in another case.
    Case,
    /// A comment before, after or within.
    Comment,
    /// Something harmless before or after it.
    Company,
    /// Something in quotes, or a quote that is never closed.
    Quotes,
    /// A program that runs the rest, or a shell within a shell.
    Wrapper,
    /// A variable, a substitution or a block.
    Variable,
    /// Output that goes somewhere.
    Redirection,
    /// Wide, invisible or look-alike characters.
    Encoding,
    /// What only some databases read like that.
    Dialect,
    /// One more argument, or the same one under another name.
    Argument,
}

const DISGUISES: [Disguise; 11] = [
    Disguise::Space,
    Disguise::Case,
    Disguise::Comment,
    Disguise::Company,
    Disguise::Quotes,
    Disguise::Wrapper,
    Disguise::Variable,
    Disguise::Redirection,
    Disguise::Encoding,
    Disguise::Dialect,
    Disguise::Argument,
];

/// Templates of command lines in which `@` stands for the text.
fn lines(disguise: Disguise) -> &'static [&'static str] {
    match disguise {
        Disguise::Space => &[" @", "\t@\t", "\n@\n", "\r\n@", "\u{a0}@"],
        Disguise::Comment => &["# ls\n@", "@ # ls", ": ls; @", "true || ls; @"],
        Disguise::Company => {
            &["ls; @", "ls && @", "ls | @", "@ | cat", "@; ls", "ls\n@", "git status || @", "cat a & @"]
        }
        Disguise::Quotes => &["'@'", "\"@\"", "@ 'open", "ls \"a\"; @", "ls 'a' ; @", "''@"],
        Disguise::Wrapper => &[
            "env @",
            "nohup @",
            "xargs @",
            "sh -c '@'",
            "bash -c \"@\"",
            "timeout 5 @",
            "nice @",
            "sudo @",
            "doas @",
            "busybox @",
            "time @",
            "command @",
            "exec @",
            "stdbuf -o0 @",
            "setsid @",
            "watch @",
            "ls | xargs @",
            "find . -exec @ {} +",
            "ssh host @",
            "eval '@'",
            "cmd /c @",
            "arch @",
        ],
        Disguise::Variable => &[
            "X=1; @",
            "X=1 @",
            "ls $(@)",
            "ls `@`",
            "echo \"$(@)\"",
            "{ @; }",
            "( @ )",
            "ls <(@)",
            "if true; then @; fi",
            "sh <<< '@'",
            "sh <<E\n@\nE",
            "ls ${x:-$(@)}",
            "f() { @; }; f",
        ],
        Disguise::Redirection => &[
            "@ > f",
            "@ >> f",
            "@ 2> f",
            "@ &> f",
            "@ >| f",
            "@ | tee f",
            "> f; @",
            "@ > /dev/null",
            "@ 2>&1",
            "@ <> f",
        ],
        Disguise::Encoding => {
            &["\u{feff}@", "\u{200b}@", "@\u{0}", "ls\u{0}; @", "ls；@", "ls\u{2028}@", "ls\u{85}@"]
        }
        Disguise::Dialect => &["ls ^& @", "ls %COMSPEC:~0,1% @", "ls; & @", "echo '& @ '"],
        Disguise::Case | Disguise::Argument => &[],
    }
}

/// Templates of statements in which `@` stands for the text.
fn statements(disguise: Disguise) -> &'static [&'static str] {
    match disguise {
        Disguise::Space => &[" @", "\n@\n", "\r@", "\u{a0}@"],
        Disguise::Comment => {
            &["-- x\n@", "/* x */ @", "@ -- x", "/**/@", "# x\n@", "/*! @ */", "/*+ x */ @", "--\n@"]
        }
        Disguise::Company => {
            &["SELECT 1; @", "@; SELECT 1", "SELECT 'a'; @", "SHOW TABLES; @", ";;@", "SELECT 1\n;\n@"]
        }
        Disguise::Quotes => &[
            "SELECT ''; @",
            "SELECT 'a'';' ; @",
            "SELECT \"a\"; @",
            "SELECT `a`; @",
            "SELECT [a]; @",
            "@ 'open",
        ],
        Disguise::Wrapper => &[
            "EXPLAIN ANALYZE @",
            "EXPLAIN (ANALYZE, VERBOSE) @",
            "WITH x AS (@) SELECT 1",
            "(@)",
            "DO $$ @ $$",
            "BEGIN; @; COMMIT",
            "EXECUTE '@'",
            "PREPARE p AS @",
            "COPY (@) TO 'x'",
        ],
        Disguise::Variable => &["DECLARE x int; @", "SELECT $$a$$; @", "SELECT $1; @", "SELECT :a; @"],
        Disguise::Redirection => &["@ INTO OUTFILE 'x'"],
        Disguise::Encoding => {
            &["\u{feff}@", "\u{200b}@", "@\u{0}", "SELECT 1；@", "SELECT 1;\u{0}@", "SELECT 1;\u{2028}@"]
        }
        Disguise::Dialect => &[
            "SELECT 1 # 2; @",
            "SELECT 1 --2\n; @",
            "SELECT q'[']'; @",
            "SELECT E'\\''; @",
            "SELECT 1\nGO\n@",
            "SELECT 1 AS a @",
            "SELECT 1 /* /* */ */; @",
        ],
        Disguise::Case | Disguise::Argument => &[],
    }
}

/// Writes letters as wide ones.
fn wide(text: &str) -> String {
    let wide =
        |c: char| if c.is_ascii_alphabetic() { char::from_u32(c as u32 + 0xfee0).unwrap_or(c) } else { c };
    text.chars().map(wide).collect()
}

/// Applies a disguise to a call. What it cannot be applied to stays as it is.
fn disguise(call: &mut Call, disguise: Disguise, pick: Index) {
    let arguments = call.arguments.as_object_mut().expect("arguments are an object");
    let key =
        ["command", "sql", "query"].into_iter().find(|key| arguments.get(*key).is_some_and(Value::is_string));
    let Some(key) = key else { return };
    let text = arguments[key].as_str().unwrap_or_default().to_owned();
    // What is wrong only because a quotation mark is missing is mended by one more.
    if text.matches(['\'', '"', '`']).count() % 2 == 1 {
        return;
    }
    let from = if key == "command" { lines(disguise) } else { statements(disguise) };
    let changed = match disguise {
        Disguise::Case if key != "command" => match pick.index(2) {
            0 => text.to_uppercase(),
            _ => text.to_lowercase(),
        },
        Disguise::Case => wide(&text),
        Disguise::Argument => {
            let (name, value) =
                [("cmd", "rm a"), ("Command", "rm a"), ("stdin", "rm a"), ("timeout", "5")][pick.index(4)];
            arguments.entry(name).or_insert_with(|| json!(value));
            return;
        }
        Disguise::Space
        | Disguise::Comment
        | Disguise::Company
        | Disguise::Quotes
        | Disguise::Wrapper
        | Disguise::Variable
        | Disguise::Redirection
        | Disguise::Encoding
        | Disguise::Dialect => from[pick.index(from.len())].replacen('@', &text, 1),
    };
    arguments[key] = json!(changed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn h1_no_disguise_makes_a_call_that_may_change_something_a_read(
        which in any::<Index>(),
        disguises in proptest::collection::vec((prop::sample::select(&DISGUISES[..]), any::<Index>()), 1..4),
    ) {
        static ALL: LazyLock<Vec<Call>> = LazyLock::new(|| calls(ATTACKS));
        let mut call = which.get(&ALL).clone();
        for (way, pick) in disguises {
            disguise(&mut call, way, pick);
        }
        prop_assert_ne!(call.effect(), Effect::Read, "{:?}", call);
    }
}
