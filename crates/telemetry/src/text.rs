//! Prometheus text 0.0.4.
//!
//! Each family is written once, with HELP and TYPE before its samples. Label values are escaped.

use std::fmt::{self, Write};

use crate::family::{Family, Labels, Points};
use crate::histogram::Distribution;

/// Writes all families.
pub(crate) fn write(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        write_family(&mut text, family).expect("writing to a string cannot fail");
    }
    text
}

fn write_family(text: &mut String, family: &Family) -> fmt::Result {
    let name = family.name;
    let kind = match &family.points {
        Points::Counter(_) | Points::Seconds(_) => "counter",
        Points::Gauge(_) => "gauge",
        Points::Histogram(_) => "histogram",
    };
    writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", family.help)?;
    match &family.points {
        Points::Counter(series) => {
            for (labels, count) in series {
                write_sample(text, name, labels)?;
                writeln!(text, " {count}")?;
            }
        }
        Points::Seconds(series) | Points::Gauge(series) => {
            for (labels, level) in series {
                write_sample(text, name, labels)?;
                writeln!(text, " {}", Number(*level))?;
            }
        }
        Points::Histogram(series) => {
            for (labels, distribution) in series {
                write_histogram(text, name, labels, distribution)?;
            }
        }
    }
    Ok(())
}

fn write_histogram(text: &mut String, name: &str, labels: &Labels, held: &Distribution) -> fmt::Result {
    let mut below = 0;
    let bounds = held.bounds_seconds().chain([f64::INFINITY]);
    for (bound, count) in bounds.zip(&held.buckets) {
        below += count;
        let mut with_bound = labels.clone();
        with_bound.push(("le", Number(bound).to_string()));
        write_sample(text, &format!("{name}_bucket"), &with_bound)?;
        writeln!(text, " {below}")?;
    }
    write_sample(text, &format!("{name}_sum"), labels)?;
    writeln!(text, " {}", Number(held.sum_seconds()))?;
    write_sample(text, &format!("{name}_count"), labels)?;
    writeln!(text, " {below}")
}

fn write_sample(text: &mut String, name: &str, labels: &Labels) -> fmt::Result {
    text.push_str(name);
    for (position, (key, value)) in labels.iter().enumerate() {
        write!(text, "{}{key}=\"", if position == 0 { '{' } else { ',' })?;
        for letter in value.chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                plain => text.push(plain),
            }
        }
        text.push('"');
    }
    if !labels.is_empty() {
        text.push('}');
    }
    Ok(())
}

/// A number as Prometheus writes it: Rust says `inf` where Prometheus says `+Inf`.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == f64::INFINITY {
            f.write_str("+Inf")
        } else if self.0 == f64::NEG_INFINITY {
            f.write_str("-Inf")
        } else {
            write!(f, "{}", self.0)
        }
    }
}
