//! Routes that list, create and delete tokens.

use std::time::Duration;

use axum::extract::State;
use drover_access::grants::Scope;
use drover_access::identity::Identity;
use drover_access::setting::{MIN_TTL, Setting};
use drover_api::ids::ClusterUid;
use drover_api::kinds::{ClusterScope, Token, TokenPurpose};
use drover_api::rest::{IssuedToken, List, Secret, TokenCreate, TokenView};
use http::StatusCode;
use jiff::Timestamp;
use kube::ResourceExt;
use secrecy::ExposeSecret as _;

use crate::RestState;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::visibility::{Visibility, created_at};
use drover_identity::caller::Caller;
use drover_identity::tokens as store;
use drover_identity::tokens::NewToken;

/// Default lifetime of a token for kubectl.
const CREDENTIAL_TTL: Duration = Duration::from_mins(15);
/// Maximum length of a token's description, in characters.
const MAX_DESCRIPTION: usize = 256;

/// Returns the view of a token, without its secret.
pub(crate) fn view(token: &Token) -> TokenView {
    TokenView {
        id: token.name_any(),
        username: token.spec.user_name.clone(),
        purpose: token.spec.purpose,
        cluster: token.spec.cluster.clone(),
        provider: token.spec.provider.as_ref().map(|it| it.name.clone()),
        description: token.spec.description.clone(),
        created_at: created_at(token),
        expires_at: token.spec.expires_at.0,
        last_used_at: token
            .status
            .as_ref()
            .and_then(|s| s.last_used_at.as_ref())
            .map(|t| t.0),
    }
}

/// Lists the caller's tokens. A caller with permission to list tokens on the hub receives the
/// tokens of all users.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", params(PageQuery),
    responses((status = 200, body = List<TokenView>)))]
pub(crate) async fn list(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<TokenView>>, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let all = visibility.may("list", "tokens", &Scope::Hub);
    let mine = |token: &Token| all || token.spec.user_uid == caller.user_uid;
    query
        .of(&state.hub.stores().tokens, mine, view)
        .map(axum::Json)
}

/// Creates a token for the caller. Only this response contains the secret.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", request_body = TokenCreate,
    responses((status = 201, body = IssuedToken)))]
pub(crate) async fn create(
    State(state): State<RestState>,
    Caller(caller): Caller,
    noted: AuditNotes,
    Json(request): Json<TokenCreate>,
) -> Result<(StatusCode, axum::Json<IssuedToken>), Status> {
    let new_token = new_token(&state, &caller, request)?;
    let user = state.hub.stores().users.by_uid(caller.user_uid.as_str());
    let user = user.ok_or_else(|| Status::not_found("User", &caller.user_name))?;
    let (secret, token) = store::create(&state.hub, &user, new_token).await?;
    noted.about(&token.name_any());
    if let Some(cluster) = &token.spec.cluster {
        noted.in_cluster(&cluster.name, Some(cluster.uid.clone()));
    }
    let token = IssuedToken {
        token: Secret::new(secret.expose_secret()),
        metadata: view(&token),
    };
    Ok((StatusCode::CREATED, axum::Json(token)))
}

/// Deletes a token. Open streams with the token end within seconds.
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "tokens",
    params(("id" = String, Path, description = "The token's ID: the part between the underscores")),
    responses((status = 204)))]
pub(crate) async fn delete(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(id): Name,
) -> Result<StatusCode, Status> {
    let token = state.hub.stores().tokens.by_name(&id);
    // Require the permission that kubectl requires to delete the token on the hub.
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let (grants, holder) = (visibility.grants(), visibility.rights_holder());
    let any = grants.may(holder, "delete", "tokens", &id, &Scope::Hub);
    let token = token
        .filter(|token| any || token.spec.user_uid == caller.user_uid)
        .ok_or_else(|| Status::not_found("Token", &id))?;
    store::delete(&state.hub, &token).await?;
    state
        .provider_logouts
        .revoke_provider_tokens(&token.spec.user_uid);
    Ok(StatusCode::NO_CONTENT)
}

fn new_token(
    state: &RestState,
    caller: &Identity,
    request: TokenCreate,
) -> Result<NewToken, Status> {
    let default_ttl = match request.purpose {
        TokenPurpose::Api => state.settings.ttl(Setting::TokenDefaultTtl),
        TokenPurpose::Kubeconfig => state.settings.ttl(Setting::KubeconfigTokenTtl),
        TokenPurpose::Credential => CREDENTIAL_TTL,
        TokenPurpose::Session | TokenPurpose::Browser | TokenPurpose::PasswordChange => {
            return Err(Status::invalid(
                "purpose",
                "must be Api, Kubeconfig or Credential",
            ));
        }
    };
    if request
        .description
        .as_deref()
        .is_some_and(|text| text.chars().count() > MAX_DESCRIPTION)
    {
        return Err(Status::invalid(
            "description",
            "must have at most 256 characters",
        ));
    }
    let requested = request.ttl_seconds.map(Duration::from_secs);
    Ok(NewToken {
        idle: None,
        purpose: request.purpose,
        cluster: request
            .cluster
            .map(|name| scope(state, caller, &name))
            .transpose()?,
        provider: caller.token.provider.clone(),
        description: request.description,
        expires_at: expiry(
            Timestamp::now(),
            requested,
            default_ttl,
            state.settings.ttl(Setting::TokenMaxTtl),
            caller,
        )?,
    })
}

/// Returns the expiry time of a new token. A session can create tokens that expire later than the
/// session. An API token cannot create tokens that expire later than the API token, so that a
/// stolen token expires.
pub(crate) fn expiry(
    now: Timestamp,
    requested: Option<Duration>,
    default_ttl: Duration,
    longest: Duration,
    caller: &Identity,
) -> Result<Timestamp, Status> {
    let ends_with_caller = !matches!(
        caller.token.purpose,
        TokenPurpose::Session | TokenPurpose::Browser
    );
    let Some(requested) = requested else {
        let end = now + default_ttl.min(longest);
        return Ok(if ends_with_caller {
            end.min(caller.token.expires_at)
        } else {
            end
        });
    };
    if requested < MIN_TTL || requested > longest {
        return Err(Status::invalid(
            "ttlSeconds",
            format!("must be {} to {}", MIN_TTL.as_secs(), longest.as_secs()),
        ));
    }
    let end = now + requested;
    if ends_with_caller && end > caller.token.expires_at {
        return Err(Status::invalid(
            "ttlSeconds",
            "a token cannot expire after the token that creates it; log in or request a shorter time",
        ));
    }
    Ok(end)
}

/// Returns the cluster to which a token is limited.
pub(crate) fn scope(
    state: &RestState,
    caller: &Identity,
    name: &str,
) -> Result<ClusterScope, Status> {
    if name == drover_api::group::LOCAL_CLUSTER {
        return Err(Status::invalid(
            "cluster",
            "a token cannot be limited to the hub (\"local\"); select a managed cluster or omit the cluster",
        ));
    }
    let cluster = Visibility::of(state.hub.stores(), caller).cluster(name)?;
    Ok(ClusterScope {
        name: name.to_owned(),
        uid: ClusterUid::new(cluster.uid().unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use drover_access::identity::TokenLimits;
    use drover_api::ids::UserUid;

    use super::*;

    fn caller(purpose: TokenPurpose, ends: i64) -> Identity {
        Identity {
            user_uid: UserUid::new("u"),
            user_name: "ann".to_owned(),
            display_name: None,
            administrator: false,
            groups: Vec::new(),
            token: TokenLimits {
                id: "t".to_owned(),
                purpose,
                cluster: None,
                provider: None,
                expires_at: Timestamp::from_second(ends).unwrap(),
            },
        }
    }

    #[test]
    fn token_expiry_is_limited_by_settings_and_the_creating_token() {
        use TokenPurpose::{Api, Session};
        let (default_ttl, longest) = (Duration::from_secs(1000), Duration::from_secs(5000));
        for (purpose, requested, expected) in [
            (Session, None, Some(1000)),
            (Session, Some(5000), Some(5000)),
            (Session, Some(5001), None),
            (Session, Some(59), None),
            (Session, Some(0), None),
            (Session, Some(u64::MAX), None),
            (Api, None, Some(500)),
            (Api, Some(500), Some(500)),
            (Api, Some(501), None),
        ] {
            let requested = requested.map(Duration::from_secs);
            let caller = caller(purpose, 500);
            let got = expiry(
                Timestamp::UNIX_EPOCH,
                requested,
                default_ttl,
                longest,
                &caller,
            );
            assert_eq!(
                got.ok().map(Timestamp::as_second),
                expected,
                "{purpose:?} {requested:?}"
            );
        }
    }
}
