//! Fake upstreams and fixtures for tests.
