//! The source of a list: API path and media type.

use crate::feed::NextRequest;
use crate::url::segment;

/// The `timeoutSeconds` parameter of a watch. If a watch does not end shortly after this time, the
/// connection is lost.
pub const WATCH_SECONDS: u64 = 60;
/// The size of the first page of a list. A small page shows the first rows early, and fills a screen.
const FIRST_PAGE: u32 = 100;
/// The size of the other pages of a list.
const PAGE: u32 = 500;

/// The media type of full objects.
pub const AS_OBJECTS: &str = "application/json";
/// The media type of metadata lists.
pub const AS_METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// The source of a list: API path and media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    path: String,
    accept: &'static str,
    query: String,
}

impl Source {
    /// Returns a source of full objects.
    pub fn objects(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            accept: AS_OBJECTS,
            query: String::new(),
        }
    }

    /// Adds a selector, encoded for a URL: `labelSelector=…`.
    #[must_use]
    pub fn choosing(mut self, query: &str) -> Self {
        if !query.is_empty() {
            self.query.push('&');
            self.query.push_str(query);
        }
        self
    }

    /// Returns the `Accept` header.
    pub const fn accept(&self) -> &'static str {
        self.accept
    }

    /// Returns the URL of a request.
    pub fn url(&self, ask: &NextRequest) -> String {
        let Self { path, query, .. } = self;
        match ask {
            NextRequest::List => format!("{path}?limit={FIRST_PAGE}{query}"),
            NextRequest::More(token) => {
                format!("{path}?limit={PAGE}{query}&continue={}", segment(token))
            }
            NextRequest::Watch(version) => format!(
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
    fn list_and_watch_urls_contain_page_size_resource_version_and_selector() {
        let source = Source::objects("/pods");
        assert_eq!(source.url(&NextRequest::List), "/pods?limit=100");
        assert_eq!(
            source.url(&NextRequest::More("a=b&c".to_owned())),
            "/pods?limit=500&continue=a%3Db%26c"
        );
        assert_eq!(
            Source::objects("/x").url(&NextRequest::Watch("7".to_owned())),
            "/x?watch=true&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion=7"
        );
        let one = Source::objects("/x")
            .choosing("fieldSelector=a%3Db")
            .choosing("");
        assert_eq!(
            one.url(&NextRequest::List),
            "/x?limit=100&fieldSelector=a%3Db"
        );
    }
}
