//! Metrics and traces of a Toolyard hub: Prometheus text and OTLP.
