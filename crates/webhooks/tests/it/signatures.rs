//! Valid and invalid credentials of all providers.

use drover_webhooks::{Provider, VerifyError};

use crate::deliveries::headers;

const BODY: &[u8] = b"{\"ref\":\"refs/heads/main\"}";
/// `printf '{"ref":"refs/heads/main"}' | openssl dgst -sha256 -hmac secret`
const HMAC: &str = "d8f89f0618acd61fe621aa4e64078c0e2bca15d0b578b7f3eb734f55883c5320";

fn secret(key: &str) -> Option<&'static [u8]> {
    match key {
        "github" | "gitlab" | "bitbucket" | "bitbucket-server" | "gogs" | "azure-password" => {
            Some(b"secret")
        }
        "azure-username" => Some(b"user"),
        _ => None,
    }
}

fn signed() -> String {
    format!("sha256={HMAC}")
}

#[test]
fn valid_credentials_are_verified() {
    let signed = signed();
    for (provider, header, value) in [
        (Provider::GitHub, "x-hub-signature-256", signed.as_str()),
        (Provider::BitbucketServer, "x-hub-signature", &signed),
        (Provider::BitbucketCloud, "x-hub-signature", &signed),
        (Provider::BitbucketCloud, "x-hook-uuid", "secret"),
        (Provider::Gogs, "x-gogs-signature", HMAC),
        (Provider::Gitea, "x-gitea-signature", HMAC),
        (Provider::Gitea, "x-forgejo-signature", HMAC),
        (Provider::GitLab, "x-gitlab-token", "secret"),
        (
            Provider::AzureDevOps,
            "authorization",
            "Basic dXNlcjpzZWNyZXQ=",
        ),
        (
            Provider::AzureDevOps,
            "authorization",
            "basic dXNlcjpzZWNyZXQ=",
        ),
    ] {
        let headers = headers(&[(header, value)]);
        assert_eq!(
            provider.verify(&headers, BODY, secret),
            Ok(()),
            "{provider:?}"
        );
    }
}

#[test]
fn invalid_credentials_are_rejected() {
    let signed = signed();
    let other_digit = format!("sha256=0{}", &HMAC[1..]);
    for (provider, header, value) in [
        (Provider::GitHub, "x-hub-signature-256", HMAC),
        (
            Provider::GitHub,
            "x-hub-signature-256",
            other_digit.as_str(),
        ),
        (Provider::GitHub, "x-hub-signature-256", "sha256="),
        (Provider::GitHub, "x-hub-signature-256", "sha256=0"),
        (Provider::GitHub, "x-hub-signature-256", "sha256=zz"),
        (Provider::BitbucketServer, "x-hub-signature", "sha1=00"),
        (Provider::BitbucketCloud, "x-hub-signature", &other_digit),
        (Provider::BitbucketCloud, "x-hook-uuid", "other"),
        (Provider::Gogs, "x-gogs-signature", &signed),
        (Provider::Gitea, "x-gitea-signature", "00"),
        (Provider::GitLab, "x-gitlab-token", "secre"),
        (
            Provider::AzureDevOps,
            "authorization",
            "Basic dXNlcjpvdGhlcg==",
        ),
        (
            Provider::AzureDevOps,
            "authorization",
            "Bearer dXNlcjpzZWNyZXQ=",
        ),
        (Provider::AzureDevOps, "authorization", "Basic ="),
        (Provider::AzureDevOps, "authorization", "Basic"),
    ] {
        let headers = headers(&[(header, value)]);
        let result = provider.verify(&headers, BODY, secret);
        let is_mismatch = matches!(result, Err(VerifyError::Mismatch { .. }));
        assert!(is_mismatch, "{provider:?} {value}: {result:?}");
    }
}

#[test]
fn changed_body_is_rejected() {
    let headers = headers(&[("x-hub-signature-256", &signed())]);
    let result = Provider::GitHub.verify(&headers, b"{}", secret);
    assert!(matches!(result, Err(VerifyError::Mismatch { .. })));
}

#[test]
fn missing_headers_and_keys_are_named() {
    for provider in [
        Provider::GitHub,
        Provider::GitLab,
        Provider::BitbucketCloud,
        Provider::BitbucketServer,
        Provider::AzureDevOps,
        Provider::Gitea,
        Provider::Gogs,
    ] {
        let headers = headers(&[]);
        let error = provider.verify(&headers, BODY, secret).unwrap_err();
        assert!(
            matches!(error, VerifyError::MissingHeader { .. }),
            "{error}"
        );
        for empty in [None, Some(&b""[..])] {
            let error = provider.verify(&headers, BODY, |_| empty).unwrap_err();
            assert!(matches!(error, VerifyError::MissingKey { .. }), "{error}");
        }
    }
}

#[test]
fn key_of_gitea_has_priority_over_gogs() {
    let headers = headers(&[("x-gitea-signature", HMAC)]);
    let both = |key: &str| match key {
        "gitea" => Some(&b"other"[..]),
        key => secret(key),
    };
    assert!(Provider::Gitea.verify(&headers, BODY, both).is_err());
}

#[test]
fn errors_contain_no_secret() {
    let headers = headers(&[("x-gitlab-token", "presented-token")]);
    let error = Provider::GitLab.verify(&headers, BODY, secret).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("presented-token") && !text.contains("\"secret\""));
}
