//! The marks that people quote with.

/// Marks that open and close a quotation. Single ones are not here: they are apostrophes as well.
pub(crate) const QUOTES: [(&str, &str); 7] =
    [("\"", "\""), ("“", "”"), ("„", "“"), ("«", "»"), ("`", "`"), ("「", "」"), ("『", "』")];
