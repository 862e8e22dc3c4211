//! Names of objects on the command line, and pages of lists of objects.

use serde_json::Value;

use super::api::ClusterApi;
use crate::client::CallError;
use crate::failure::Failure;

/// A kind and the names of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectNames {
    /// The kind as the user typed it.
    pub(crate) kind: String,
    /// The names. Empty for all objects.
    pub(crate) names: Vec<String>,
}

impl ObjectNames {
    /// Parses `KIND[,KIND] [NAME…]` or `KIND/NAME…`.
    pub(crate) fn parse(words: &[String]) -> Result<Vec<Self>, Failure> {
        let wrong = || {
            Failure::Usage(
                "write the objects as KIND, KIND NAME… or KIND/NAME…, for example: pods, \
                 deployment web, svc/web"
                    .to_owned(),
            )
        };
        let Some((first, rest)) = words.split_first() else {
            return Err(wrong());
        };
        if first.contains('/') {
            let parts = words.iter().map(|word| match word.split_once('/') {
                Some((kind, name)) if is_word(kind) && is_word(name) => Ok(Self {
                    kind: kind.to_owned(),
                    names: vec![name.to_owned()],
                }),
                _ => Err(wrong()),
            });
            return parts.collect();
        }
        if !rest.iter().all(|name| is_word(name)) {
            return Err(wrong());
        }
        let kinds = first.split(',').map(|kind| {
            if !is_word(kind) {
                return Err(wrong());
            }
            Ok(Self {
                kind: kind.to_owned(),
                names: rest.to_vec(),
            })
        });
        kinds.collect()
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains('/')
}

/// The objects that a list contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// Label selector.
    pub(crate) labels: Option<String>,
    /// Field selector.
    pub(crate) fields: Option<String>,
    /// Maximum number of objects in a page. 0 for one page with all objects.
    pub(crate) chunk_size: u32,
    /// True if the rows of a table contain the complete objects.
    pub(crate) include_objects: bool,
}

impl Query {
    /// Returns the parameters of the query, except the parameters of a page.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let labels = self.labels.iter().map(|l| ("labelSelector", l.clone()));
        let fields = self.fields.iter().map(|f| ("fieldSelector", f.clone()));
        let include = self.include_objects.then(|| "Object".to_owned());
        let include = include.map(|value| ("includeObject", value));
        labels.chain(fields).chain(include).collect()
    }
}

/// The pages of a list.
#[derive(Debug)]
pub(crate) struct Pages<'a> {
    api: &'a ClusterApi,
    path: &'a [String],
    query: &'a Query,
    accept: &'static str,
    next: Option<String>,
    finished: bool,
}

/// Returns the pages of a list.
pub(crate) const fn list_pages<'a>(
    api: &'a ClusterApi,
    path: &'a [String],
    query: &'a Query,
    accept: &'static str,
) -> Pages<'a> {
    Pages {
        api,
        path,
        query,
        accept,
        next: None,
        finished: false,
    }
}

impl Pages<'_> {
    /// Requests the next page. Returns `None` after the last page.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, CallError> {
        if self.finished {
            return Ok(None);
        }
        let mut parameters = self.query.parameters();
        if self.query.chunk_size > 0 {
            parameters.push(("limit", self.query.chunk_size.to_string()));
        }
        parameters.extend(self.next.iter().map(|next| ("continue", next.clone())));
        let page: Value = self.api.get(self.path, &parameters, self.accept).await?;
        let next = page["metadata"]["continue"].as_str();
        let next = next.filter(|next| !next.is_empty()).map(str::to_owned);
        if next.is_some() && next == self.next {
            // A repeated token would repeat the page forever.
            return Err(self.api.unreadable("the list repeats a page"));
        }
        self.finished = next.is_none();
        self.next = next;
        Ok(Some(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let parsed = ObjectNames::parse(&words).ok()?;
        let shown = parsed
            .iter()
            .map(|p| format!("{}={}", p.kind, p.names.join("+")));
        Some(shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn kinds_and_names_are_parsed_like_in_kubectl() {
        for (text, expected) in [
            ("pods", Some("pods=")),
            ("pods,svc", Some("pods= svc=")),
            ("pods a b", Some("pods=a+b")),
            ("pods,svc a", Some("pods=a svc=a")),
            ("pod/a svc/b", Some("pod=a svc=b")),
            ("deploy.apps/a", Some("deploy.apps=a")),
            ("pod/a b", None),
            ("pods pod/a", None),
            ("pod/", None),
            ("pods,", None),
            ("", None),
        ] {
            assert_eq!(parse(text).as_deref(), expected, "{text}");
        }
    }
}
