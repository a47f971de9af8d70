//! Every tool we know, as one immutable value.
