//! Texts that have a form: dates, addresses, identifiers.

use jiff::civil::{Date, Time};

/// Whether a text has a format of JSON Schema. Formats that nobody checks fit every text.
pub(super) fn is_formatted(format: &str, text: &str) -> bool {
    match format {
        "date" => text.len() == 10 && text.parse::<Date>().is_ok(),
        "date-time" => is_date_time(text),
        "time" => is_time(text),
        "email" | "idn-email" => is_email(text),
        "uri" => is_uri(text),
        "uuid" => is_uuid(text),
        "ipv4" => text.parse::<core::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<core::net::Ipv6Addr>().is_ok(),
        "hostname" => is_hostname(text),
        _ => true,
    }
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else { return false };
    is_formatted("date", date) && is_time(time)
}

/// A time with its zone, as RFC 3339 wants it.
fn is_time(text: &str) -> bool {
    let clock = match text.strip_suffix(['Z', 'z']) {
        Some(clock) => clock,
        None => {
            let Some(at) = text.rfind(['+', '-']) else { return false };
            let (clock, offset) = text.split_at(at);
            let Some((hours, minutes)) = offset[1..].split_once(':') else { return false };
            let below =
                |digits: &str, most: u8| digits.len() == 2 && digits.parse().is_ok_and(|it: u8| it < most);
            if !(below(hours, 24) && below(minutes, 60)) {
                return false;
            }
            clock
        }
    };
    clock.len() >= 8 && clock.as_bytes()[2] == b':' && clock.parse::<Time>().is_ok()
}

/// Whether a text is an e-mail address as people write them.
pub(crate) fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let is_plain = |c: char| c.is_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(c);
    let is_dotted = !name.starts_with('.') && !name.ends_with('.') && !name.contains("..");
    !name.is_empty() && name.chars().all(is_plain) && is_dotted && host.contains('.') && is_hostname(host)
}

/// Whether a text is an absolute address.
pub(crate) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_written = |c: char| c.is_ascii_graphic() && !"<>\"{}|\\^`".contains(c);
    is_scheme && !rest.is_empty() && rest.chars().all(is_written)
}

pub(crate) fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex =
        |part: &str, count: usize| part.len() == count && part.bytes().all(|it| it.is_ascii_hexdigit());
    matches!(parts.as_slice(), [a, b, c, d, e]
        if is_hex(a, 8) && is_hex(b, 4) && is_hex(c, 4) && is_hex(d, 4) && is_hex(e, 12))
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_written = label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
        (1..=63).contains(&label.len()) && is_written && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Whether a text is written like the name of a time zone, such as `Asia/Tokyo`.
pub(crate) fn is_zone(text: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|it: char| it.is_ascii_uppercase())
            && part.chars().all(|it| it.is_ascii_alphanumeric() || "_-+".contains(it))
    };
    text == "UTC" || text.contains('/') && text.split('/').all(is_name)
}
