//! `${NAME}` in a string becomes the value of an environment variable.

use std::path::Path;

/// What the words between `${` and `}` may refer to.
pub(super) struct Expander<'a> {
    pub(super) env: &'a dyn Fn(&str) -> Option<String>,
    pub(super) home: &'a Path,
    /// The folder of the settings file, which stands in for an editor's workspace.
    pub(super) folder: &'a Path,
}

/// Why a string could not be expanded, and what to write instead.
pub(super) struct Unexpanded {
    pub(super) message: String,
    pub(super) hint: String,
    /// The variable that is not set, where that is all that is wrong.
    pub(super) unset: Option<String>,
}

impl Expander<'_> {
    /// Replaces every reference; `$$` is a literal `$`, and a `$` before anything else stays as it is.
    pub(super) fn expand(&self, text: &str) -> Result<String, Unexpanded> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            expanded.push_str(&rest[..dollar]);
            let after = &rest[dollar + 1..];
            if let Some(tail) = after.strip_prefix('$') {
                expanded.push('$');
                rest = tail;
            } else if let Some(tail) = after.strip_prefix('{') {
                let Some(end) = tail.find('}') else {
                    return Err(Unexpanded {
                        message: "`${` has no closing `}`".to_owned(),
                        hint: "write `$${` for the characters themselves".to_owned(),
                        unset: None,
                    });
                };
                expanded.push_str(&self.value_of(&tail[..end])?);
                rest = &tail[end + 1..];
            } else {
                expanded.push('$');
                rest = after;
            }
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn value_of(&self, reference: &str) -> Result<String, Unexpanded> {
        match reference {
            "userHome" => return Ok(self.home.to_string_lossy().into_owned()),
            "workspaceFolder" => return Ok(self.folder.to_string_lossy().into_owned()),
            "pathSeparator" | "/" => return Ok(std::path::MAIN_SEPARATOR.to_string()),
            _ => {}
        }
        if let Some(input) = reference.strip_prefix("input:") {
            return Err(Unexpanded {
                message: format!("`${{input:{input}}}` asks a person, which a hub cannot do"),
                hint: format!(
                    "put the value in an environment variable and write `${{{}}}`",
                    variable_for(input)
                ),
                unset: None,
            });
        }
        let reference = reference.strip_prefix("env:").unwrap_or(reference);
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        if !is_variable_name(name) {
            return Err(Unexpanded {
                message: format!("`${{{reference}}}` does not name an environment variable"),
                hint: "write `$${` for the characters themselves".to_owned(),
                unset: None,
            });
        }
        match ((self.env)(name), default) {
            (Some(value), None) => Ok(value),
            (Some(value), Some(_)) if !value.is_empty() => Ok(value),
            (_, Some(default)) => Ok(default.to_owned()),
            (None, None) => Err(Unexpanded {
                message: format!("the environment variable `{name}` is not set"),
                hint: format!("set it, or give a default: `${{{name}:-value}}`"),
                unset: Some(name.to_owned()),
            }),
        }
    }
}

/// Returns the name of the variable that holds what an editor would have asked for.
pub(crate) fn variable_for(input: &str) -> String {
    let mut name: String = input
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() { it.to_ascii_uppercase() } else { '_' })
        .collect();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        name.insert(0, '_');
    }
    name
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '(' || it == ')')
}
