//! Requests of `drover search` to one cluster.

use std::sync::Arc;

use drover_api::rest::ClusterRights;
use drover_rows::query::Searched as _;
use drover_rows::search::{SEARCHED_KINDS, SearchedKind};
use drover_rows::{Include, Row};
use tokio::sync::mpsc;

use super::Request;
use super::found::FoundObject;
use crate::client::CallError;
use crate::kubernetes::{ClusterApi, RowPages};

/// A message about a cluster.
pub(super) enum Message {
    /// The objects of a page that match.
    Found(Vec<FoundObject>),
    /// The user has no permission to list a kind.
    Refused(SearchedKind),
    /// A request failed.
    Failed(CallError),
}

/// The receiver of the messages was dropped.
struct Unread;

/// Searches the objects of a cluster. Stops at the first failed request.
pub(super) async fn run(api: ClusterApi, request: Arc<Request>, sender: mpsc::Sender<Message>) {
    let search = ClusterSearch {
        api: &api,
        request: &request,
        sender: &sender,
    };
    for kind in SEARCHED_KINDS {
        let Ok(searched) = search.kind(kind).await else {
            return;
        };
        let problem = match searched {
            Ok(()) => continue,
            Err(error) if error.is_unknown_api() => continue,
            Err(error) => match error.refusal().map(|refusal| refusal.code) {
                Some(403) => Message::Refused(kind),
                _ => Message::Failed(error),
            },
        };
        let is_end = matches!(problem, Message::Failed(_));
        if sender.send(problem).await.is_err() || is_end {
            return;
        }
    }
}

struct ClusterSearch<'a> {
    api: &'a ClusterApi,
    request: &'a Request,
    sender: &'a mpsc::Sender<Message>,
}

impl ClusterSearch<'_> {
    async fn kind(&self, kind: SearchedKind) -> Result<Result<(), CallError>, Unread> {
        let rights = self.request.rights.get(self.api.name());
        let mut forbidden = Ok(());
        for namespace in namespaces(kind, self.request.namespace.as_deref(), rights) {
            match self.list(kind, namespace).await? {
                Ok(()) => {}
                // The user can have permissions in other namespaces.
                Err(error) if error.refusal().is_some_and(|it| it.code == 403) => {
                    forbidden = Err(error);
                }
                failed => return Ok(failed),
            }
        }
        Ok(forbidden)
    }

    async fn list(
        &self,
        kind: SearchedKind,
        namespace: Option<&str>,
    ) -> Result<Result<(), CallError>, Unread> {
        let include = Include::of(kind.api_version, kind.plural);
        let labels = self.request.labels.as_deref();
        let mut pages = RowPages::new(self.api, path(kind, namespace), include, labels);
        loop {
            let rows = match pages.next().await {
                Ok(Some(rows)) => rows,
                Ok(None) => return Ok(Ok(())),
                Err(error) => return Ok(Err(error)),
            };
            let found = rows.iter().filter(|row| self.matches(row));
            let found: Vec<_> = found.map(|row| FoundObject::new(kind, row)).collect();
            if !found.is_empty() {
                let sent = self.sender.send(Message::Found(found)).await;
                sent.map_err(|_| Unread)?;
            }
        }
    }

    fn matches(&self, row: &Row) -> bool {
        let image = &self.request.image;
        self.request.query.passes(row)
            && (image.is_empty() || row.is("image", image).unwrap_or(false))
    }
}

/// Returns the namespaces of the lists of a kind; `None` selects all namespaces and cluster-scoped
/// objects.
fn namespaces<'a>(
    kind: SearchedKind,
    wanted: Option<&'a str>,
    rights: Option<&'a ClusterRights>,
) -> Vec<Option<&'a str>> {
    match (kind.namespaced, wanted, rights) {
        (true, Some(namespace), _) => vec![Some(namespace)],
        (false, Some(_), _) => Vec::new(),
        (true, None, Some(rights)) if !rights.all_namespaces && !rights.namespaces.is_empty() => {
            let namespaces = rights.namespaces.iter();
            namespaces
                .map(|namespace| Some(namespace.as_str()))
                .collect()
        }
        (_, None, _) => vec![None],
    }
}

fn path(kind: SearchedKind, namespace: Option<&str>) -> Vec<String> {
    let root = if kind.api_version.contains('/') {
        "apis"
    } else {
        "api"
    };
    let version = kind.api_version.split('/');
    let place = namespace.into_iter().flat_map(|it| ["namespaces", it]);
    let parts = [root].into_iter().chain(version).chain(place);
    parts.chain([kind.plural]).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(plural: &str) -> SearchedKind {
        let mut kinds = SEARCHED_KINDS.into_iter();
        kinds.find(|kind| kind.plural == plural).unwrap()
    }

    #[test]
    fn search_lists_the_namespaces_of_the_user() {
        let member = ClusterRights {
            namespaces: vec!["a".to_owned(), "b".to_owned()],
            ..ClusterRights::default()
        };
        let (pods, nodes) = (kind("pods"), kind("nodes"));
        let everywhere = ClusterRights::everything();
        for (kind, wanted, rights, expected) in [
            (pods, None, Some(&member), vec![Some("a"), Some("b")]),
            (pods, Some("c"), Some(&member), vec![Some("c")]),
            (pods, None, Some(&everywhere), vec![None]),
            (pods, None, None, vec![None]),
            (nodes, None, Some(&member), vec![None]),
            (nodes, Some("c"), Some(&everywhere), vec![]),
        ] {
            assert_eq!(namespaces(kind, wanted, rights), expected, "{wanted:?}");
        }
    }

    #[test]
    fn path_of_a_kind_contains_group_and_namespace() {
        let shown = |plural: &str, namespace| path(kind(plural), namespace).join("/");
        assert_eq!(shown("pods", Some("a")), "api/v1/namespaces/a/pods");
        assert_eq!(shown("deployments", None), "apis/apps/v1/deployments");
    }
}
