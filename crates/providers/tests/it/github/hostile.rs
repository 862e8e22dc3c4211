//! Tests with a hostile GitHub server.

use secrecy::ExposeSecret as _;

use super::faults::{READ, TOKEN, down, people, says, short_timeouts};
use super::{allowed, github, github_with, message, now, outcome, sign_in};
use drover_testkit::github::world::SECRET;
use drover_testkit::github::{Fake, Fault, Identity};

#[tokio::test]
async fn token_is_sent_only_to_its_github_server() {
    // Both servers have the same certificate, so that only Drover's checks keep the token from
    // the other server.
    let identity = Identity::new();
    let fake = Fake::start_as(&identity).await;
    let evil = Fake::start_as(&identity).await;
    people(&fake);
    people(&evil);
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    let elsewhere = |path: &str| super::endpoints(&evil).web.join(path).unwrap().to_string();
    for path in &READ[1..3] {
        let next = format!("<{}>; rel=\"next\"", elsewhere(&path[1..]));
        fake.inject_fault(path, Fault::Header("link", next));
        let error = github
            .refresh(&alice.access_token, "1", now())
            .await
            .unwrap_err();
        assert_eq!(
            outcome(&error),
            "invalid_response",
            "{path}: {}",
            message(&error)
        );
        fake.clear_faults();
    }
    let outside = super::endpoints(&fake).web.join("acme/collect").unwrap();
    fake.inject_fault(
        READ[2],
        Fault::Header("link", format!("<{outside}>; rel=next")),
    );
    fake.asked();
    let error = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap_err();
    assert_eq!(outcome(&error), "invalid_response", "{}", message(&error));
    assert!(
        fake.asked()
            .iter()
            .all(|requested| requested.path.starts_with("/api/v3/user"))
    );
    fake.clear_faults();
    for status in [301, 302, 303, 307, 308] {
        for path in READ {
            let to = vec![("location", elsewhere(&path[1..]))];
            fake.inject_fault(path, Fault::Response(status, to, String::new()));
            let error = github
                .refresh(&alice.access_token, "1", now())
                .await
                .unwrap_err();
            assert_eq!(
                outcome(&error),
                "invalid_response",
                "{path}: {}",
                message(&error)
            );
            assert!(
                message(&error).contains("github.url"),
                "{}",
                message(&error)
            );
            fake.clear_faults();
        }
        let to = vec![("location", elsewhere("login/oauth/access_token"))];
        fake.inject_fault(TOKEN, Fault::Response(status, to.clone(), String::new()));
        let error = sign_in(&fake, &github, 1).await.unwrap_err();
        assert_eq!(outcome(&error), "invalid_response", "{}", message(&error));
        fake.inject_fault(
            "/api/v3/applications/",
            Fault::Response(status, to, String::new()),
        );
        let error = github.revoke(&alice.access_token, now()).await.unwrap_err();
        assert_eq!(outcome(&error), "invalid_response", "{}", message(&error));
        fake.clear_faults();
    }
    let requested = evil.asked();
    assert!(requested.is_empty(), "{requested:?}");
}

#[tokio::test]
async fn endless_github_list_is_rejected() {
    let fake = Fake::start().await;
    people(&fake);
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    let again = super::endpoints(&fake)
        .api
        .join("user/teams?page=1")
        .unwrap();
    fake.inject_fault(
        READ[2],
        Fault::Header("link", format!("<{again}>; rel=\"next\"")),
    );
    fake.asked();
    let error = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap_err();
    assert_eq!(outcome(&error), "invalid_response", "{}", message(&error));
    assert_eq!(fake.asked().len(), 100);
    fake.clear_faults();
    fake.inject_fault(READ[2], Fault::Header("link", "<https://[".to_owned()));
    let error = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap_err();
    assert_eq!(outcome(&error), "invalid_response", "{}", message(&error));
}

#[tokio::test]
async fn endless_github_response_is_rejected() {
    let fake = Fake::start().await;
    people(&fake);
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    for path in READ {
        fake.inject_fault(path, Fault::Endless);
        let before = fake.sent_bytes();
        let error = github
            .refresh(&alice.access_token, "1", now())
            .await
            .unwrap_err();
        assert_eq!(
            outcome(&error),
            "invalid_response",
            "{path}: {}",
            message(&error)
        );
        let sent = fake.sent_bytes() - before;
        // Drover reads 1 MiB; the buffers of both systems and of TLS contain more.
        assert!(sent < 64 * 1024 * 1024, "{path}: {sent} bytes");
        fake.clear_faults();
    }
}

#[tokio::test]
async fn github_errors_contain_no_secret() {
    let fake = Fake::start().await;
    people(&fake);
    let normal = github(&fake);
    let github_with = github_with(&fake, short_timeouts());
    let alice = sign_in(&fake, &normal, 1).await.unwrap();
    let token = alice.access_token.expose_secret().to_owned();
    let mut secrets = vec![SECRET.to_owned(), token.clone()];
    let mut errors = Vec::new();
    let mut faults = down();
    faults.extend([
        Fault::Response(
            200,
            vec![],
            format!(r#"{{"id":"{token}","login":"{SECRET}"}}"#),
        ),
        Fault::Response(200, vec![], format!("{token} {SECRET}")),
        Fault::Response(
            400,
            vec![],
            format!(r#"{{"error":"{SECRET}","message":"{token}"}}"#),
        ),
        Fault::Response(
            200,
            vec![],
            format!(r#"{{"access_token":"{token} {SECRET}"}}"#),
        ),
        Fault::Response(
            302,
            vec![("location", format!("https://{token}/{SECRET}"))],
            String::new(),
        ),
        Fault::Header("link", format!("<https://evil.example/{token}>; rel=next")),
        says(401, &[], &token),
    ]);
    let faults = faults.into_iter().map(|fault| (fault, &normal));
    for (fault, github) in faults.chain([(Fault::Stalls, &github_with)]) {
        for path in [READ[0], READ[2], TOKEN, "/api/v3/applications/"] {
            fake.inject_fault(path, fault.clone());
            let (query, pending) = allowed(&fake, github, 1);
            secrets.push(pending.verifier().expose_secret().to_owned());
            secrets.push(pending.state().expose_secret().to_owned());
            secrets.push(query.split('&').next().unwrap().replace("code=", ""));
            errors.extend(github.redeem(&query, &pending, now()).await.err());
            errors.extend(github.refresh(&alice.access_token, "1", now()).await.err());
            errors.extend(github.revoke(&alice.access_token, now()).await.err());
            fake.clear_faults();
            secrets.extend(fake.world().tokens.keys().cloned());
            // Restore the revoked token for the next fault.
            fake.world().tokens.insert(token.clone(), 1);
        }
    }
    assert!(errors.len() > 90, "{}", errors.len());
    let mut output: Vec<_> = errors
        .iter()
        .map(|it| format!("{} {it:?}", message(it)))
        .collect();
    output.push(format!("{normal:?} {alice:?}"));
    for text in output {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{secret}: {text}");
        }
    }
}
