use std::sync::Arc;
use std::time::Duration;

use drover_access::verb::Verb;
use drover_hub::{Hub, Keys, Stores};
use drover_telemetry::Metrics;
use http::Method;
use jiff::Timestamp;

use super::{OpenStreams, Proxy};
use drover_agent_gateway::tunnels::Tunnels;
use drover_audit::{
    Audit, AuditCaller, Capacity, Destination, Outcome, Record, RequestTarget, Stage, Subject,
};
use drover_identity::{Authenticator, LastUse};

fn record(audit: &Audit) -> Record {
    let subject = Subject {
        id: audit.next_id(),
        received: Timestamp::UNIX_EPOCH,
        source: Some([127, 0, 0, 1].into()),
        // The audit log only counts records without a user, so they would not fill the queue.
        person: Some(AuditCaller {
            name: "ann".into(),
            uid: "u".into(),
            token: None,
            acting_as: None,
        }),
        cluster: None,
        object: None,
        verb: Verb::Get,
        method: Method::GET,
        target: RequestTarget::of("/api"),
    };
    Record {
        subject: Arc::new(subject),
        stage: Stage::End,
        outcome: Outcome::Complete,
        code: Some(200),
        reason: None,
        bytes_in: 1,
        bytes_out: 2,
        duration: Duration::from_millis(3),
    }
}

#[tokio::test]
async fn rejection_for_a_full_audit_log_allocates_no_memory() {
    let full = Destination::File {
        path: "/dev/full".into(),
        max_bytes: u64::MAX,
        keep: 0,
    };
    let metrics = Metrics::new();
    let timeout = Duration::from_millis(50);
    let audit = Audit::with_limits(
        &full,
        &metrics,
        Capacity {
            records: 1,
            bytes: 1 << 20,
        },
        timeout,
    )
    .unwrap();
    let mut admitted = 0;
    while audit.admit().await.is_ok() {
        audit.add(record(&audit));
        admitted += 1;
        // The writer holds one batch and the queue holds one record.
        assert!(admitted <= 8, "the queue refuses records when it is full");
    }
    let client = kube::Client::new(
        tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::ready(Err::<http::Response<kube::client::Body>, _>(
                std::io::Error::other("no hub"),
            ))
        }),
        "default",
    );
    let hub = Hub::new(client, Stores::new(), Keys::generate().unwrap());
    let proxy = Proxy::new(
        hub.clone(),
        Authenticator::new(hub, LastUse::default()),
        Tunnels::new(&metrics),
        OpenStreams::new(),
        audit.clone(),
        metrics.clone(),
    );
    let owned = audit.waiting();
    for _ in 0..5 {
        let request = http::Request::get("/k8s/clusters/a/api").body(axum::body::Body::empty());
        let answer = proxy.serve(request.unwrap()).await;
        assert_eq!(answer.status(), 503);
    }
    assert_eq!(audit.waiting(), owned);
    let counted = metrics.encode().unwrap();
    assert!(counted.contains(r#"drover_refusals_total{reason="AuditLogFull"} 5"#));
}
