//! Serves requests under `/k8s/clusters/{name}/…`: runs the security checks in a fixed order, and
//! then forwards the request to the cluster or the hub.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::{IntoResponse as _, Response};
use drover_access::headers::{self, Unrepresentable};
use drover_access::identity::Principal;
use drover_access::names::KubernetesIdentity;
use drover_access::path::{ClusterName, ClusterPath};
use drover_access::permit::{Denied, Target};
use drover_api::group::LOCAL_CLUSTER;
use drover_api::ids::{ClusterUid, UserUid};
use http::header::{EXPECT, HOST, RETRY_AFTER};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Uri, Version, request};
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::open::{AbortObserver, is_in_memory};
use super::refusal::Refusal;
use super::upgrade::UpgradeRequest;
use super::{Proxy, isolation};
use crate::open::in_flight::InFlightRequest;
use crate::permits::GrantedAccess;
use drover_access::verb::Verb;
use drover_audit::{
    AuditCaller, ClusterRef, Outcome, REQUEST_ID, Record, RequestId, RequestTarget, Stage, Subject,
    short_method,
};
use drover_http_edge::listen;
use drover_http_edge::networks;
use drover_telemetry::PROXY_TARGET;

/// A request that has passed all security checks.
struct Admitted {
    access: Arc<GrantedAccess>,
    /// Path and query of the request to the API server of the cluster or hub.
    rest: PathAndQuery,
    /// Name of the cluster in the request.
    name: Arc<str>,
    upgrade: Option<UpgradeRequest>,
    /// The impersonated user (`kubectl --as`), if any.
    acting: Option<UserUid>,
}

/// A request that the proxy can forward: with impersonation headers, and without the headers that
/// are meant for Drover.
pub(super) struct UpstreamRequest {
    pub(super) head: request::Parts,
    pub(super) body: Body,
    pub(super) upgrade: Option<UpgradeRequest>,
    pub(super) name: Arc<str>,
    /// The client's `Host` header, for rewriting redirects.
    pub(super) host: Option<HeaderValue>,
    pub(super) verb: Verb,
}

impl Proxy {
    /// Serves a request whose path [`is_proxied`](super::is_proxied). Do not wrap this function in
    /// layers that read, buffer, compress or time bodies.
    pub async fn serve(&self, request: Request) -> Response {
        let began = Instant::now();
        let id = self.recorder.audit.next_id();
        let mut response = if tracing::enabled!(target: PROXY_TARGET, tracing::Level::DEBUG) {
            // Boxed, because otherwise every request reserves memory for the span's future.
            Box::pin(self.forward_in_span(request, id, began)).await
        } else {
            self.forward(request, id, began).await
        };
        response.headers_mut().insert(REQUEST_ID, id.into());
        response
    }

    async fn forward_in_span(&self, request: Request, id: RequestId, began: Instant) -> Response {
        let span = tracing::debug_span!(
            target: PROXY_TARGET,
            "request",
            otel.kind = "server",
            http.request.method = %request.method(),
            drover.request_id = %id,
            cluster.name = tracing::field::Empty,
            k8s.verb = tracing::field::Empty,
            http.response.status_code = tracing::field::Empty,
        );
        let forwarding = self.forward(request, id, began).instrument(span.clone());
        let response = forwarding.await;
        span.record("http.response.status_code", response.status().as_u16());
        response
    }

    async fn forward(&self, request: Request, id: RequestId, began: Instant) -> Response {
        let (mut head, body) = request.into_parts();
        let mut subject = subject(&head, id);
        let admitted = match self.admit(&mut head, &mut subject).await {
            Ok(admitted) => admitted,
            Err(refusal) => {
                if subject.cluster.is_none() {
                    subject.target = target(&head);
                }
                return self.refuse_without_permit(refusal, subject, began);
            }
        };
        let span = tracing::Span::current();
        span.record("cluster.name", &*admitted.name);
        span.record("k8s.verb", subject.verb.as_str());
        let verb = subject.verb;
        let stream = admitted.upgrade.is_some() || verb.is_stream(admitted.rest.query());
        let in_flight = InFlightRequest::begin(
            &self.recorder,
            (admitted.access, admitted.acting),
            subject,
            began,
            stream,
        );
        if let Some(observer) = head.extensions.remove::<AbortObserver>() {
            in_flight.set_observer(observer);
        }
        if is_in_memory(in_flight.permit(), self.hub.stores(), Timestamp::now()) {
            in_flight.seen_in_memory();
        }
        let upstream = UpstreamRequest {
            upgrade: admitted.upgrade,
            host: host(&head),
            verb,
            name: admitted.name,
            body,
            head: upstream_head(head, admitted.rest),
        };
        match self.send_on(upstream, &in_flight).await {
            Ok(response) => response,
            Err(refusal) => self.refuse_in_flight(refusal, &in_flight),
        }
    }

    /// Runs all security checks of a request in a fixed order. Each check needs the result of the
    /// previous check.
    async fn admit(
        &self,
        head: &mut request::Parts,
        subject: &mut Subject,
    ) -> Result<Admitted, Refusal> {
        // 0. Refuse a request that the audit log cannot record.
        self.recorder.audit.admit().await?;
        // 1. All URL parsers must agree on the target.
        check_host(head)?;
        let path = ClusterPath::parse(&head.uri)?;
        let name = match &path.cluster {
            ClusterName::Local => LOCAL_CLUSTER,
            ClusterName::Named(name) => name,
        };
        let cluster_name: Arc<str> = name.into();
        subject.cluster = Some(ClusterRef {
            name: Arc::clone(&cluster_name),
            uid: None,
        });
        subject.target = RequestTarget::of(path.rest.as_str());
        subject.verb = Verb::of(&head.method, path.rest.path(), path.rest.query());
        // 2. Authentication: the request has exactly one valid credential.
        let from = networks::sender(&head.extensions);
        let principal = self.authenticator.principal((&*head).into(), from).await?;
        if let Some(connection) = head.extensions.get::<listen::ConnectionSlot>() {
            connection.authenticated();
        }
        let by_session = principal.is_session();
        // 3. Authorization. The error for an unauthorized user does not reveal whether the cluster
        // exists.
        let access = self.permit(&principal, &path.cluster, name);
        subject.person = Some(match &access {
            Ok((access, _)) => access.caller.clone(),
            Err(_) => AuditCaller::from(&principal),
        });
        let (access, uid) = access?;
        if let Some(cluster) = &mut subject.cluster {
            cluster.uid = uid;
        }
        // 4. Impersonation: the target receives the user, or another user if the hub and the
        // cluster allow the impersonation.
        let acting = self.acting_as(&head.headers, &access.permit, name).await?;
        if let (Some(person), Some(acting)) = (&mut subject.person, &acting) {
            person.acting_as = Some(acting.user().to_string());
        }
        // 5. A browser must not register a service worker, and a session must not load content of
        // clusters.
        if isolation::is_for_service_worker(&head.headers) {
            return Err(Refusal::ServiceWorker);
        }
        if by_session
            && subject.verb == Verb::Proxy
            && !isolation::is_metrics_query(&head.method, path.rest.path(), &head.headers)
        {
            return Err(Refusal::SessionAtProxy);
        }
        if by_session && isolation::is_navigation(&head.headers) {
            return Err(Refusal::SessionShows);
        }
        // 6. Remove all identity headers of the client, then set Drover's identity headers.
        let upgrade = UpgradeRequest::take(head);
        headers::strip_inbound(&mut head.headers);
        impersonate(&mut head.headers, &access, acting.as_ref())?;
        Ok(Admitted {
            name: cluster_name,
            access,
            rest: path.rest,
            upgrade,
            acting: acting.map(|acting| acting.user().uid()),
        })
    }

    /// Returns the permit for the cluster with this name, and the cluster's UID. The UID is `None`
    /// for the hub.
    pub(super) fn permit(
        &self,
        principal: &Principal,
        cluster: &ClusterName,
        name: &str,
    ) -> Result<(Arc<GrantedAccess>, Option<ClusterUid>), Refusal> {
        let (target, missing) = match self.find(cluster) {
            ClusterLookup::Hub => (Target::Hub, None),
            ClusterLookup::Cluster(uid) => (Target::Cluster(uid), None),
            ClusterLookup::Deleting => (no_cluster(), Some(Refusal::Deleting(name.to_owned()))),
            ClusterLookup::Nothing => (no_cluster(), Some(Refusal::NoCluster(name.to_owned()))),
        };
        let access = self.decide(principal, &target)?;
        match (missing, target) {
            (Some(refusal), _) => Err(refusal),
            (None, Target::Hub) => Ok((access, None)),
            (None, Target::Cluster(uid)) => Ok((access, Some(uid))),
        }
    }

    /// Checks whether the user may access the cluster or hub. Recomputes the grants before a
    /// denial, because cached grants may lack a recently created binding.
    fn decide(&self, principal: &Principal, target: &Target) -> Result<Arc<GrantedAccess>, Denied> {
        let (stores, now) = (self.hub.stores(), Timestamp::now());
        let grants = stores.grants.current();
        match self.permits.decide(principal, target, &grants, now) {
            Err(Denied::NoBinding) => {
                let grants = stores.grants.fresh(stores);
                self.permits.decide(principal, target, &grants, now)
            }
            decided => decided,
        }
    }

    fn find(&self, name: &ClusterName) -> ClusterLookup {
        let ClusterName::Named(name) = name else {
            return ClusterLookup::Hub;
        };
        match self.hub.stores().clusters.by_name(name) {
            None => ClusterLookup::Nothing,
            Some(cluster) if cluster.metadata.deletion_timestamp.is_some() => {
                ClusterLookup::Deleting
            }
            Some(cluster) => cluster.uid().map_or(ClusterLookup::Nothing, |uid| {
                ClusterLookup::Cluster(ClusterUid::new(uid))
            }),
        }
    }

    /// Returns the error response to a request without a permit.
    fn refuse_without_permit(
        &self,
        refusal: Refusal,
        subject: Subject,
        began: Instant,
    ) -> Response {
        let (reason, verb) = (refusal.reason(), subject.verb);
        let unrecorded = matches!(refusal, Refusal::Unrecorded(_));
        let response = self.answer(refusal);
        self.recorder
            .metrics
            .request_ended(verb, Some(response.status()));
        // An audit log without room cannot record this refusal. Only the metrics count the refusal.
        if unrecorded {
            return response;
        }
        self.recorder.audit.add(Record {
            subject: Arc::new(subject),
            stage: Stage::End,
            outcome: Outcome::Refused,
            code: Some(response.status().as_u16()),
            reason: Some(reason),
            bytes_in: 0,
            bytes_out: 0,
            duration: began.elapsed(),
        });
        response
    }

    /// Returns the error response to a request with a permit. [`InFlightRequest`] writes the audit
    /// record.
    fn refuse_in_flight(&self, refusal: Refusal, in_flight: &InFlightRequest) -> Response {
        let reason = refusal.reason();
        let response = self.answer(refusal);
        in_flight.refused(reason, response.status());
        response
    }

    fn answer(&self, refusal: Refusal) -> Response {
        self.recorder.metrics.refused(refusal.reason());
        tracing::debug!(
            error = &refusal as &dyn std::error::Error,
            reason = refusal.reason(),
            "refused"
        );
        let repeat = refusal.invites_retry();
        let mut response = refusal.into_status().into_response();
        if !repeat {
            response.headers_mut().remove(RETRY_AFTER);
        }
        response
    }
}

/// The result of the search for a cluster by name.
enum ClusterLookup {
    Hub,
    Cluster(ClusterUid),
    Deleting,
    Nothing,
}

/// Returns a target that no binding except a binding for all clusters includes.
fn no_cluster() -> Target {
    Target::Cluster(ClusterUid::default())
}

/// Returns the complete path and query of a request, for the record of a request without a valid
/// cluster path.
fn target(head: &request::Parts) -> RequestTarget {
    let target = head.uri.path_and_query();
    RequestTarget::of(target.map_or("/", PathAndQuery::as_str))
}

fn subject(head: &request::Parts, id: RequestId) -> Subject {
    let source = head.extensions.get::<ConnectInfo<SocketAddr>>();
    Subject {
        id,
        received: Timestamp::now(),
        source: source.map(|ConnectInfo(address)| address.ip()),
        person: None,
        cluster: None,
        object: None,
        verb: Verb::Other,
        method: short_method(&head.method),
        target: RequestTarget::default(),
    }
}

/// Rejects a request with several `Host` headers, or with a URL whose host differs from the `Host`
/// header. A reverse proxy in front of this server could route by the second host.
fn check_host(head: &request::Parts) -> Result<(), Refusal> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    if second.is_some() {
        return Err(Refusal::Host);
    }
    let authority = head.uri.authority();
    let agrees = match (head.version, authority, first) {
        // The absolute form is for forward proxies (RFC 9112 section 3.2.2).
        (Version::HTTP_09 | Version::HTTP_10 | Version::HTTP_11, Some(_), _) => false,
        (_, Some(authority), Some(host)) => authority
            .as_str()
            .as_bytes()
            .eq_ignore_ascii_case(host.as_bytes()),
        _ => true,
    };
    if agrees { Ok(()) } else { Err(Refusal::Host) }
}

/// Sets the impersonation headers for the impersonated user. Without impersonation, sets the
/// headers for the user who sends the request.
fn impersonate(
    headers: &mut HeaderMap,
    access: &GrantedAccess,
    acting: Option<&KubernetesIdentity>,
) -> Result<(), Unrepresentable> {
    if let Some(identity) = acting {
        return headers::impersonate(headers, identity);
    }
    let identity = access.headers.as_ref().map_err(|error| *error)?;
    identity.set(headers);
    Ok(())
}

fn host(head: &request::Parts) -> Option<HeaderValue> {
    match head.uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => head.headers.get(HOST).cloned(),
    }
}

/// Returns the request head for the cluster or hub. Replaces the path with the path on that API
/// server, and removes the headers that are meant for Drover.
fn upstream_head(mut head: request::Parts, rest: PathAndQuery) -> request::Parts {
    head.headers.remove(HOST);
    // The server itself responds to `Expect` when it reads the body.
    head.headers.remove(EXPECT);
    head.uri = Uri::from(rest);
    head.version = Version::HTTP_2;
    head.extensions.clear();
    head
}

impl Proxy {
    async fn send_on(
        &self,
        mut upstream: UpstreamRequest,
        in_flight: &Arc<InFlightRequest>,
    ) -> Result<Response, Refusal> {
        let sending = async {
            match in_flight.permit().target() {
                // Boxed, because otherwise the future of every request reserves memory for the hub
                // request.
                Target::Hub => Box::pin(self.to_hub(upstream, in_flight)).await,
                Target::Cluster(uid) => self.to_cluster(uid, &mut upstream, in_flight).await,
            }
        };
        tokio::select! {
            biased;
            reason = in_flight.until_aborted() => Err(Refusal::Revoked(reason)),
            sent = sending => sent,
        }
    }
}
