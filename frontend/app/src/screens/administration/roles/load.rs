//! API requests for roles.

use drover_api::rest::RoleCreate;
use drover_ui_core::messages::t;
use drover_ui_core::problem::{Problem, ProblemKind};
use drover_ui_core::role::Kind;
use drover_ui_core::role::conflict::changes;
use drover_ui_core::role::spec::{RoleSpec, Stored};
use drover_ui_kit::button::Button;
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;
use leptos_router::components::A;
use serde_json::Value;

use crate::session::Session;

/// The maximum number of attempts for an update. The server's status updates cause conflicts.
const MAX_ATTEMPTS: usize = 5;

/// Reads a role from the server.
pub(super) async fn read(session: Session, kind: Kind, name: &str) -> Result<Stored, Problem> {
    stored(kind, &session.get(&kind.path_of(name)).await?)
}

fn stored(kind: Kind, answer: &Value) -> Result<Stored, Problem> {
    Stored::read(kind, answer).map_err(|error| Problem::strange(&error.to_string()))
}

/// Creates a role on the server.
pub(super) async fn create(
    session: Session,
    name: String,
    spec: &RoleSpec,
) -> Result<Stored, Problem> {
    let request = RoleCreate {
        name,
        // Specs contain only strings and lists, so serialization cannot fail.
        spec: serde_json::to_value(spec).unwrap_or_default(),
    };
    let kind = spec.kind();
    stored(kind, &session.send("POST", kind.path(), &request).await?)
}

/// The result of an update.
pub(super) enum Outcome {
    /// The role is saved. The variant contains the stored role.
    Written(Stored),
    /// The server rejected the change, because a different user changed the role. The variant
    /// contains the newer version.
    Conflict(Stored),
}

/// Updates a role, based on the version that the page read.
pub(super) async fn update(
    session: Session,
    mut from: Stored,
    spec: RoleSpec,
) -> Result<Outcome, Problem> {
    let (kind, name) = (spec.kind(), from.listed.name.clone());
    for _ in 0..MAX_ATTEMPTS {
        if let Some(problem) = from.outdated() {
            return Err(problem);
        }
        match put(session, kind, &name, &spec, &from.version).await {
            Err(problem) if problem.kind == ProblemKind::Conflict => {
                let now = read(session, kind, &name).await?;
                if !changes(&from.spec, &now.spec).is_empty() {
                    return Ok(Outcome::Conflict(now));
                }
                from = now;
            }
            answer => return answer.map(Outcome::Written),
        }
    }
    Ok(Outcome::Conflict(from))
}

async fn put(
    session: Session,
    kind: Kind,
    name: &str,
    spec: &RoleSpec,
    version: &str,
) -> Result<Stored, Problem> {
    let (path, update) = (kind.path_of(name), spec.update(version));
    stored(kind, &session.send("PUT", &path, &update).await?)
}

/// Shows the reason why a role cannot be read.
#[component]
pub(super) fn RoleError(
    /// The error of the request.
    problem: Problem,
    #[prop(into)] name: Signal<String>,
    /// Sends the request again.
    #[prop(into)]
    again: Callback<()>,
) -> impl IntoView {
    let (reason, title) = match problem.kind {
        ProblemKind::NotFound => (
            EmptyReason::NotFound,
            t().roles.not_found(&name.get_untracked()),
        ),
        ProblemKind::Forbidden => (EmptyReason::NoPermission, t().roles.forbidden().to_owned()),
        ProblemKind::Offline => (
            EmptyReason::Offline,
            t().problems.offline_title().to_owned(),
        ),
        _ => (EmptyReason::Failed, t().roles.failed().to_owned()),
    };
    view! {
        <EmptyState reason=reason title=title advice=problem.message>
            <Button on_press=move |()| again.run(())>{t().buttons.try_again()}</Button>
            <A href="/roles">{t().roles.all_roles()}</A>
        </EmptyState>
    }
}
