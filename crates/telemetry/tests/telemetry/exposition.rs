//! A strict reader of Prometheus text 0.0.4: it takes only what every scraper takes.

use std::collections::{BTreeMap, BTreeSet};

/// The labels of one sample.
pub(crate) type LabelMap = BTreeMap<String, String>;

/// One metric as it was read.
#[derive(Debug)]
pub(crate) struct ReadFamily {
    pub(crate) kind: String,
    pub(crate) samples: Vec<Sample>,
}

/// One line with a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: LabelMap,
    pub(crate) value: f64,
}

/// Reads a whole exposition, or says what is wrong with it.
pub(crate) fn read(text: &str) -> Result<BTreeMap<String, ReadFamily>, String> {
    if !text.ends_with('\n') {
        return Err("the last line does not end".to_owned());
    }
    let mut families: BTreeMap<String, ReadFamily> = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, said) = help.split_once(' ').ok_or_else(|| format!("no help: {line}"))?;
            if said.is_empty() || !helped.insert(name.to_owned()) {
                return Err(format!("HELP is empty or there twice: {line}"));
            }
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').ok_or_else(|| format!("no type: {line}"))?;
            if !is_name(name) || !["counter", "gauge", "histogram"].contains(&kind) || !helped.contains(name)
            {
                return Err(format!("unexpected type: {line}"));
            }
            let fresh = ReadFamily { kind: kind.to_owned(), samples: Vec::new() };
            if families.insert(name.to_owned(), fresh).is_some() {
                return Err(format!("TYPE is there twice: {line}"));
            }
            current = name.to_owned();
        } else {
            let sample = read_sample(line)?;
            let family = families.get_mut(&current).ok_or_else(|| format!("no TYPE before: {line}"))?;
            let suffixes: &[&str] =
                if family.kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            if !suffixes.iter().any(|suffix| sample.name == format!("{current}{suffix}")) {
                return Err(format!("not a sample of `{current}`: {line}"));
            }
            if family.samples.iter().any(|known| known.name == sample.name && known.labels == sample.labels) {
                return Err(format!("there twice: {line}"));
            }
            family.samples.push(sample);
        }
    }
    for (name, family) in &families {
        check_family(name, family)?;
    }
    Ok(families)
}

fn check_family(name: &str, family: &ReadFamily) -> Result<(), String> {
    if family.samples.is_empty() {
        return Err(format!("`{name}` has no samples"));
    }
    if (family.kind == "counter") != name.ends_with("_total") {
        return Err(format!("`{name}` is a {}", family.kind));
    }
    if family.kind != "gauge"
        && family.samples.iter().any(|sample| sample.value.is_nan() || sample.value < 0.0)
    {
        return Err(format!("`{name}` counts below zero"));
    }
    if family.kind == "histogram" { check_histogram(name, family) } else { Ok(()) }
}

fn check_histogram(name: &str, family: &ReadFamily) -> Result<(), String> {
    let mut series: BTreeMap<LabelMap, Vec<&Sample>> = BTreeMap::new();
    for sample in &family.samples {
        let mut labels = sample.labels.clone();
        let has_bound = labels.remove("le").is_some();
        if has_bound != sample.name.ends_with("_bucket") {
            return Err(format!("`le` belongs to buckets: {sample:?}"));
        }
        series.entry(labels).or_default().push(sample);
    }
    for (labels, samples) in series {
        let buckets: Vec<(f64, f64)> = samples
            .iter()
            .filter_map(|sample| Some((read_value(sample.labels.get("le")?).ok()?, sample.value)))
            .collect();
        let is_rising = buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let (last, total) = buckets.last().ok_or_else(|| format!("`{name}` {labels:?} has no buckets"))?;
        let of = |suffix: &str| samples.iter().find(|sample| sample.name == format!("{name}{suffix}"));
        let count = of("_count").ok_or_else(|| format!("`{name}` {labels:?} has no count"))?;
        if !is_rising || *last != f64::INFINITY || count.value != *total || of("_sum").is_none() {
            return Err(format!("`{name}` {labels:?} is not a histogram: {buckets:?}"));
        }
    }
    Ok(())
}

fn read_sample(line: &str) -> Result<Sample, String> {
    let bad = || format!("not a sample: {line}");
    let end = line.find(['{', ' ']).ok_or_else(bad)?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = LabelMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (key, value) = rest.split_once("=\"").ok_or_else(bad)?;
            let (value, after) = read_label_value(value).ok_or_else(bad)?;
            if !is_name(key) || labels.insert(key.to_owned(), value).is_some() {
                return Err(bad());
            }
            rest = after;
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            rest = rest.strip_prefix(',').ok_or_else(bad)?;
        }
    }
    let value = rest.strip_prefix(' ').ok_or_else(bad)?;
    if !is_name(name) {
        return Err(bad());
    }
    Ok(Sample { name: name.to_owned(), labels, value: read_value(value)? })
}

/// Reads up to the closing quote and returns what comes after it.
fn read_label_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((position, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[position + 1..])),
            '\\' => value.push(match letters.next()?.1 {
                '\\' => '\\',
                '"' => '"',
                'n' => '\n',
                _ => return None,
            }),
            plain => value.push(plain),
        }
    }
    None
}

fn read_value(text: &str) -> Result<f64, String> {
    match text {
        "+Inf" => Ok(f64::INFINITY),
        number if number.starts_with(|first: char| first.is_ascii_digit() || first == '-') => {
            number.parse().map_err(|_| format!("not a number: {text}"))
        }
        _ => Err(format!("not a number: {text}")),
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[test]
fn r15_the_reader_refuses_what_a_scraper_refuses() {
    let head = "# HELP a_total A.\n# TYPE a_total counter\n";
    let histogram = "# HELP h H.\n# TYPE h histogram\n";
    let wrong = [
        "a_total 1\n".to_owned(),
        format!("{head}a_total 1"),
        format!("{head}{head}a_total 1\n"),
        format!("{head}a_total 1\na_total 2\n"),
        format!("{head}b_total 1\n"),
        format!("{head}a_total{{x=\"a\"b\"}} 1\n"),
        format!("{head}a_total{{x=\"\\t\"}} 1\n"),
        format!("{head}a_total{{x=\"1\",x=\"2\"}} 1\n"),
        format!("{head}a_total inf\n"),
        head.to_owned(),
        "# HELP a A.\n# TYPE a counter\na 1\n".to_owned(),
        format!("{histogram}h_bucket{{le=\"1\"}} 1\nh_sum 1\nh_count 1\n"),
        format!("{histogram}h_bucket{{le=\"1\"}} 2\nh_bucket{{le=\"+Inf\"}} 1\nh_sum 1\nh_count 1\n"),
        format!("{histogram}h_bucket{{le=\"+Inf\"}} 1\nh_sum 1\nh_count 2\n"),
        format!("{histogram}h_bucket{{le=\"+Inf\"}} 1\nh_count 1\n"),
    ];
    for text in wrong {
        assert!(read(&text).is_err(), "{text}");
    }
    assert!(read(&format!("{head}a_total{{x=\"\\\\\\\"\\n\"}} 1\n")).is_ok());
    assert!(read(&format!("{histogram}h_bucket{{le=\"+Inf\"}} 1\nh_sum 1\nh_count 1\n")).is_ok());
}
