//! Groups failing objects by the cause of the failure.

use std::sync::Arc;

use drover_rows::{Content, Row};

/// The objects that fail for one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The status that the objects have in common, such as `ImagePullBackOff`. Empty for kinds
    /// without a status column.
    pub status: String,
    /// The objects, in the order of the list.
    pub rows: Vec<Arc<Row>>,
}

/// Groups rows by their status. The most frequent cause is first.
pub fn causes(rows: impl IntoIterator<Item = Arc<Row>>) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    for row in rows {
        let status = status(&row).unwrap_or_default();
        match causes.iter_mut().find(|cause| cause.status == status) {
            Some(cause) => cause.rows.push(row),
            None => causes.push(Cause {
                status: status.to_owned(),
                rows: vec![row],
            }),
        }
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.rows.len()));
    causes
}

fn status(row: &Row) -> Option<&str> {
    let mut columns = row.columns.iter();
    let place = columns.position(|column| column.content == Content::Status)?;
    // `Init:` names the container, and not a cause of its own.
    row.cell(place)
        .map(|status| status.trim_start_matches("Init:"))
}

#[cfg(test)]
mod tests {
    use drover_rows::row::RowContent;
    use drover_rows::{Column, Columns};
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn pods_are_grouped_by_their_status_and_the_most_frequent_cause_is_first() {
        let column = |name: &str| Column::new(name.to_owned(), "string", String::new(), false);
        let columns: Columns = ["Name", "Status"].map(column).into();
        let rows = ["OOMKilled", "Init:ErrImagePull", "ErrImagePull"].map(|status| {
            let content = RowContent {
                name: "web".to_owned(),
                cells: vec!["web".to_owned(), status.to_owned()],
                ..RowContent::default()
            };
            Arc::new(Row::new(
                "a".into(),
                Arc::clone(&columns),
                content,
                Timestamp::UNIX_EPOCH,
            ))
        });
        let found = causes(rows);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.status.as_str(), it.rows.len()))
            .collect();
        assert_eq!(found, [("ErrImagePull", 2), ("OOMKilled", 1)]);
    }
}
