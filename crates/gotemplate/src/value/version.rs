//! Semantic versions as the Go library Masterminds/semver parses them.

use std::cmp::Ordering;
use std::fmt;

/// The maximum length of a version in bytes.
const MAX_VERSION: usize = 256;

/// A version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pub(crate) prerelease: String,
    pub(crate) metadata: String,
    pub(crate) original: String,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

fn are_identifiers(text: &str) -> bool {
    text.split('.').all(|part| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

fn has_leading_zero(identifier: &str) -> bool {
    identifier.len() > 1
        && identifier.starts_with('0')
        && identifier.bytes().all(|byte| byte.is_ascii_digit())
}

impl Version {
    /// Parses a version. The minor and the patch number are optional.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_VERSION {
            return None;
        }
        let rest = text.strip_prefix('v').unwrap_or(text);
        let (rest, metadata) = match rest.split_once('+') {
            Some((rest, metadata)) => (rest, Some(metadata)),
            None => (rest, None),
        };
        let (numbers, prerelease) = match rest.split_once('-') {
            Some((numbers, prerelease)) => (numbers, Some(prerelease)),
            None => (rest, None),
        };
        if metadata.is_some_and(|text| !are_identifiers(text))
            || prerelease
                .is_some_and(|text| !are_identifiers(text) || text.split('.').any(has_leading_zero))
        {
            return None;
        }
        let mut segments = [0; 3];
        for (at, segment) in numbers.split('.').enumerate() {
            let valid = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
            *segments.get_mut(at).filter(|_| valid)? = segment.parse().ok()?;
        }
        Some(Self {
            major: segments[0],
            minor: segments[1],
            patch: segments[2],
            prerelease: prerelease.unwrap_or_default().to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        })
    }

    /// Compares two versions without their metadata.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => compare_prereleases(&self.prerelease, &other.prerelease),
            }
        })
    }
}

pub(crate) fn compare_prereleases(one: &str, other: &str) -> Ordering {
    let mut ones = one.split('.');
    let mut others = other.split('.');
    loop {
        let order = match (ones.next(), others.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(one), Some(other)) => compare_parts(one, other),
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn compare_parts(one: &str, other: &str) -> Ordering {
    match (one.parse::<u64>(), other.parse::<u64>()) {
        (Ok(one), Ok(other)) => one.cmp(&other),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => one.cmp(other),
    }
}
