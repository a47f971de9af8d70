//! The rules of the house that a machine can check.
//!
//! Each rule is a function from files to findings. It is used twice: on the repository, where it must find
//! nothing, and on a small bad example, where it must find something.

mod source; // Rust text, with code and comments told apart
mod tree; //   the files of the repository
mod order; //  who may use whom
mod shape; //  files, attributes, types
mod words; //  what comments and documents may say
mod literals; // what strings in code may say
mod numbers; // what numbers code may have, and how much a function takes
mod docs; //   what documents must name
mod requirements; // what is called done, and the tests that show it
mod targets; // what fuzz targets must have

use tree::File;

/// Something that breaks a rule, as `path:line: what`.
type Findings = Vec<String>;

/// Fails with everything that was found and what to do about it.
#[track_caller]
fn clean(findings: &[String], mend: &str) {
    assert!(findings.is_empty(), "{}\n\n{mend}", findings.join("\n"));
}

/// Makes a file for a bad example.
fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}
