//! Words over the catalog.
