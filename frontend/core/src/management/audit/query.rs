//! The filter of the audit log as text: `user:ann verb:delete since:2h`.

use drover_api::rest::AuditOutcome;

use super::{ANY, CHANGES, Filter, time_error};
use crate::completion::{LastTerm, Suggestion};
use crate::messages::t;

/// The verbs that the suggestions contain.
const VERBS: [&str; 10] = [
    CHANGES, ANY, "create", "update", "patch", "delete", "get", "list", "watch", "proxy",
];
/// The ages that the suggestions contain.
const AGES: [&str; 4] = ["15m", "1h", "24h", "7d"];

impl Filter {
    /// Parses the text of a filter. A term without a name is a part of the path. A value with spaces
    /// is in quotes. Returns the message for an invalid text.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        if text.matches('"').count() % 2 == 1 {
            return Err(t().audit.open_quote().to_owned());
        }
        for term in terms(text) {
            let (name, value) = match term.split_once(':') {
                Some((name, value)) if filter.field(name).is_some() => (name, value),
                // A path can contain a colon.
                _ if term.contains('/') || !term.contains(':') => ("path", term.as_str()),
                _ => return Err(t().audit.unknown_term(&term)),
            };
            let value = value.replace('"', "");
            if value.is_empty() {
                return Err(t().audit.empty_term(name));
            }
            match filter.field(name) {
                Some(field) if field.is_empty() => *field = value,
                _ => return Err(t().audit.repeated_term(name)),
            }
        }
        filter.check()?;
        Ok(filter)
    }

    /// Returns the text of the filter.
    pub fn text(&self) -> String {
        let quoted = |value: &str| {
            if value.contains(char::is_whitespace) {
                format!("\"{value}\"")
            } else {
                value.to_owned()
            }
        };
        let terms = self.parts().into_iter();
        let terms = terms.filter(|(_, value)| !value.is_empty());
        let terms = terms.map(|(name, value)| format!("{name}:{}", quoted(value)));
        terms.collect::<Vec<_>>().join(" ")
    }

    fn field(&mut self, name: &str) -> Option<&mut String> {
        Some(match name {
            "user" => &mut self.user,
            "cluster" => &mut self.cluster,
            "verb" => &mut self.verb,
            "outcome" => &mut self.outcome,
            "code" => &mut self.code,
            "path" => &mut self.path,
            "object" => &mut self.object,
            "since" => &mut self.since,
            "until" => &mut self.until,
            _ => return None,
        })
    }

    fn check(&self) -> Result<(), String> {
        let known = |outcome: &AuditOutcome| outcome.as_str() == self.outcome;
        if !self.outcome.is_empty() && !AuditOutcome::ALL.iter().any(known) {
            let all = AuditOutcome::ALL.map(AuditOutcome::as_str).join(", ");
            return Err(t().audit.unknown_outcome(&self.outcome, &all));
        }
        if !self.code.is_empty() && self.code.parse::<u16>().is_err() {
            return Err(t().audit.code_help().to_owned());
        }
        match [&self.since, &self.until]
            .into_iter()
            .find_map(|time| time_error(time))
        {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Splits a text at white space outside of quotes.
fn terms(text: &str) -> Vec<String> {
    let mut quoted = false;
    let parts = text.split(|letter: char| {
        quoted ^= letter == '"';
        letter.is_whitespace() && !quoted
    });
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// Returns the terms that can complete or follow the entered text.
pub fn suggestions(text: &str) -> Vec<Suggestion> {
    let last = LastTerm::of(text);
    if let Some((name, value)) = last.term.split_once(':') {
        let values = values(name).into_iter();
        let values = values.filter(|it| it.starts_with(value) && *it != value);
        return values
            .map(|value| last.replaced_by(format!("{name}:{value}"), ""))
            .collect();
    }
    let used = terms(last.before);
    let is_used = |name: &str| used.iter().any(|term| term.split(':').next() == Some(name));
    let names = names().into_iter();
    let names = names.filter(|(name, _)| name.starts_with(last.term) && !is_used(name));
    names
        .map(|(name, note)| last.replaced_by(format!("{name}:"), note))
        .collect()
}

/// Returns the names of the terms and their meanings.
fn names() -> [(&'static str, &'static str); 9] {
    [
        ("user", t().audit.user_term()),
        ("cluster", t().audit.cluster_term()),
        ("verb", t().audit.verb_term()),
        ("outcome", t().audit.outcome_term()),
        ("code", t().audit.code_help()),
        ("path", t().audit.path_term()),
        ("object", t().audit.object_term()),
        ("since", t().audit.time_help()),
        ("until", t().audit.time_help()),
    ]
}

/// Returns the known values of a term.
fn values(name: &str) -> Vec<&'static str> {
    match name {
        "verb" => VERBS.to_vec(),
        "outcome" => AuditOutcome::ALL.map(AuditOutcome::as_str).to_vec(),
        "since" | "until" => AGES.to_vec(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_of_a_filter_names_each_field() {
        let filter = Filter::read("user:ann verb:delete since:2h /api/v1 object:\"a b\"").unwrap();
        let expected = Filter {
            user: "ann".to_owned(),
            verb: "delete".to_owned(),
            since: "2h".to_owned(),
            path: "/api/v1".to_owned(),
            object: "a b".to_owned(),
            ..Filter::default()
        };
        assert_eq!(filter, expected);
        assert_eq!(
            filter.text(),
            "user:ann verb:delete path:/api/v1 object:\"a b\" since:2h"
        );
    }

    #[test]
    fn path_can_contain_a_colon() {
        let filter = Filter::read("/apis/x:y").unwrap();
        assert_eq!(filter.path, "/apis/x:y");
    }

    #[test]
    fn invalid_terms_are_named() {
        for (text, named) in [
            ("users:ann", "users:ann"),
            ("user:ann user:bob", "user"),
            ("code:many", "403"),
            ("outcome:fine", "complete"),
            ("since:soon", "1h"),
            ("user: ann", "user"),
            ("user:\"ann verb:delete", "quotation mark"),
        ] {
            let error = Filter::read(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn suggestions_complete_the_last_term() {
        let texts = |text| suggestions(text).into_iter().map(|it| it.text);
        assert_eq!(
            texts("user:ann o").collect::<Vec<_>>(),
            ["user:ann outcome:", "user:ann object:"]
        );
        assert_eq!(texts("verb:del").collect::<Vec<_>>(), ["verb:delete"]);
        assert_eq!(texts("verb:delete").count(), 0);
        assert!(texts("user:ann ").all(|text| text != "user:ann user:"));
        assert_eq!(texts("").count(), 9);
    }

    proptest! {
        #[test]
        fn filter_is_equal_after_conversion_to_text(
            user in "[a-zA-Z0-9@._ -]{0,12}", path in "(/[a-z0-9:]{1,6}){0,3}", code in "([1-5][0-9]{2})?",
        ) {
            let filter = Filter { user: user.trim().to_owned(), path, code, ..Filter::default() };
            prop_assert_eq!(Filter::read(&filter.text()), Ok(filter));
        }
    }
}
