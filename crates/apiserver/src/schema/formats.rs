//! String formats that apiextensions validates.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Returns the name of the format if the text does not have this format. An unknown format allows
/// every text.
pub(super) fn violated<'a>(format: &'a str, text: &str) -> Option<&'a str> {
    let right = match format {
        "byte" => STANDARD.decode(text).is_ok(),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "date-time" | "datetime" | super::MICRO_TIME => {
            text.contains(['T', 't']) && text.parse::<jiff::Timestamp>().is_ok()
        }
        "duration" => is_duration(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => is_uuid(format, text),
        "hostname" => is_hostname(text),
        "email" => is_email(text),
        "uri" => is_uri(text),
        "k8s-short-name" => crate::names::dns_label(text).is_empty(),
        "k8s-long-name" => crate::names::dns_subdomain(text).is_empty(),
        _ => true,
    };
    (!right).then_some(match format {
        super::MICRO_TIME => "date-time",
        format => format,
    })
}

/// Reports whether Go's `time.ParseDuration` accepts the text. Days and weeks are also valid, as in
/// strfmt.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if number.len() == rest.len() {
            return false;
        }
        let after = number
            .trim_start()
            .trim_start_matches(|c: char| c.is_alphabetic());
        let unit = number[..number.len() - after.len()].trim();
        if !matches!(
            unit,
            "ns" | "us"
                | "µs"
                | "ms"
                | "s"
                | "m"
                | "h"
                | "d"
                | "day"
                | "days"
                | "w"
                | "week"
                | "weeks"
                | "hour"
                | "hours"
                | "min"
                | "minute"
                | "minutes"
                | "sec"
                | "second"
                | "seconds"
        ) {
            return false;
        }
        rest = after.trim_start();
    }
    true
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let Ok(bits) = bits.parse::<u8>() else {
        return false;
    };
    address.parse::<Ipv4Addr>().is_ok() && bits <= 32
        || address.parse::<Ipv6Addr>().is_ok() && bits <= 128
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8 | 20)
        && parts
            .iter()
            .all(|part| part.len() == 2 && part.chars().all(|c| c.is_ascii_hexdigit()))
}

fn is_uuid(format: &str, text: &str) -> bool {
    uuid::Uuid::parse_str(text).is_ok_and(|uuid| match format {
        "uuid3" => uuid.get_version_num() == 3,
        "uuid4" => uuid.get_version_num() == 4,
        "uuid5" => uuid.get_version_num() == 5,
        _ => true,
    })
}

fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    !text.is_empty() && text.len() <= 255 && text.split('.').all(label)
}

fn is_email(text: &str) -> bool {
    text.rsplit_once('@')
        .is_some_and(|(user, host)| !user.is_empty() && !user.contains(' ') && is_hostname(host))
}

/// Reports whether the text is an absolute URI or path that Go's `url.ParseRequestURI` accepts.
fn is_uri(text: &str) -> bool {
    text.starts_with('/')
        || text
            .parse::<http::Uri>()
            .is_ok_and(|uri| uri.scheme().is_some())
}
