//! `ListOptions` of list, watch and deletecollection.

use super::{fault, refuse};
use crate::serve::input::query::Query;
use crate::status::{ApiError, FieldError, FieldErrorKind};

/// The meaning of a list's resourceVersion (`resourceVersionMatch`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionMatch {
    /// The list shows exactly this revision.
    Exact,
    /// The list shows this revision or a newer revision.
    NotOlderThan,
}

/// Validated `metav1.ListOptions`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// The unparsed label selector.
    pub label_selector: String,
    /// The unparsed field selector.
    pub field_selector: String,
    /// True if the request is a watch.
    pub watch: bool,
    /// True if the client supports bookmarks.
    pub bookmarks: bool,
    /// The unparsed resourceVersion.
    pub resource_version: String,
    /// The meaning of the resourceVersion.
    pub version_match: Option<VersionMatch>,
    /// The timeout of the request in seconds.
    pub timeout: Option<i64>,
    /// The page size. `None` for all objects.
    pub limit: Option<usize>,
    /// The continue token of the previous page. Empty for the first page.
    pub continue_token: String,
    /// True if the watch starts with existing objects.
    pub send_initial_events: bool,
}

impl ListOptions {
    /// Parses, completes and validates the options.
    ///
    /// # Errors
    ///
    /// Returns 400 for a malformed number, and 422 with a cause per invalid option.
    pub fn of(query: &Query) -> Result<Self, ApiError> {
        let timeout = query.integer("timeoutSeconds")?;
        let limit = query.integer("limit")?;
        let watch = query.flag("watch").unwrap_or(false);
        let resource_version = query.text("resourceVersion");
        let continue_token = query.text("continue");
        let mut version_match = query.text("resourceVersionMatch");
        let mut initial = query.flag("sendInitialEvents");
        let from_anywhere = matches!(resource_version.as_str(), "" | "0");
        // A watch without resourceVersion starts with existing objects, for compatibility.
        if watch && from_anywhere && initial.is_none() && version_match.is_empty() {
            initial = Some(true);
            "NotOlderThan".clone_into(&mut version_match);
        }
        let requested = RequestedVersion {
            watch,
            version_match: &version_match,
            resource_version: &resource_version,
            continues: !continue_token.is_empty(),
            initial,
        };
        refuse("ListOptions", &requested.faults())?;
        Ok(Self {
            label_selector: query.text("labelSelector"),
            field_selector: query.text("fieldSelector"),
            watch,
            bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            version_match: match version_match.as_str() {
                "Exact" => Some(VersionMatch::Exact),
                "NotOlderThan" => Some(VersionMatch::NotOlderThan),
                _ => None,
            },
            resource_version,
            timeout,
            limit: limit
                .and_then(|limit| usize::try_from(limit).ok())
                .filter(|limit| *limit > 0),
            continue_token,
            send_initial_events: initial.unwrap_or(false),
        })
    }
}

struct RequestedVersion<'a> {
    watch: bool,
    version_match: &'a str,
    resource_version: &'a str,
    continues: bool,
    initial: Option<bool>,
}

const MATCH: &str = "resourceVersionMatch";

impl RequestedVersion<'_> {
    fn faults(&self) -> Vec<FieldError> {
        if self.watch {
            self.watch_faults()
        } else {
            self.list_faults()
        }
    }

    fn list_faults(&self) -> Vec<FieldError> {
        let mut faults = Vec::new();
        let mut forbid = |path: &str, reason: &str| {
            faults.push(fault(FieldErrorKind::Forbidden, path, None, reason));
        };
        let matched = !self.version_match.is_empty();
        if matched && self.resource_version.is_empty() {
            forbid(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            );
        }
        if matched && self.continues {
            forbid(
                MATCH,
                "resourceVersionMatch is forbidden when continue is provided",
            );
        }
        if self.version_match == "Exact" && self.resource_version == "0" {
            forbid(
                MATCH,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            );
        }
        if self.initial.is_some() {
            forbid(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            );
        }
        if !matches!(self.version_match, "" | "Exact" | "NotOlderThan") {
            let detail = "supported values: \"Exact\", \"NotOlderThan\", \"\"";
            faults.push(self.unknown_match(detail));
        }
        faults
    }

    fn watch_faults(&self) -> Vec<FieldError> {
        let mut faults = Vec::new();
        let mut forbid = |reason: &str| {
            faults.push(fault(FieldErrorKind::Forbidden, MATCH, None, reason));
        };
        if self.initial.is_some() && self.version_match != "NotOlderThan" {
            forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        }
        if self.version_match.is_empty() {
            return faults;
        }
        if self.initial.is_none() {
            forbid(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
        }
        if self.continues {
            forbid("resourceVersionMatch is forbidden when continue is provided");
        }
        if self.version_match != "NotOlderThan" {
            faults.push(self.unknown_match("supported values: \"NotOlderThan\""));
        }
        faults
    }

    fn unknown_match(&self, detail: &str) -> FieldError {
        fault(
            FieldErrorKind::NotSupported,
            MATCH,
            Some(self.version_match),
            detail,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(query: &str) -> Result<ListOptions, ApiError> {
        ListOptions::of(&Query::of(&format!("/?{query}").parse().unwrap()))
    }

    #[test]
    fn combinations_of_resource_version_and_resource_version_match_are_validated() {
        for (query, allowed) in [
            ("", true),
            ("resourceVersion=0", true),
            ("resourceVersion=7", true),
            ("resourceVersion=7&resourceVersionMatch=Exact", true),
            ("resourceVersion=7&resourceVersionMatch=NotOlderThan", true),
            ("resourceVersion=0&resourceVersionMatch=NotOlderThan", true),
            ("resourceVersion=0&resourceVersionMatch=Exact", false),
            ("resourceVersionMatch=Exact", false),
            (
                "resourceVersion=7&resourceVersionMatch=Exact&continue=x",
                false,
            ),
            ("resourceVersion=7&resourceVersionMatch=Other", false),
            ("sendInitialEvents=true", false),
            ("watch=1", true),
            ("watch=1&resourceVersion=7", true),
            ("watch=1&sendInitialEvents=true", false),
            (
                "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                true,
            ),
            (
                "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
                true,
            ),
            (
                "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
                false,
            ),
            ("watch=1&resourceVersionMatch=NotOlderThan", false),
        ] {
            assert_eq!(list(query).is_ok(), allowed, "{query}");
        }
    }

    #[test]
    fn list_option_errors_match_kube_apiserver() {
        let error = list("resourceVersion=0&resourceVersionMatch=Exact").unwrap_err();
        assert_eq!(
            error.message,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: \
             resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""
        );
        assert_eq!(error.code, http::StatusCode::UNPROCESSABLE_ENTITY);
    }

    #[test]
    fn watch_without_resource_version_sends_initial_events() {
        assert!(list("watch=1").unwrap().send_initial_events);
        assert!(
            list("watch=1&resourceVersion=0")
                .unwrap()
                .send_initial_events
        );
        assert!(
            !list("watch=1&resourceVersion=5")
                .unwrap()
                .send_initial_events
        );
        assert!(!list("").unwrap().send_initial_events);
    }

    #[test]
    fn list_limit_of_zero_or_less_is_ignored() {
        assert_eq!(list("limit=0").unwrap().limit, None);
        assert_eq!(list("limit=-1").unwrap().limit, None);
        assert_eq!(list("limit=500").unwrap().limit, Some(500));
    }
}
