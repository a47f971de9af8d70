//! The web dashboard of a Toolyard hub.
