//! The handler of `/k8s/clusters/{name}/…`: the security order, then the way to the target.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse as _, Response};
use drover_access::headers::{self, Unrepresentable};
use drover_access::identity::Principal;
use drover_access::names::KubernetesIdentity;
use drover_access::path::{ClusterName, ClusterPath};
use drover_access::permit::{self, Denied, Holder, Permit, Target};
use drover_api::group::LOCAL_CLUSTER;
use drover_api::ids::{ClusterUid, UserUid};
use http::header::{EXPECT, HOST, RETRY_AFTER};
use http::uri::PathAndQuery;
use http::{HeaderMap, Uri, Version, request};
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::open::is_in_memory;
use super::refusal::Refusal;
use super::upgrade::Wish;
use super::{Road, isolation};
use crate::open::journey::Journey;
use drover_access::verb::Verb;
use drover_audit::{
    Asked, Outcome, Person, Place, REQUEST_ID, Record, RequestId, Stage, Subject, short_method,
};
use drover_http_edge::listen;
use drover_http_edge::networks;
use drover_telemetry::ROAD_TARGET;

/// A request that has passed the security order.
struct Admitted {
    permit: Permit,
    /// The path and query that the target's API server will see.
    rest: PathAndQuery,
    /// The cluster, as the client named it.
    name: String,
    wish: Option<Wish>,
    /// Whom the person acts as, if not as themselves.
    acting: Option<UserUid>,
}

/// One request, ready to be sent on; its headers are stripped and impersonate.
pub(super) struct Onward {
    pub(super) head: request::Parts,
    pub(super) body: Body,
    pub(super) wish: Option<Wish>,
    pub(super) name: String,
    /// The client's `Host`, for redirects.
    pub(super) host: Option<String>,
    pub(super) verb: Verb,
}

pub(super) async fn handle(State(road): State<Arc<Road>>, request: Request) -> Response {
    let began = Instant::now();
    let id = road.ledger.audit.next_id();
    let mut response = if tracing::enabled!(target: ROAD_TARGET, tracing::Level::DEBUG) {
        let span = tracing::debug_span!(
            target: ROAD_TARGET,
            "request",
            otel.kind = "server",
            http.request.method = %request.method(),
            drover.request_id = %id,
            cluster.name = tracing::field::Empty,
            k8s.verb = tracing::field::Empty,
            http.response.status_code = tracing::field::Empty,
        );
        let response = road
            .travel(request, id, began)
            .instrument(span.clone())
            .await;
        span.record("http.response.status_code", response.status().as_u16());
        response
    } else {
        road.travel(request, id, began).await
    };
    response.headers_mut().insert(REQUEST_ID, id.into());
    response
}

impl Road {
    async fn travel(&self, request: Request, id: RequestId, began: Instant) -> Response {
        let (mut head, body) = request.into_parts();
        let mut subject = subject(&head, id);
        let admitted = match self.admit(&mut head, &mut subject).await {
            Ok(admitted) => admitted,
            Err(refusal) => return self.refuse_at_the_gate(refusal, subject, began),
        };
        let span = tracing::Span::current();
        span.record("cluster.name", &*admitted.name);
        span.record("k8s.verb", subject.verb.as_str());
        let verb = subject.verb;
        let stream = admitted.wish.is_some() || verb.is_stream(admitted.rest.query());
        let journey = Journey::begin(
            &self.ledger,
            (admitted.permit, admitted.acting),
            subject,
            began,
            stream,
        );
        if is_in_memory(journey.permit(), self.hub.stores(), Timestamp::now()) {
            journey.seen_in_memory();
        }
        let onward = Onward {
            wish: admitted.wish,
            host: host(&head),
            verb,
            name: admitted.name,
            body,
            head: onward_head(head, admitted.rest),
        };
        match self.send_on(onward, &journey).await {
            Ok(response) => response,
            Err(refusal) => self.refuse_under_way(refusal, &journey),
        }
    }

    /// The security order. Every request takes all of these steps, in this order, and nothing
    /// goes on without what the last of them gives.
    async fn admit(
        &self,
        head: &mut request::Parts,
        subject: &mut Subject,
    ) -> Result<Admitted, Refusal> {
        // 0. What cannot be recorded is not done.
        self.ledger.audit.admit().await?;
        // 1. One target, the same for every reader.
        check_host(head)?;
        let path = ClusterPath::parse(&head.uri)?;
        let name = match &path.cluster {
            ClusterName::Local => LOCAL_CLUSTER,
            ClusterName::Named(name) => name,
        };
        subject.place = Some(Place {
            name: name.into(),
            uid: None,
        });
        subject.target = Asked::of(path.rest.as_str());
        subject.verb = Verb::of(&head.method, path.rest.path(), path.rest.query());
        // 2. Who asks: exactly one credential, valid now.
        let from = networks::sender(&head.extensions);
        let who = self.authenticator.principal((&*head).into(), from).await?;
        subject.person = Some(Person::from(&who));
        if let Some(connection) = head.extensions.get::<listen::Place>() {
            connection.authenticated();
        }
        let by_session = who.is_session();
        // 3. Whether they may go there. Somebody who may not learns nothing about what exists.
        let (permit, uid) = self.permit(&who, &path.cluster, name)?;
        subject.place = Some(Place {
            name: name.into(),
            uid,
        });
        // 4. As whom: themselves, or somebody whom hub and cluster let them act as.
        let acting = self.acting_as(&head.headers, &permit, name).await?;
        if let (Some(person), Some(acting)) = (&mut subject.person, &acting) {
            person.acting_as = Some(acting.user().to_string());
        }
        // 5. No script may stay behind in a browser, or be sent there with a session.
        if isolation::is_for_service_worker(&head.headers) {
            return Err(Refusal::ServiceWorker);
        }
        if by_session && subject.verb == Verb::Proxy {
            return Err(Refusal::SessionAtProxy);
        }
        if by_session && isolation::is_to_be_shown(&head.headers) {
            return Err(Refusal::SessionShows);
        }
        // 6. Nothing the client says about itself goes on; our own word is the last.
        let wish = Wish::take(head);
        headers::strip_inbound(&mut head.headers);
        impersonate(&mut head.headers, &permit, acting.as_ref())?;
        Ok(Admitted {
            name: name.to_owned(),
            permit,
            rest: path.rest,
            wish,
            acting: acting.map(|acting| acting.user().uid()),
        })
    }

    /// The permit to go to the cluster of this name, and its UID unless it is the hub.
    fn permit(
        &self,
        who: &Principal,
        cluster: &ClusterName,
        name: &str,
    ) -> Result<(Permit, Option<ClusterUid>), Refusal> {
        let found = self.find(cluster);
        let target = match &found {
            Found::Hub => Target::Hub,
            Found::Cluster(uid) => Target::Cluster(uid.clone()),
            Found::Deleting | Found::Nothing => Target::Cluster(ClusterUid::default()),
        };
        let permit = self.decide(who, &target)?;
        match found {
            Found::Nothing => Err(Refusal::NoCluster(name.to_owned())),
            Found::Deleting => Err(Refusal::Deleting(name.to_owned())),
            Found::Hub => Ok((permit, None)),
            Found::Cluster(uid) => Ok((permit, Some(uid))),
        }
    }

    /// What was written just now may not be among the grants yet, so nobody is refused by old ones.
    fn decide(&self, who: &Principal, target: &Target) -> Result<Permit, Denied> {
        let (stores, now) = (self.hub.stores(), Timestamp::now());
        let grants = stores.grants.current();
        match permit::decide(who, target, &grants, now) {
            Err(Denied::NoBinding) => {
                let grants = stores.grants.fresh(stores);
                permit::decide(who, target, &grants, now)
            }
            decided => decided,
        }
    }

    fn find(&self, name: &ClusterName) -> Found {
        let ClusterName::Named(name) = name else {
            return Found::Hub;
        };
        match self.hub.stores().clusters.by_name(name) {
            None => Found::Nothing,
            Some(cluster) if cluster.metadata.deletion_timestamp.is_some() => Found::Deleting,
            Some(cluster) => cluster
                .uid()
                .map_or(Found::Nothing, |uid| Found::Cluster(ClusterUid::new(uid))),
        }
    }

    /// Answers a request that got no permit.
    fn refuse_at_the_gate(&self, refusal: Refusal, subject: Subject, began: Instant) -> Response {
        let (reason, verb) = (refusal.reason(), subject.verb);
        let unrecorded = matches!(refusal, Refusal::Unrecorded(_));
        let response = self.answer(refusal);
        self.ledger
            .metrics
            .request_ended(verb, Some(response.status()));
        // A log without room gets no record of that: only the metrics tell.
        if unrecorded {
            return response;
        }
        self.ledger.audit.add(Record {
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

    /// Answers a request that had a permit and came to nothing; its journey writes the record.
    fn refuse_under_way(&self, refusal: Refusal, journey: &Journey) -> Response {
        let reason = refusal.reason();
        let response = self.answer(refusal);
        journey.refused(reason, response.status());
        response
    }

    fn answer(&self, refusal: Refusal) -> Response {
        self.ledger.metrics.refused(refusal.reason());
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

/// What a name leads to.
enum Found {
    Hub,
    Cluster(ClusterUid),
    Deleting,
    Nothing,
}

fn subject(head: &request::Parts, id: RequestId) -> Subject {
    let target = head.uri.path_and_query();
    let source = head.extensions.get::<ConnectInfo<SocketAddr>>();
    Subject {
        id,
        received: Timestamp::now(),
        source: source.map(|ConnectInfo(address)| address.ip()),
        person: None,
        place: None,
        object: None,
        verb: Verb::Other,
        method: short_method(&head.method),
        target: Asked::of(target.map_or("/", PathAndQuery::as_str)),
    }
}

/// A request that names its host twice could be one request to us and another to somebody in
/// front of us.
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

/// Sets our own word about who asks: whoever the permit's holder acts as, or themselves.
fn impersonate(
    headers: &mut HeaderMap,
    permit: &Permit,
    acting: Option<&KubernetesIdentity>,
) -> Result<(), Unrepresentable> {
    match (acting, permit.holder()) {
        (Some(identity), _) | (None, Holder::Person { identity, .. }) => {
            headers::impersonate(headers, identity)
        }
        (None, Holder::Account(account)) => headers::impersonate_account(headers, account),
    }
}

fn host(head: &request::Parts) -> Option<String> {
    let authority = head.uri.authority().map(|a| a.as_str().to_owned());
    authority.or_else(|| Some(head.headers.get(HOST)?.to_str().ok()?.to_owned()))
}

/// The head as it goes on: the target's own path, and no header that is for us alone.
fn onward_head(mut head: request::Parts, rest: PathAndQuery) -> request::Parts {
    head.headers.remove(HOST);
    // Answered here, by reading the body.
    head.headers.remove(EXPECT);
    head.uri = Uri::from(rest);
    head.version = Version::HTTP_2;
    head.extensions.clear();
    head
}

/// The way a request goes on, and back.
impl Road {
    async fn send_on(&self, onward: Onward, journey: &Arc<Journey>) -> Result<Response, Refusal> {
        let target = journey.permit().target().clone();
        let sending = async {
            match &target {
                // Boxed: the future of each request would have room for it.
                Target::Hub => Box::pin(self.to_hub(onward, journey)).await,
                Target::Cluster(uid) => self.to_cluster(uid, onward, journey).await,
            }
        };
        tokio::select! {
            biased;
            reason = journey.until_cut() => Err(Refusal::Revoked(reason)),
            sent = sending => sent,
        }
    }
}
