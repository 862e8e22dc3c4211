//! Functions of semantic versions, with the constraints of the Go library Masterminds/semver.

use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::LazyLock;

use regex::Regex;

use super::Type::Str;
use super::{Args, Function, fixed};
use crate::error::CallError;
use crate::value::{Value, Version};

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("semver", &[Str], |args| {
        let version = Version::parse(&args.text(0)).ok_or("invalid semantic version")?;
        Ok(Value::Version(Rc::new(version)))
    }),
    fixed("semverCompare", &[Str, Str], compare),
];

/// The maximum length of a constraint in bytes.
const MAX_CONSTRAINT: usize = 512;
/// The maximum number of alternatives in a constraint.
const MAX_ALTERNATIVES: usize = 32;

const OPERATORS: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";
/// A version in which `x` and `*` stand for any number.
const PATTERN: &str = r"v?([0-9|xX*]+)(\.[0-9|xX*]+)?(\.[0-9|xX*]+)?(-([0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*))?(\+([0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*))?";

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant and tested")
}

/// `1.2 - 1.4`
static RANGE: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"[\t\n\f\r ]*({PATTERN})[\t\n\f\r ]+-[\t\n\f\r ]+({PATTERN})[\t\n\f\r ]*"
    ))
});
/// One comparison in a list.
static FIND: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"({OPERATORS})[\t\n\f\r ]*({PATTERN})")));
/// A list of comparisons.
static LIST: LazyLock<Regex> = LazyLock::new(|| {
    let one = format!(r"(?:{OPERATORS})[\t\n\f\r ]*(?:{PATTERN})[\t\n\f\r ]*");
    regex(&format!(
        r"^(?:[\t\n\f\r ]*{one})(?:(?:[\t\n\f\r ]+|,[\t\n\f\r ]*){one})*$"
    ))
});

fn compare(args: &Args<'_>) -> Result<Value, CallError> {
    args.budget.spend(500)?;
    let constraint = args.text(0);
    if constraint.len() > MAX_CONSTRAINT {
        return Err("the version constraint is too long".into());
    }
    let constraint = RANGE.replace_all(&constraint, ">= $1, <= $11 ");
    let alternatives: Vec<&str> = constraint.split("||").collect();
    if alternatives.len() > MAX_ALTERNATIVES {
        return Err("the version constraint has too many alternatives".into());
    }
    let lists: Option<Vec<_>> = alternatives.into_iter().map(parse_list).collect();
    let lists = lists.ok_or("improper version constraint")?;
    let version = Version::parse(&args.text(1)).ok_or("invalid semantic version")?;
    let fits = lists.iter().any(|list| {
        let prereleases = list.iter().any(|it| !it.version.prerelease.is_empty());
        (prereleases || version.prerelease.is_empty())
            && list.iter().all(|comparison| comparison.check(&version))
    });
    Ok(Value::Bool(fits))
}

fn parse_list(text: &str) -> Option<Vec<Comparison>> {
    if !LIST.is_match(text) {
        return None;
    }
    FIND.captures_iter(text)
        .map(|it| Comparison::parse(&it))
        .collect()
}

/// A comparison of a version with a pattern.
struct Comparison {
    operator: String,
    version: Version,
    /// The pattern has a wildcard, or lacks a number.
    is_dirty: bool,
    is_minor_dirty: bool,
    is_patch_dirty: bool,
}

impl Comparison {
    fn parse(captures: &regex::Captures<'_>) -> Option<Self> {
        let group = |at| captures.get(at).map_or("", |found| found.as_str());
        let is_any = |text: &str| matches!(text.trim_start_matches('.'), "" | "x" | "X" | "*");
        let (major, minor, patch, prerelease) = (group(3), group(4), group(5), group(6));
        let no_major = is_any(major);
        let no_minor = !no_major && is_any(minor);
        let no_patch = !no_major && !no_minor && is_any(patch);
        let text = if no_major {
            format!("0.0.0{prerelease}")
        } else if no_minor {
            format!("{major}.0.0{prerelease}")
        } else if no_patch {
            format!("{major}{minor}.0{prerelease}")
        } else {
            group(2).to_owned()
        };
        Some(Self {
            operator: group(1).to_owned(),
            version: Version::parse(&text)?,
            is_dirty: no_major || no_minor || no_patch,
            is_minor_dirty: no_minor,
            is_patch_dirty: no_patch,
        })
    }

    fn check(&self, version: &Version) -> bool {
        let order = version.compare(&self.version);
        match self.operator.as_str() {
            "!=" => self.is_different(version),
            ">" => self.is_greater(version),
            "<" => order.is_lt(),
            ">=" | "=>" => order.is_ge(),
            "<=" | "=<" => self.is_less_or_equal(version),
            "~" | "~>" => self.is_near(version),
            "^" => self.is_compatible(version),
            _ if self.is_dirty => self.is_near(version),
            _ => order.is_eq(),
        }
    }

    fn is_different(&self, version: &Version) -> bool {
        let own = &self.version;
        if self.is_dirty {
            if own.major != version.major {
                return true;
            }
            if own.minor != version.minor && !self.is_minor_dirty {
                return true;
            }
            if self.is_minor_dirty {
                return false;
            }
            if own.patch != version.patch && !self.is_patch_dirty {
                return true;
            }
            if self.is_patch_dirty {
                return own.prerelease != version.prerelease;
            }
        }
        version.compare(own).is_ne()
    }

    fn is_greater(&self, version: &Version) -> bool {
        let own = &self.version;
        let order = version.compare(own);
        if !self.is_dirty {
            return order.is_gt();
        }
        match version.major.cmp(&own.major) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal if self.is_minor_dirty => false,
            Ordering::Equal if self.is_patch_dirty => version.minor > own.minor,
            Ordering::Equal => order.is_gt(),
        }
    }

    fn is_less_or_equal(&self, version: &Version) -> bool {
        let own = &self.version;
        if !self.is_dirty {
            return version.compare(own).is_le();
        }
        match version.major.cmp(&own.major) {
            Ordering::Greater => false,
            Ordering::Less => true,
            Ordering::Equal => version.minor <= own.minor || self.is_minor_dirty,
        }
    }

    fn is_near(&self, version: &Version) -> bool {
        let own = &self.version;
        if version.compare(own).is_lt() {
            return false;
        }
        let is_zero = own.major == 0 && own.minor == 0 && own.patch == 0;
        if is_zero && !self.is_minor_dirty && !self.is_patch_dirty {
            return true;
        }
        version.major == own.major && (version.minor == own.minor || self.is_minor_dirty)
    }

    fn is_compatible(&self, version: &Version) -> bool {
        let own = &self.version;
        if version.compare(own).is_lt() {
            return false;
        }
        if own.major > 0 || self.is_minor_dirty {
            return version.major == own.major;
        }
        if version.major > 0 {
            return false;
        }
        if own.minor > 0 || self.is_patch_dirty {
            return version.minor == own.minor;
        }
        version.minor == 0 && version.patch == own.patch
    }
}
