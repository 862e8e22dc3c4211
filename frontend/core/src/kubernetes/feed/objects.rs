//! Parses lists of JSON objects.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{Form, Head, Limit, ListMeta, Page, of, read};
use crate::problem::Problem;

/// The maximum number of objects that a feed keeps.
const MAX_OBJECTS: usize = 50_000;

/// Parses objects into the type of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Objects;

#[derive(Deserialize)]
struct WireList<'a> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireObject {
    metadata: WireMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    namespace: Option<String>,
    name: Option<String>,
    resource_version: Option<String>,
}

impl<T: DeserializeOwned> Form<T> for Objects {
    const LIMIT: Limit<T> = Limit::First(MAX_OBJECTS);

    fn page(&mut self, body: &[u8], _: Timestamp) -> Result<Page<T>, Problem> {
        page(body)
    }

    fn item(&mut self, object: &RawValue, _: Timestamp) -> Result<(Head, T), Problem> {
        item(object)
    }

    fn head(&self, object: &RawValue) -> Result<Head, Problem> {
        head(object)
    }
}

/// Parses a page of objects.
pub(crate) fn page<T: DeserializeOwned>(body: &[u8]) -> Result<Page<T>, Problem> {
    let list: WireList<'_> = read(body)?;
    let items = list.items.into_iter();
    let items = items.map(|object| Ok((head(object)?.key, of(object)?)));
    Ok(Page {
        items: items.collect::<Result<_, Problem>>()?,
        meta: list.metadata,
    })
}

/// Parses an object.
pub(crate) fn item<T: DeserializeOwned>(object: &RawValue) -> Result<(Head, T), Problem> {
    Ok((head(object)?, of(object)?))
}

/// Parses the key and the resource version of an object.
pub(crate) fn head(object: &RawValue) -> Result<Head, Problem> {
    let WireObject { metadata } = of(object)?;
    let key = (
        metadata.namespace.unwrap_or_default(),
        metadata.name.unwrap_or_default(),
    );
    Ok(Head {
        key,
        version: metadata.resource_version,
    })
}
