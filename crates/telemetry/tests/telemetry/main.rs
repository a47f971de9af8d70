//! What a hub counts and traces, read as Prometheus, a dashboard and an OpenTelemetry collector read it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod exposition; // a strict reader of Prometheus text
mod collector; //  an OTLP collector on loopback
mod tool; //       promtool, where it is installed
mod metrics;
mod numbers;
mod trace;
mod otlp;
mod docs;
