//! Tests of TLS, StartTLS and invalid responses.

use drover_providers::ProviderError;
use drover_providers::error::Refusal;
use tokio::net::TcpListener;

use super::fake::{
    BIND_ID, BOUND, DONE, EXTENDED, Fake, HOST, SEARCH_ID, START_TLS_ID, answer, entry,
};
use super::{DROVER, DROVER_PASSWORD, directory, field, refusal, secret, spec, unavailable};
use drover_testkit::authority::Authority;
use drover_testkit::slapd::{Slapd, person};

/// Encodes a StartTLS request, the only request that a client may send without TLS (RFC 4511
/// §4.14.1).
fn start_tls() -> Vec<u8> {
    let name = b"1.3.6.1.4.1.1466.20037";
    [
        &[0x30, 29, 2, 1, START_TLS_ID, 0x77, 24, 0x80, 22],
        &name[..],
    ]
    .concat()
}

fn contains(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|found| found == part.as_bytes())
}

#[tokio::test]
async fn server_that_strips_starttls_receives_no_bind() {
    let success = answer(START_TLS_ID, EXTENDED, 0);
    let authority = Authority::new();
    for (case, answers) in [
        ("protocolError", vec![answer(START_TLS_ID, EXTENDED, 2)]),
        (
            "unwillingToPerform",
            vec![answer(START_TLS_ID, EXTENDED, 53)],
        ),
        ("unavailable", vec![answer(START_TLS_ID, EXTENDED, 52)]),
        ("closed connection", vec![]),
        (
            "plaintext after StartTLS",
            vec![success.clone(), answer(BIND_ID, BOUND, 0)],
        ),
        (
            "bind response before the request",
            vec![[success.clone(), answer(BIND_ID, BOUND, 0)].concat()],
        ),
        (
            "another response type",
            vec![answer(START_TLS_ID, BOUND, 0)],
        ),
        (
            "response to another request",
            vec![answer(BIND_ID, EXTENDED, 0)],
        ),
        ("a notice of disconnection", vec![answer(0, EXTENDED, 52)]),
        ("bytes that abort ldap3", vec![vec![0x30, 0]]),
        (
            "not LDAP",
            vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()],
        ),
        (
            "endless message",
            vec![vec![0x30, 0x84, 0x7f, 0xff, 0xff, 0xff]],
        ),
    ] {
        let first: &[u8] = answers.first().map_or(&[], Vec::as_slice);
        let agreed = first.starts_with(&success);
        let fake = Fake::in_clear(answers).await;
        let directory = directory(&spec(&[fake.url("ldap")], &authority.pem()));
        let signed_in = directory.sign_in("jane", &secret("password of jane")).await;
        unavailable(signed_in);
        unavailable(
            directory
                .refresh("b0e1b1f4-7b4c-103e-8f0a-6d2b1c1e3a55")
                .await,
        );

        let received = fake.received();
        for secret in [DROVER, DROVER_PASSWORD, "jane"] {
            assert!(!contains(&received, secret), "{case}: {secret} was sent");
        }
        // A TLS record follows only after a successful StartTLS.
        let rest = received.strip_prefix(start_tls().as_slice()).unwrap();
        let next = if agreed {
            &[0x16, 3, 1]
        } else {
            &start_tls()[..3]
        };
        assert!(rest.starts_with(next), "{case}: {rest:x?}");
    }
}

#[tokio::test]
async fn ldap_certificate_with_unknown_ca_or_wrong_host_name_is_rejected() {
    let slapd = Slapd::with(&person("jane", ""));
    let port = slapd.ldaps().rsplit_once(':').unwrap().1.to_owned();
    let others = Authority::new().pem();
    for (server, ca_bundle) in [
        (slapd.ldaps(), others.clone()),
        (slapd.ldap(), others),
        (format!("ldaps://localhost:{port}"), slapd.authority().pem()),
    ] {
        let directory = directory(&spec(std::slice::from_ref(&server), &ca_bundle));
        let answer = directory.sign_in("jane", &secret("password of jane")).await;
        let reasons = unavailable(answer);
        assert!(reasons.contains("ldap.caBundle"), "{server}: {reasons}");
    }
}

#[tokio::test]
async fn next_ldap_server_receives_the_request_if_a_server_is_unreachable() {
    let mut slapd = Slapd::with(&person("jane", ""));
    let listener = TcpListener::bind((HOST, 0)).await.unwrap();
    let closed = format!("ldaps://{}", listener.local_addr().unwrap());
    drop(listener);
    let busy = vec![answer(BIND_ID, BOUND, 51)];
    let busy = Fake::under_tls(slapd.authority(), busy).await;
    let mut spec = super::reaching(&slapd);
    spec.servers = vec![closed, busy.url("ldaps"), slapd.ldaps()];
    let directory = directory(&spec);

    let jane = directory.sign_in("jane", &secret("password of jane")).await;
    let id = jane.unwrap().id;
    directory.refresh(&id).await.unwrap();

    slapd.stop();
    let password = secret("password of jane");
    unavailable(directory.sign_in("jane", &password).await);
    let reasons = unavailable(directory.refresh(&id).await);
    for server in &spec.servers {
        assert!(reasons.contains(server.as_str()), "{reasons}");
    }

    slapd.start();
    directory.refresh(&id).await.unwrap();
    slapd.change("dn: uid=jane,ou=people,dc=example,dc=org\nchangetype: delete\n");
    assert_eq!(refusal(directory.refresh(&id).await), Refusal::Gone);
}

#[tokio::test(start_paused = true)]
async fn ldap_server_without_response_returns_error_unavailable() {
    let listener = TcpListener::bind((HOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let authority = Authority::new();
    for scheme in ["ldap", "ldaps"] {
        let server = format!("{scheme}://{address}");
        let directory = directory(&spec(&[server], &authority.pem()));
        let answer = directory.sign_in("jane", &secret("password of jane")).await;
        unavailable(answer);
    }
}

#[tokio::test]
async fn failed_ldap_refresh_returns_an_outage_configuration_or_invalid_response_error() {
    let authority = Authority::new();
    let bound = answer(BIND_ID, BOUND, 0);
    let search = |code| vec![bound.clone(), answer(SEARCH_ID, DONE, code)];
    let entry = entry(SEARCH_ID, "uid=jane", &[]);
    // A reference of nearly the maximum response size.
    let mut reference = vec![
        0x30, 0x83, 0x0f, 0, 8, 2, 1, SEARCH_ID, 0x73, 0x83, 0x0f, 0, 0,
    ];
    reference.resize(reference.len() + 0x000f_0000, 0);
    for (answers, expected) in [
        (vec![answer(BIND_ID, BOUND, 51)], "down"),
        (vec![answer(BIND_ID, BOUND, 52)], "down"),
        (vec![answer(BIND_ID, BOUND, 53)], "down"),
        (vec![answer(0, EXTENDED, 52)], "down"),
        (vec![], "down"),
        (vec![bound.clone()], "down"),
        (vec![answer(BIND_ID, BOUND, 49)], "ldap.bindPassword"),
        (search(3), "down"),
        (search(51), "down"),
        (search(80), "down"),
        (search(32), "ldap.users.base"),
        (search(50), "ldap.users.base"),
        (search(11), "ldap.users.filter"),
        (vec![answer(BIND_ID + 1, BOUND, 0)], "invalid_response"),
        (vec![answer(BIND_ID, DONE, 0)], "invalid_response"),
        (vec![vec![0x30, 0]], "invalid_response"),
        (vec![b"220 smtp ready\r\n".to_vec()], "invalid_response"),
        (
            vec![bound.clone(), answer(SEARCH_ID, BOUND, 0)],
            "invalid_response",
        ),
        (
            vec![bound.clone(), vec![0x30, 0x83, 0xff, 0xff, 0xff]],
            "invalid_response",
        ),
        (vec![bound.clone(), entry.repeat(3)], "invalid_response"),
        (
            vec![bound.clone(), reference.repeat(40)],
            "invalid_response",
        ),
        // The base entry is missing in the result, which does not mean that the user was deleted.
        (
            vec![bound.clone(), answer(3, DONE, 0), answer(4, DONE, 0)],
            "ldap.users.base",
        ),
    ] {
        let fake = Fake::under_tls(&authority, answers.clone()).await;
        let directory = directory(&spec(&[fake.url("ldaps")], &authority.pem()));
        let answer = directory
            .refresh("b0e1b1f4-7b4c-103e-8f0a-6d2b1c1e3a55")
            .await;
        let found = match answer {
            Err(ProviderError::Unavailable { .. }) => "down",
            Err(ProviderError::InvalidResponse { .. }) => "invalid_response",
            Err(ProviderError::Misconfigured { field, .. }) => field,
            other => panic!("{expected}: {other:?}"),
        };
        let last = answers
            .last()
            .map_or(&[][..], |last| &last[..last.len().min(40)]);
        assert_eq!(found, expected, "{last:x?}");
    }
}

#[tokio::test]
async fn ldap_search_references_are_not_followed() {
    let authority = Authority::new();
    let elsewhere = Fake::in_clear(Vec::new()).await;
    let url = elsewhere.url("ldap");
    let length = u8::try_from(url.len()).unwrap();
    let mut reference = vec![
        0x30,
        length + 7,
        2,
        1,
        SEARCH_ID,
        0x73,
        length + 2,
        4,
        length,
    ];
    reference.extend(url.as_bytes());
    reference.extend(answer(SEARCH_ID, DONE, 10));
    let answers = vec![answer(BIND_ID, BOUND, 0), reference];
    let fake = Fake::under_tls(&authority, answers).await;
    let directory = directory(&spec(&[fake.url("ldaps")], &authority.pem()));
    let answer = directory.sign_in("jane", &secret("password of jane")).await;
    assert_eq!(field(answer).0, "ldap.users.base");
    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn ldap_entry_of_another_user_is_rejected() {
    let authority = Authority::new();
    let ids = [
        "b0e1b1f4-7b4c-103e-8f0a-6d2b1c1e3a55",
        "b0e1b1f4-7b4c-103e-8f0a-6d2b1c1e3a56",
    ];
    let found = [("uid", "jane"), ("entryUUID", ids[0])];
    let found = entry(SEARCH_ID, "uid=jane,ou=people", &found);
    let done = answer(SEARCH_ID, DONE, 0);
    let answers = vec![answer(BIND_ID, BOUND, 0), [found, done].concat()];
    let fake = Fake::under_tls(&authority, answers).await;
    let mut spec = spec(&[fake.url("ldaps")], &authority.pem());
    spec.groups = None;
    let directory = directory(&spec);
    assert_eq!(directory.refresh(ids[0]).await.unwrap().login, "jane");
    let other = directory.refresh(ids[1]).await;
    assert!(
        matches!(other, Err(ProviderError::InvalidResponse { .. })),
        "{other:?}"
    );
}
