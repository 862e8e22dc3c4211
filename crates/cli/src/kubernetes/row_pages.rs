//! Lists of rows in the form that the web UI uses.

use std::sync::Arc;

use drover_rows::{Include, Row, TableReader};
use jiff::Timestamp;
use serde_json::value::RawValue;

use super::api::ClusterApi;
use super::tables::TABLE;
use crate::client::CallError;

/// Number of objects in a page.
const PAGE: &str = "500";
/// Maximum number of pages. A list with more pages does not end.
const MAX_PAGES: usize = 4_000;

/// The pages of a list of rows.
pub(crate) struct RowPages<'a> {
    api: &'a ClusterApi,
    path: Vec<String>,
    labels: Option<&'a str>,
    reader: TableReader,
    next: Option<String>,
    pages: usize,
}

impl<'a> RowPages<'a> {
    /// Returns the pages of a list. `labels` is a label selector.
    pub(crate) fn new(
        api: &'a ClusterApi,
        path: Vec<String>,
        include: Include,
        labels: Option<&'a str>,
    ) -> Self {
        Self {
            api,
            path,
            labels,
            reader: TableReader::new(include),
            next: None,
            pages: 0,
        }
    }

    /// Requests the next page. Returns `None` after the last page.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Row>>, CallError> {
        if self.pages > 0 && self.next.is_none() {
            return Ok(None);
        }
        if self.pages == MAX_PAGES {
            return Err(self.api.unreadable("the list does not end"));
        }
        let (key, value) = self.reader.include().parameter();
        let mut query = vec![("limit", PAGE.to_owned()), (key, value.to_owned())];
        query.extend(
            self.labels
                .map(|labels| ("labelSelector", labels.to_owned())),
        );
        query.extend(self.next.take().map(|token| ("continue", token)));
        let body: Box<RawValue> = self.api.get(&self.path, &query, TABLE).await?;
        let page = self.reader.page(body.get().as_bytes());
        let page = page.map_err(|error| self.api.unreadable(&error.to_string()))?;
        self.pages += 1;
        self.next = page.next;
        let rows = page.rows.into_iter().map(|(_, content)| {
            let columns = Arc::clone(self.reader.columns());
            Row::new(self.api.name().into(), columns, content, Timestamp::now())
        });
        Ok(Some(rows.collect()))
    }
}
