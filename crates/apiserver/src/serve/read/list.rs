//! Handlers of get and list requests.

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;

use crate::serve::answer;
use crate::serve::exchange::Exchange;
use crate::serve::input::negotiate::{Format, Representation, Transforms, accepted};
use crate::serve::input::options::{ListOptions, VersionMatch};
use crate::serve::input::query::parse_resource_version;
use crate::serve::limits::heavy::WorkCost;
use crate::serve::read::page::Position;
use crate::serve::read::selection::Selection;
use crate::serve::shared::Target;
use crate::serve::transform::{self, ListMeta};
use crate::status::ApiError;
use crate::store::{At, List, ListError, Page, Rest, Stored};

/// Number of objects per read of the store while selectors filter the list.
const CHUNK: usize = 2000;

/// Responds to a get request for one object.
pub(crate) async fn get(exchange: &Exchange, target: &Target) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::Allowed)?;
    let version = parse_resource_version(&exchange.query.text("resourceVersion"))
        .map_err(|reason| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", reason))?;
    check_not_future(exchange, version)?;
    let store = &exchange.shared.store;
    let stored = store.get(&target.key()).await.map_err(ApiError::internal)?;
    let stored = stored.ok_or_else(|| target.not_found())?;
    let reads = &exchange.shared.reads;
    let weight = WorkCost::of_bytes(stored.value.len());
    if accepted.format == Format::Json && accepted.shape == Representation::Plain {
        let work = || {
            let mut body = Vec::with_capacity(stored.value.len() + 64);
            let head = transform::own_head(&target.resource);
            transform::write_object(&mut body, target, &head, &stored)?;
            body.push(b'\n');
            Ok::<_, ApiError>(body)
        };
        let body = reads.run(weight, work).await?;
        let body = vec![body.into()];
        return Ok(answer::json(reads, StatusCode::OK, &exchange.headers, body).await);
    }
    let object = reads.run(weight, || target.show(&stored)).await?;
    transform::answer_object(exchange, target, StatusCode::OK, accepted, object).await
}

/// Rejects a revision in the future. The store may never reach this revision.
fn check_not_future(exchange: &Exchange, version: u64) -> Result<(), ApiError> {
    let current = exchange.shared.store.revision();
    if version > current {
        return Err(ApiError::too_large_resource_version(version, current));
    }
    Ok(())
}

/// Responds to a list request for a collection.
pub(crate) async fn list(
    exchange: &Exchange,
    target: &Target,
    options: &ListOptions,
) -> Result<Response, ApiError> {
    let accepted = accepted(&exchange.headers, Transforms::Allowed)?;
    let selection = Selection::of(target, options)?;
    if accepted.format == Format::Json
        && accepted.shape == Representation::Plain
        && selection.is_everything()
        && let Some(response) = encoded(exchange, target, &selection, options).await?
    {
        return Ok(response);
    }
    let found = find(exchange, &selection, options).await?;
    let meta = ListMeta {
        revision: found.revision,
        continue_token: found.continue_token.as_deref(),
        remaining: found.remaining,
    };
    if accepted.format == Format::Json && accepted.shape == Representation::Plain {
        let reads = &exchange.shared.reads;
        let work = || transform::write_list(target, &meta, &found.items);
        let body = reads.run(WorkCost::of_stored(&found.items), work).await?;
        let body = vec![body.into()];
        return Ok(answer::json(reads, StatusCode::OK, &exchange.headers, body).await);
    }
    transform::answer_list(exchange, target, accepted, &meta, &found.items).await
}

/// Responds with a list that the store encodes. Returns `None` if items must be parsed.
async fn encoded(
    exchange: &Exchange,
    target: &Target,
    selection: &Selection,
    options: &ListOptions,
) -> Result<Option<Response>, ApiError> {
    let Some(form) = transform::item_form(&target.resource) else {
        return Ok(None);
    };
    let start = Start::of(exchange, selection, options)?;
    let list = List {
        prefix: selection.prefix.clone(),
        after: start.after.clone(),
        limit: page_size(options),
        at: start.at,
        rest: Rest::Count,
    };
    let page = exchange.shared.store.list_encoded(list, form).await;
    let Some(page) = page.map_err(|error| refusal(error, &start, selection))? else {
        return Ok(None);
    };
    let next = page.last.as_ref().filter(|_| page.remaining > 0);
    let token = next.map(|last| continue_token(last, page.revision, selection));
    let meta = ListMeta {
        revision: page.revision,
        continue_token: token.as_deref(),
        remaining: token.as_ref().map(|_| page.remaining),
    };
    let mut body = Vec::with_capacity(page.chunks.len() + 2);
    body.push(transform::list_head(target, &meta)?.into());
    body.extend(page.chunks.iter().cloned());
    body.push(Bytes::from_static(transform::LIST_END));
    let reads = &exchange.shared.reads;
    Ok(Some(
        answer::json(reads, StatusCode::OK, &exchange.headers, body).await,
    ))
}

fn continue_token(last: &str, revision: u64, selection: &Selection) -> String {
    let position = Position {
        revision: Some(revision),
        after: last.to_owned(),
    };
    position.encode(&selection.prefix)
}

/// One page of a list, with the data for the next page.
pub(crate) struct ListResult {
    pub(crate) items: Vec<Stored>,
    pub(crate) revision: u64,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<u64>,
}

/// The start key and revision of a list.
struct Start {
    at: At,
    after: Option<String>,
    paging: bool,
}

impl Start {
    fn of(
        exchange: &Exchange,
        selection: &Selection,
        options: &ListOptions,
    ) -> Result<Self, ApiError> {
        if selection.only.is_none() && !options.continue_token.is_empty() {
            let position =
                Position::decode(&options.continue_token, &selection.prefix).map_err(|reason| {
                    ApiError::bad_request(format!("invalid continue token: {reason}"))
                })?;
            if !matches!(options.resource_version.as_str(), "" | "0") {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return Ok(Self {
                at: position.revision.map_or(At::Latest, At::Exact),
                after: Some(position.after),
                paging: true,
            });
        }
        let version = parse_resource_version(&options.resource_version).map_err(|reason| {
            ApiError::bad_request(format!("invalid resource version: {reason}"))
        })?;
        let exact = match options.version_match {
            Some(VersionMatch::Exact) => true,
            Some(VersionMatch::NotOlderThan) => false,
            // This is the legacy meaning of pages without resourceVersionMatch.
            None => options.limit.is_some() && version > 0,
        };
        if !exact {
            check_not_future(exchange, version)?;
        }
        Ok(Self {
            at: if exact {
                At::Exact(version)
            } else {
                At::Latest
            },
            after: None,
            paging: false,
        })
    }
}

impl ListResult {
    /// Returns a page without a continue token: the last page of a list.
    fn last(items: Vec<Stored>, revision: u64) -> Self {
        Self {
            items,
            revision,
            continue_token: None,
            remaining: None,
        }
    }
}

/// Returns the page size. A list at resourceVersion 0 has one page, as in kube-apiserver's watch
/// cache.
fn page_size(options: &ListOptions) -> Option<usize> {
    let any = options.resource_version == "0" && options.continue_token.is_empty();
    options.limit.filter(|_| !any)
}

/// Finds the selected objects at one revision.
pub(crate) async fn find(
    exchange: &Exchange,
    selection: &Selection,
    options: &ListOptions,
) -> Result<ListResult, ApiError> {
    let mut start = Start::of(exchange, selection, options)?;
    if let (Some(key), At::Latest) = (&selection.only, start.at) {
        return one(exchange, selection, key).await;
    }
    let everything = selection.is_everything();
    let limit = page_size(options);
    let mut picking = Filtering {
        selection,
        limit,
        items: Vec::new(),
    };
    loop {
        let list = List {
            prefix: selection.only.as_ref().unwrap_or(&selection.prefix).clone(),
            after: start.after.clone(),
            limit: if everything { limit } else { Some(CHUNK) },
            at: start.at,
            rest: if everything { Rest::Count } else { Rest::Peek },
        };
        let page = exchange.shared.store.list(list).await;
        let page = page.map_err(|error| refusal(error, &start, selection))?;
        start.at = At::Exact(page.revision);
        let revision = page.revision;
        let weight = if everything {
            WorkCost::Light
        } else {
            WorkCost::of_stored(&page.items)
        };
        let picked = exchange.shared.reads.run(weight, || picking.take(page));
        match picked.await? {
            FilterState::Enough { remaining } => {
                return Ok(page_of(picking.items, revision, remaining, selection));
            }
            FilterState::All => return Ok(ListResult::last(picking.items, revision)),
            FilterState::More { after } => start.after = Some(after),
        }
    }
}

/// Filters pages of the store with selectors.
struct Filtering<'s> {
    selection: &'s Selection,
    limit: Option<usize>,
    items: Vec<Stored>,
}

/// The result of filtering one page of the store.
enum FilterState {
    /// The page is full, and `remaining` objects were not examined.
    Enough { remaining: u64 },
    /// The store has more objects after this key.
    More { after: String },
    /// The store has no more objects.
    All,
}

impl Filtering<'_> {
    fn take(&mut self, page: Page) -> Result<FilterState, ApiError> {
        let everything = self.selection.is_everything();
        let mut remaining = page.items.len() as u64 + page.remaining;
        let last = page.items.last().map(|last| last.key.to_string());
        for stored in page.items {
            remaining -= 1;
            if everything || self.selection.matches(&stored)? {
                self.items.push(stored);
            }
            if self.limit.is_some_and(|limit| self.items.len() >= limit) {
                return Ok(FilterState::Enough { remaining });
            }
        }
        Ok(match last {
            Some(after) if remaining > 0 => FilterState::More { after },
            _ => FilterState::All,
        })
    }
}

/// Reads the only possible object of a selection with an exact name.
async fn one(
    exchange: &Exchange,
    selection: &Selection,
    key: &str,
) -> Result<ListResult, ApiError> {
    let store = &exchange.shared.store;
    let seen = store.revision();
    let stored = store.get(key).await.map_err(ApiError::internal)?;
    let mut items = Vec::new();
    if let Some(stored) = stored
        && selection.matches(&stored)?
    {
        items.push(stored);
    }
    let revision = items
        .iter()
        .map(|stored| stored.revision)
        .fold(seen, u64::max);
    Ok(ListResult::last(items, revision))
}

/// Returns a full page of a list. `remaining_count` is the number of later objects that the server did
/// not read.
fn page_of(
    items: Vec<Stored>,
    revision: u64,
    remaining_count: u64,
    selection: &Selection,
) -> ListResult {
    let Some(last) = items.last().filter(|_| remaining_count > 0) else {
        return ListResult::last(items, revision);
    };
    ListResult {
        continue_token: Some(continue_token(&last.key, revision, selection)),
        remaining: selection.is_everything().then_some(remaining_count),
        items,
        revision,
    }
}

/// Converts an error of the store to a response.
fn refusal(error: ListError, start: &Start, selection: &Selection) -> ApiError {
    match error {
        ListError::Compacted { .. } if start.paging => {
            let mut error = ApiError::expired(
                "The provided continue parameter is too old to display a consistent list result. \
                 You can start a new list without the continue parameter, or use the continue \
                 token in this response to retrieve the remainder of the results. Continuing with \
                 the provided token results in an inconsistent list - objects that were created, \
                 modified, or deleted between the time the first chunk was returned and now may \
                 show up in the list.",
            );
            let position = Position {
                revision: None,
                after: start.after.clone().unwrap_or_default(),
            };
            error.list_continue = Some(position.encode(&selection.prefix));
            error
        }
        ListError::Compacted { .. } => {
            ApiError::expired("The resourceVersion for the provided list is too old.")
        }
        ListError::Future { current } => match start.at {
            At::Exact(asked) => ApiError::too_large_resource_version(asked, current),
            At::Latest => ApiError::internal("the latest revision is in the future"),
        },
        ListError::Store(error) => ApiError::internal(error),
    }
}
