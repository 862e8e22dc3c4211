//! A list that is kept up to date by a watch: what each event does, and how to go on after a cut.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::problem::{Problem, ProblemKind};

/// The things of one list, by name, as of one version of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Feed<T> {
    items: BTreeMap<String, T>,
    version: Option<String>,
}

impl<T> Default for Feed<T> {
    fn default() -> Self {
        Self {
            items: BTreeMap::new(),
            version: None,
        }
    }
}

/// What to ask the server for next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Everything, anew.
    List,
    /// What changed since this version.
    Watch(String),
}

#[derive(Deserialize)]
struct WireList {
    metadata: WireMeta,
    items: Vec<Value>,
}

#[derive(Deserialize)]
struct WireObject {
    metadata: WireMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    name: Option<String>,
    resource_version: Option<String>,
}

#[derive(Deserialize)]
struct WireEvent {
    r#type: String,
    object: Value,
}

impl<T: DeserializeOwned> Feed<T> {
    /// What to ask for next.
    pub fn ask(&self) -> Ask {
        match &self.version {
            Some(version) => Ask::Watch(version.clone()),
            None => Ask::List,
        }
    }

    /// The things, in the order of their names.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.items.values()
    }

    /// Takes the answer to [`Ask::List`].
    pub fn replace(&mut self, body: &[u8]) -> Result<(), Problem> {
        let list: WireList = read(body)?;
        let mut items = BTreeMap::new();
        for object in list.items {
            let (meta, item) = parts(object)?;
            items.insert(meta.name.unwrap_or_default(), item);
        }
        self.items = items;
        self.version = list.metadata.resource_version;
        Ok(())
    }

    /// Takes a line of the answer to [`Ask::Watch`]; gives whether a thing changed.
    ///
    /// An error ends the watch. After it [`Self::ask`] says how to go on: the server may have
    /// forgotten the version, and then everything is listed again.
    pub fn take(&mut self, line: &[u8]) -> Result<bool, Problem> {
        let event: WireEvent = read(line)?;
        match event.r#type.as_str() {
            "ADDED" | "MODIFIED" => {
                let (meta, item) = parts(event.object)?;
                self.items.insert(meta.name.unwrap_or_default(), item);
                self.version = meta.resource_version.or_else(|| self.version.take());
                Ok(true)
            }
            "DELETED" | "BOOKMARK" => {
                let object: WireObject = of_value(event.object)?;
                let name = object.metadata.name.unwrap_or_default();
                let gone = event.r#type == "DELETED" && self.items.remove(&name).is_some();
                self.version = object
                    .metadata
                    .resource_version
                    .or_else(|| self.version.take());
                Ok(gone)
            }
            "ERROR" => {
                let problem = Problem::of_status(&event.object);
                self.refused(&problem);
                Err(problem)
            }
            other => Err(Problem::strange(other)),
        }
    }

    /// A watch was refused: when its version is forgotten, the next question is for everything.
    pub fn refused(&mut self, problem: &Problem) {
        if problem.kind == ProblemKind::Expired {
            self.version = None;
        }
    }
}

fn parts<T: DeserializeOwned>(object: Value) -> Result<(WireMeta, T), Problem> {
    let WireObject { metadata } = WireObject::deserialize(&object).map_err(strange)?;
    Ok((metadata, of_value(object)?))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(strange)
}

fn of_value<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_json::from_value(value).map_err(strange)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the form in which map_err gives it"
)]
fn strange(error: serde_json::Error) -> Problem {
    Problem::strange(&error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Deserialize)]
    struct Thing {
        color: String,
    }

    fn object(name: &str, version: u32, color: &str) -> Value {
        let meta = serde_json::json!({"name": name, "resourceVersion": version.to_string()});
        serde_json::json!({"metadata": meta, "color": color})
    }

    fn event(kind: &str, object: &Value) -> Vec<u8> {
        serde_json::to_vec(&serde_json::json!({"type": kind, "object": object})).unwrap()
    }

    fn listed() -> Feed<Thing> {
        let mut feed = Feed::default();
        assert_eq!(feed.ask(), Ask::List);
        let list = serde_json::json!({
            "metadata": {"resourceVersion": "5"},
            "items": [object("b", 3, "blue"), object("a", 5, "red")],
        });
        feed.replace(&serde_json::to_vec(&list).unwrap()).unwrap();
        feed
    }

    fn colors(feed: &Feed<Thing>) -> Vec<&str> {
        feed.items().map(|thing| thing.color.as_str()).collect()
    }

    #[test]
    fn a_list_follows_its_events() {
        let mut feed = listed();
        assert_eq!(colors(&feed), ["red", "blue"]);
        assert_eq!(feed.ask(), Ask::Watch("5".to_owned()));
        assert_eq!(
            feed.take(&event("MODIFIED", &object("b", 6, "green"))),
            Ok(true)
        );
        assert_eq!(
            feed.take(&event("ADDED", &object("c", 7, "white"))),
            Ok(true)
        );
        assert_eq!(
            feed.take(&event("DELETED", &object("a", 8, "red"))),
            Ok(true)
        );
        assert_eq!(colors(&feed), ["green", "white"]);
        let progress = serde_json::json!({"metadata": {"resourceVersion": "40"}});
        assert_eq!(feed.take(&event("BOOKMARK", &progress)), Ok(false));
        assert_eq!(
            feed.ask(),
            Ask::Watch("40".to_owned()),
            "a cut resumes here"
        );
    }

    #[test]
    fn a_forgotten_version_means_a_new_list_and_what_is_shown_stays() {
        let mut feed = listed();
        let gone = serde_json::json!({"kind": "Status", "code": 410, "message": "too old"});
        let problem = feed.take(&event("ERROR", &gone)).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Expired);
        assert_eq!(feed.ask(), Ask::List);
        assert_eq!(colors(&feed), ["red", "blue"]);
    }

    #[test]
    fn another_error_does_not_lose_the_place() {
        let mut feed = listed();
        let away = serde_json::json!({"kind": "Status", "code": 503, "message": "later"});
        feed.take(&event("ERROR", &away)).unwrap_err();
        feed.take(b"{").unwrap_err();
        feed.take(br#"{"type":"NEW","object":{}}"#).unwrap_err();
        assert_eq!(feed.ask(), Ask::Watch("5".to_owned()));
        assert_eq!(colors(&feed), ["red", "blue"]);
    }
}
