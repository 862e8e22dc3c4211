//! Where a list is, and in which form it is asked for.

use crate::feed::Ask;
use crate::kind::Kind;
use crate::url::segment;

/// A watch is begun anew this often, so that a connection that is silently gone is noticed.
pub const WATCH_SECONDS: u64 = 60;
/// Things in one page: shown as soon as they are there, and few enough to be read at once.
const PAGE: u32 = 500;

/// The form in which objects come as they are.
pub const AS_OBJECTS: &str = "application/json";
/// The form in which the server makes rows of them.
pub const AS_TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
/// The form in which only their metadata comes, in a list.
pub const AS_METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// A list that can be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    path: String,
    accept: &'static str,
    query: String,
}

impl Source {
    /// Objects as they are.
    pub fn objects(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            accept: AS_OBJECTS,
            query: String::new(),
        }
    }

    /// Only those that a part of a query chooses: `labelSelector=…`, ready for a URL.
    #[must_use]
    pub fn choosing(mut self, query: &str) -> Self {
        if !query.is_empty() {
            self.query.push('&');
            self.query.push_str(query);
        }
        self
    }

    /// The server's own table of a kind.
    pub fn rows(kind: Kind, cluster: &str, namespace: Option<&str>) -> Self {
        let query = if kind == Kind::NODES {
            // There are few of them, and no column tells their taints and conditions.
            "&includeObject=Object"
        } else {
            "&includeObject=Metadata"
        };
        Self {
            path: kind.list_path(cluster, namespace),
            accept: AS_TABLE,
            query: query.to_owned(),
        }
    }

    /// What the answer should be.
    pub const fn accept(&self) -> &'static str {
        self.accept
    }

    /// Where a question is asked.
    pub fn url(&self, ask: &Ask) -> String {
        let Self { path, query, .. } = self;
        match ask {
            Ask::List => format!("{path}?limit={PAGE}{query}"),
            Ask::More(token) => format!("{path}?limit={PAGE}{query}&continue={}", segment(token)),
            Ask::Watch(version) => format!(
                "{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}{query}\
                 &resourceVersion={}",
                segment(version)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_has_its_url() {
        let source = Source::rows(Kind::PODS, "berlin", Some("shop"));
        let path = "/k8s/clusters/berlin/api/v1/namespaces/shop/pods";
        assert_eq!(
            source.url(&Ask::List),
            format!("{path}?limit=500&includeObject=Metadata")
        );
        assert_eq!(
            source.url(&Ask::More("a=b&c".to_owned())),
            format!("{path}?limit=500&includeObject=Metadata&continue=a%3Db%26c")
        );
        assert_eq!(
            Source::objects("/x").url(&Ask::Watch("7".to_owned())),
            "/x?watch=true&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion=7"
        );
        let one = Source::objects("/x")
            .choosing("fieldSelector=a%3Db")
            .choosing("");
        assert_eq!(one.url(&Ask::List), "/x?limit=500&fieldSelector=a%3Db");
        assert!(source.accept().contains("as=Table"));
    }
}
