//! What a Toolyard hub decided, what people said about it, and what was learnt, kept in SQLite.
