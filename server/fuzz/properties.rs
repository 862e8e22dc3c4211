//! Properties that are true for any input. The fuzzer checks the properties with random input.
//! `cargo test` checks the properties with the corpus.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_access::admission::{self, AdmissionContext, Operation};
use drover_agent_gateway::registration::connect::read_proof;
use drover_api::agent::PROOF_HEADER;
use drover_api::group::GROUP;
use drover_api::report::Report;
use drover_audit::Position;
use drover_controllers::agent_status::{Lines, ReportedStatus};
use drover_http_edge::listen::proxied;
use drover_http_edge::networks::TrustedProxies;
use drover_hub::admission::review;
use http::{HeaderMap, HeaderValue};

/// Parses the report of a hostile agent in chunks of any size. Checks that no line exceeds the
/// maximum length, and that the result contains the reported Kubernetes version.
pub(crate) fn report(bytes: &[u8]) {
    let (mut lines, mut heard) = (Lines::default(), ReportedStatus::default());
    let cut = bytes.first().map_or(1, |first| usize::from(*first).max(1));
    for part in bytes.chunks(cut) {
        let Ok(whole) = lines.push(part) else { return };
        for line in whole {
            assert!(line.len() <= Lines::MAX_LENGTH && !line.contains(&b'\n'));
            if let Ok(report) = serde_json::from_slice::<Report>(&line) {
                let version = report.kubernetes_version.clone();
                heard.merge(report);
                assert!(version.is_none() || heard.version == version);
            }
        }
    }
}

/// Checks that an accepted proof contains a replica name of printable characters and limited
/// length.
pub(crate) fn proof(bytes: &[u8]) {
    for value in [
        HeaderValue::from_bytes(bytes).ok(),
        STANDARD.encode(bytes).parse().ok(),
    ] {
        let Some(value) = value else { continue };
        let headers = HeaderMap::from_iter([(http::HeaderName::from_static(PROOF_HEADER), value)]);
        if let Ok(proof) = read_proof(&headers) {
            assert!((1..=253).contains(&proof.replica.len()));
            assert!(proof.replica.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}

/// Checks that an accepted position of the audit log contains only letters, digits and hyphens.
/// Also checks that the position stays equal after formatting and parsing.
pub(crate) fn position(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(position) = text.parse::<Position>() else {
        return;
    };
    assert!(
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    );
    let written = position.to_string();
    assert!(written.len() <= text.len() && written.len() <= "f--".len() + 2 * 16);
    assert_eq!(written.parse(), Ok(position));
}

/// Checks that the admission rules do not panic for any `AdmissionReview`. Also checks that the
/// rules allow every write of the server, and updates that do not change Drover's objects.
pub(crate) fn review(bytes: &[u8]) {
    let Ok(requested) = review::parse(bytes) else {
        return;
    };
    let Some(write) = requested.write() else {
        return;
    };
    for context in [
        AdmissionContext::embedded("drover:server"),
        AdmissionContext::external("system:serviceaccount:ops:drover"),
    ] {
        let needed = admission::role_needed(&write, context);
        // What is written may as well be the role that is bound.
        for role in [None, write.object, write.old] {
            let decision = admission::admit(&write, context, role);
            let concerned = context.concerns(write.writer);
            assert!(concerned || (decision.is_ok() && needed.is_none()));
            let unchanged = write.operation == Operation::Update && write.object == write.old;
            let own = write.group == GROUP && write.subresource.is_empty();
            assert!(!(own && unchanged) || decision.is_ok(), "{decision:?}");
            if let Err(refusal) = decision {
                assert!(refusal.to_string().len() > 20);
            }
        }
    }
    let itself = AdmissionContext::external(write.writer);
    assert_eq!(admission::admit(&write, itself, None), Ok(()));
}

/// Checks that any PROXY header causes no panic, and that the parsed client address is in the
/// header.
pub(crate) fn proxy_header(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<{ proxied::HEAD }>() else {
        return;
    };
    let length = proxied::rest_length(head);
    assert!(!matches!(length, Ok(length) if length > proxied::MAX_REST));
    let Ok(Some(client)) = proxied::parse(head, rest) else {
        return;
    };
    assert_eq!(length.ok(), Some(rest.len()));
    assert_eq!(client.ip(), client.ip().to_canonical());
    let named = match head[13] {
        0x11 => IpAddr::from(*rest.first_chunk::<4>().unwrap()),
        _ => IpAddr::from(*rest.first_chunk::<16>().unwrap()),
    };
    assert_eq!(client.ip(), named.to_canonical());
}

/// Checks the client address for any `X-Forwarded-For` header. The client address of an untrusted
/// peer is the address of the peer. The client address of a trusted proxy is the address that the
/// proxy appended.
pub(crate) fn forwarded(bytes: &[u8]) {
    let proxies = TrustedProxies::new(&["10.0.0.0/8".parse().unwrap()]);
    let (trusted, stranger) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([192, 0, 2, 1]));
    let headers = |value: &[u8]| {
        let value = HeaderValue::from_bytes(value).ok()?;
        let name = http::HeaderName::from_static("x-forwarded-for");
        Some(HeaderMap::from_iter([(name, value)]))
    };
    if let Some(headers) = headers(bytes) {
        assert_eq!(proxies.client(stranger, &headers), stranger);
        let _ = proxies.client(trusted, &headers);
    }
    if let Some(headers) = headers(&[bytes, b", 192.0.2.1"].concat())
        && bytes.is_ascii()
    {
        assert_eq!(proxies.client(trusted, &headers), stranger);
    }
}
