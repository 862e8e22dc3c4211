//! The search for objects of all clusters by name, label and image.

/// A kind whose objects the search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchedKind {
    /// Group and version, as in `apiVersion`.
    pub api_version: &'static str,
    /// The plural, as in API paths.
    pub plural: &'static str,
    /// The singular, as in `kubectl get`.
    pub singular: &'static str,
    /// True if the objects are in namespaces.
    pub namespaced: bool,
}

const fn kind(
    api_version: &'static str,
    plural: &'static str,
    singular: &'static str,
    namespaced: bool,
) -> SearchedKind {
    SearchedKind {
        api_version,
        plural,
        singular,
        namespaced,
    }
}

/// The kinds whose objects the search finds.
pub const SEARCHED_KINDS: [SearchedKind; 10] = [
    kind("v1", "pods", "pod", true),
    kind("apps/v1", "deployments", "deployment", true),
    kind("apps/v1", "statefulsets", "statefulset", true),
    kind("apps/v1", "daemonsets", "daemonset", true),
    kind("batch/v1", "cronjobs", "cronjob", true),
    kind("batch/v1", "jobs", "job", true),
    kind("v1", "services", "service", true),
    kind("networking.k8s.io/v1", "ingresses", "ingress", true),
    kind("v1", "nodes", "node", false),
    kind("v1", "namespaces", "namespace", false),
];

/// Returns the filter for a text of the search. Words without `=` and `:` are parts of names. Other
/// words are labels (`app=web`) or properties (`image:nginx`).
pub fn filter(text: &str) -> String {
    let word = |word: &str| {
        let (sign, positive) = match word.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", word),
        };
        if positive.contains(['=', ':']) {
            word.to_owned()
        } else {
            format!("{sign}name:{positive}")
        }
    };
    let words: Vec<String> = text.split_whitespace().map(word).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;

    use super::*;
    use crate::row::{Row, RowContent};
    use crate::{Column, Columns, Query};

    #[test]
    fn search_finds_names_labels_and_images() {
        let column = |name: &str| Column::new(name.to_owned(), "string", String::new(), false);
        let columns: Columns = ["Name", "Node", "Images"].map(column).into();
        let content = RowContent {
            namespace: "shop".to_owned(),
            name: "web-1".to_owned(),
            cells: ["web-1", "worker", "registry/nginx:1.29"]
                .map(str::to_owned)
                .to_vec(),
            labels: vec![("app".to_owned(), "web".to_owned())],
            ..RowContent::default()
        };
        let now = Timestamp::UNIX_EPOCH;
        let row = Row::new("berlin".into(), Arc::clone(&columns), content, now);
        for (text, found) in [
            ("web", true),
            ("WEB -api", true),
            ("-web", false),
            ("worker", false),
            ("shop", false),
            ("app=web", true),
            ("app=api", false),
            ("image:nginx", true),
            ("image:nginx:1.29 web", true),
            ("image:redis", false),
            ("image:web", false),
            ("cluster:berlin namespace:shop", true),
        ] {
            let query = Query::read(&filter(text));
            assert_eq!(query.passes(&row), found, "{text}");
        }
        let other: Columns = ["Name"].map(column).into();
        let content = RowContent {
            name: "image:nginx".to_owned(),
            ..RowContent::default()
        };
        let row = Row::new("berlin".into(), other, content, now);
        let query = Query::read(&filter("image:nginx"));
        assert!(!query.passes(&row), "an object without images has no image");
    }
}
