//! Pagination of list responses.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drover_api::rest::List;
use kube::ResourceExt;
use serde::Deserialize;
use utoipa::IntoParams;

use drover_http_edge::status::Status;
use drover_hub::Store;

/// Default and maximum number of items on a page.
const MAX_ITEMS: usize = 500;

/// Query parameters that select a page of a list.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Number of items on the page: 1 to 500. The default is 500.
    limit: Option<usize>,
    /// Value of `continue` in the response with the previous page.
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

impl PageQuery {
    /// Returns the page that the query parameters select.
    pub(super) fn new(limit: Option<usize>, continue_token: Option<String>) -> Self {
        Self {
            limit,
            continue_token,
        }
    }

    /// Returns the page of the objects for which `filter` returns true, sorted by name.
    pub(super) fn of<K: ResourceExt, V>(
        &self,
        store: &Store<K>,
        filter: impl Fn(&K) -> bool,
        view: impl Fn(&K) -> V,
    ) -> Result<List<V>, Status> {
        let limit = self.limit.unwrap_or(MAX_ITEMS);
        if !(1..=MAX_ITEMS).contains(&limit) {
            return Err(Status::invalid(
                "limit",
                format!("must be 1 to {MAX_ITEMS}"),
            ));
        }
        let after = self.continue_token.as_deref().map(decode).transpose()?;
        let (page, more) = store.page(after.as_deref(), limit, filter);
        let last = page
            .last()
            .filter(|_| more)
            .map(|last| encode(&last.name_any()));
        Ok(List {
            items: page.iter().map(|object| view(object)).collect(),
            continue_token: last,
        })
    }
}

fn encode(name: &str) -> String {
    URL_SAFE_NO_PAD.encode(name)
}

fn decode(token: &str) -> Result<String, Status> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| {
            Status::invalid(
                "continue",
                "must be the value from the previous page; omit the parameter for the first page",
            )
        })
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::{Setting, SettingSpec};

    use super::*;
    use drover_hub::stores::store::Changed;

    #[test]
    fn list_of_ten_thousand_objects_has_twenty_pages() {
        let store = Store::new(Changed::default());
        let setting = |i| {
            Setting::new(
                &format!("s{i:05}"),
                SettingSpec {
                    value: String::new(),
                },
            )
        };
        store.replace((0..10_000).map(setting).collect());
        let mut query = PageQuery::default();
        let (mut rows, mut pages) = (Vec::new(), 0);
        loop {
            let page = query.of(&store, |_| true, ResourceExt::name_any).unwrap();
            rows.extend(page.items);
            pages += 1;
            query.continue_token = page.continue_token;
            if query.continue_token.is_none() {
                break;
            }
        }
        assert_eq!((rows.len(), pages), (10_000, 20));
        assert!(rows.is_sorted());
    }

    #[test]
    fn error_of_invalid_page_parameter_names_the_parameter() {
        let store = Store::<Setting>::new(Changed::default());
        for (limit, token, field) in [
            (Some(0), None, "limit"),
            (Some(501), None, "limit"),
            (None, Some("é"), "continue"),
        ] {
            let query = PageQuery {
                limit,
                continue_token: token.map(str::to_owned),
            };
            let status = query
                .of(&store, |_| true, ResourceExt::name_any)
                .unwrap_err();
            assert!(status.message().starts_with(field), "{status}");
        }
    }
}
