//! Query parameters with the type conversions of apimachinery.

use axum::extract::Query as AxumQuery;
use http::Uri;

use crate::status::ApiError;

/// Decoded query parameters, in the order of the query.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the query of a URI. A malformed query has no parameters.
    pub fn of(uri: &Uri) -> Self {
        AxumQuery::try_from_uri(uri)
            .map_or_else(|_| Self::default(), |AxumQuery(pairs)| Self(pairs))
    }

    /// Adds the parameter `watch` of a path-based watch. Adds a field selector if the path contains
    /// a name.
    #[must_use]
    pub(crate) fn watching(mut self, name: Option<&str>) -> Self {
        let mut set = |key: &str, value: String| {
            self.0.retain(|(own, _)| own != key);
            self.0.push((key.to_owned(), value));
        };
        set("watch", "true".to_owned());
        if let Some(name) = name {
            set("fieldSelector", format!("metadata.name={name}"));
        }
        self
    }

    /// Returns the first value of a parameter.
    pub fn first(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Returns all values of a parameter.
    pub fn all<'a>(&'a self, key: &'static str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the first value of a parameter. The result is empty if the parameter is absent.
    pub fn text(&self, key: &str) -> String {
        self.first(key).unwrap_or_default().to_owned()
    }

    /// Returns a boolean parameter. All values except `0` and `false` are true.
    pub fn flag(&self, key: &str) -> Option<bool> {
        let value = self.first(key)?;
        Some(!(value == "0" || value.eq_ignore_ascii_case("false")))
    }

    /// Returns an integer parameter.
    ///
    /// # Errors
    ///
    /// Returns `BadRequest` with the message of Go's `strconv`.
    pub fn integer(&self, key: &str) -> Result<Option<i64>, ApiError> {
        self.first(key)
            .map(|value| parse_integer(value).map_err(ApiError::bad_request))
            .transpose()
    }
}

fn parse_integer(text: &str) -> Result<i64, String> {
    text.parse().map_err(|error| {
        let reason = number_fault(&error);
        format!("strconv.ParseInt: parsing {text:?}: {reason}")
    })
}

/// Parses a resourceVersion. The result for an empty text is 0.
///
/// # Errors
///
/// Returns the text of kube-apiserver's field error.
pub fn parse_resource_version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let fault = |reason| {
        format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {reason}"
        )
    };
    // Go's ParseUint accepts no sign; Rust's `parse` accepts a plus.
    if text.starts_with('+') {
        return Err(fault("invalid syntax"));
    }
    text.parse()
        .map_err(|error: std::num::ParseIntError| fault(number_fault(&error)))
}

fn number_fault(error: &std::num::ParseIntError) -> &'static str {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    match error.kind() {
        PosOverflow | NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::of(&format!("/?{text}").parse().unwrap())
    }

    #[test]
    fn errors_of_malformed_numbers_match_go() {
        let error = query("limit=abc").integer("limit").unwrap_err();
        assert_eq!(
            error.message,
            "strconv.ParseInt: parsing \"abc\": invalid syntax"
        );
        let error = query("limit=99999999999999999999")
            .integer("limit")
            .unwrap_err();
        assert!(error.message.ends_with("value out of range"));
        assert_eq!(query("limit=-3").integer("limit").unwrap(), Some(-3));
        assert_eq!(query("").integer("limit").unwrap(), None);
    }

    #[test]
    fn query_flag_is_true_unless_its_value_is_0_or_false() {
        for (text, expect) in [
            ("watch=1", Some(true)),
            ("watch=", Some(true)),
            ("watch=no", Some(true)),
            ("watch=False", Some(false)),
            ("watch=0", Some(false)),
            ("", None),
        ] {
            assert_eq!(query(text).flag("watch"), expect, "{text}");
        }
    }

    #[test]
    fn query_parameters_are_decoded_in_order() {
        let query = query("dryRun=All&labelSelector=a%3Db%2Cc+in+(d)&dryRun=x");
        assert_eq!(query.first("labelSelector"), Some("a=b,c in (d)"));
        assert_eq!(query.all("dryRun").collect::<Vec<_>>(), ["All", "x"]);
    }

    #[test]
    fn resource_version_must_be_unsigned_integer() {
        assert_eq!(parse_resource_version("0"), Ok(0));
        assert_eq!(parse_resource_version("77"), Ok(77));
        assert_eq!(
            parse_resource_version("x").unwrap_err(),
            "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax"
        );
        assert!(parse_resource_version("+1").is_err());
    }
}
