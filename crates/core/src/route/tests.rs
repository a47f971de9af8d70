//! Decisions over small catalogs.
