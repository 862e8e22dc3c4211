//! The route that lists records of the audit log.

use axum::extract::State;
use drover_api::rest::{AuditList, AuditOutcome};
use jiff::Timestamp;
use serde::Deserialize;

use super::RestState;
use drover_access::verb::Verb;
use drover_audit::{Filter, PageRequest, PositionError, Verbs};
use drover_http_edge::body::Query;
use drover_http_edge::status::Status;
use drover_identity::caller::Administrator;

/// Default and maximum number of records on a page.
const MAX_RECORDS: usize = 500;

/// Query parameters that filter the records of the audit log.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditQuery {
    /// Number of records on the page: 1 to 500. The default is 500.
    limit: Option<usize>,
    /// Value of `continue` in the response with the previous page.
    #[serde(rename = "continue")]
    continue_token: Option<String>,
    /// Name of the user who sent the request.
    user: Option<String>,
    /// Name of the cluster to which the request was sent.
    cluster: Option<String>,
    /// A verb such as `get`, `list`, `watch` or `create`, or `changes` for all verbs that change
    /// objects.
    verb: Option<String>,
    /// Outcome of the request: `open`, `complete`, `refused`, `clientGone`, `upstreamGone` or
    /// `revoked`.
    outcome: Option<String>,
    /// HTTP status code of the response.
    code: Option<u16>,
    /// Text that the path of the request contains.
    path: Option<String>,
    /// Name of the user, cluster, token or setting that the request changed.
    object: Option<String>,
    /// Start time in RFC 3339 format. The response contains only requests at or after this time.
    since: Option<String>,
    /// End time in RFC 3339 format. The response contains only requests at or before this time.
    until: Option<String>,
}

/// Lists records of the audit log, newest first.
#[utoipa::path(get, path = "/v1/audit", tag = "audit", params(AuditQuery),
    responses((status = 200, body = AuditList)))]
pub(super) async fn list(
    State(state): State<RestState>,
    Administrator(caller): Administrator,
    Query(query): Query<AuditQuery>,
) -> Result<axum::Json<AuditList>, Status> {
    let page = query.page_request()?;
    let page = state.audit.read(caller.user_uid.as_str(), page).await?;
    Ok(axum::Json(page))
}

impl AuditQuery {
    fn page_request(self) -> Result<PageRequest, Status> {
        let limit = self.limit.unwrap_or(MAX_RECORDS);
        if !(1..=MAX_RECORDS).contains(&limit) {
            return Err(Status::invalid(
                "limit",
                format!("must be 1 to {MAX_RECORDS}"),
            ));
        }
        let after = self.continue_token.as_deref();
        let after = after.map(str::parse).transpose();
        let after =
            after.map_err(|error: PositionError| Status::invalid("continue", error.to_string()))?;
        let verbs = Verb::ALL.map(|verb| (verb.as_str(), Verbs::One(verb)));
        let verbs: Vec<_> = verbs
            .into_iter()
            .chain([("changes", Verbs::Changes)])
            .collect();
        let outcomes = AuditOutcome::ALL.map(|outcome| (outcome.as_str(), outcome));
        Ok(PageRequest {
            limit,
            after,
            filter: Filter {
                verb: one_of("verb", self.verb.as_deref(), &verbs)?,
                outcome: one_of("outcome", self.outcome.as_deref(), &outcomes)?,
                since: time("since", self.since.as_deref())?,
                until: time("until", self.until.as_deref())?,
                user: self.user,
                cluster: self.cluster,
                object: self.object,
                path: self.path,
                code: self.code,
            },
        })
    }
}

fn one_of<T: Copy>(
    field: &str,
    text: Option<&str>,
    words: &[(&str, T)],
) -> Result<Option<T>, Status> {
    let Some(text) = text else { return Ok(None) };
    let found = words.iter().find(|(word, _)| *word == text);
    let found = found.map(|(_, value)| Some(*value));
    found.ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        Status::invalid(field, format!("must be one of {}", words.join(", ")))
    })
}

fn time(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, Status> {
    let time = text.map(str::parse).transpose();
    time.map_err(|_| {
        Status::invalid(
            field,
            "must be an RFC 3339 time, for example 2026-11-21T12:00:00Z",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_invalid_audit_filter_names_the_parameter() {
        let query = AuditQuery::default;
        let text = |text: &str| Some(text.to_owned());
        for (query, field) in [
            (
                AuditQuery {
                    limit: Some(501),
                    ..query()
                },
                "limit",
            ),
            (
                AuditQuery {
                    continue_token: text("x"),
                    ..query()
                },
                "continue",
            ),
            (
                AuditQuery {
                    verb: text("steal"),
                    ..query()
                },
                "verb",
            ),
            (
                AuditQuery {
                    outcome: text("ok"),
                    ..query()
                },
                "outcome",
            ),
            (
                AuditQuery {
                    since: text("yesterday"),
                    ..query()
                },
                "since",
            ),
            (
                AuditQuery {
                    until: text("12:00"),
                    ..query()
                },
                "until",
            ),
        ] {
            let status = query.page_request().unwrap_err();
            assert!(status.message().starts_with(field), "{status}");
            assert_eq!(status.code(), 422);
        }
    }
}
