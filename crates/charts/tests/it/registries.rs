use aws_lc_rs::digest::{SHA256, digest};
use drover_charts::{Access, ChartRequest, Layout};

use crate::archive::chart;
use crate::site::{Reply, Site};
use crate::{basic, credential, fetcher};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn sha256(data: &[u8]) -> String {
    let digest = digest(&SHA256, data);
    let digits = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", digits.collect::<String>())
}

/// A registry with a token service, and the versions of the chart `shop/web`.
async fn registry(versions: &[&str], token_service: Option<&str>) -> Site {
    let site = Site::start().await;
    let service = token_service.unwrap_or(&site.url);
    let challenge = format!("Bearer realm=\"{service}/token\",service=\"registry\"");
    let protected = |body: Vec<u8>, kind: &str| {
        let digest = sha256(&body);
        Reply {
            headers: vec![
                ("content-type", kind.to_owned()),
                ("docker-content-digest", digest),
            ],
            authorization: Some("Bearer t1".to_owned()),
            challenge: challenge.clone(),
            ..Reply::ok(body)
        }
    };
    site.set(
        "/token",
        Reply {
            headers: vec![("content-type", "application/json".to_owned())],
            authorization: Some(basic()),
            ..Reply::ok(r#"{"token": "t1"}"#)
        },
    );
    let tags: Vec<String> = versions.iter().map(|it| format!("\"{it}\"")).collect();
    let tags = format!(r#"{{"name": "shop/web", "tags": [{}]}}"#, tags.join(","));
    site.set(
        "/v2/shop/web/tags/list",
        protected(tags.into(), "application/json"),
    );
    for version in versions {
        let (config, layer) = (
            format!(r#"{{"name":"web","version":"{version}"}}"#).into_bytes(),
            chart("web", version),
        );
        let descriptor = |kind: &str, data: &[u8]| {
            let (digest, bytes) = (sha256(data), data.len());
            format!(
                r#"{{"mediaType":"application/vnd.cncf.helm.{kind}","digest":"{digest}","size":{bytes}}}"#
            )
        };
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{},"layers":[{}]}}"#,
            descriptor("config.v1+json", &config),
            descriptor("chart.content.v1.tar+gzip", &layer),
        );
        for reference in [(*version).to_owned(), sha256(manifest.as_bytes())] {
            let path = format!("/v2/shop/web/manifests/{reference}");
            site.set(&path, protected(manifest.clone().into(), MANIFEST));
        }
        for blob in [config, layer] {
            let path = format!("/v2/shop/web/blobs/{}", sha256(&blob));
            site.set(&path, protected(blob, "application/octet-stream"));
        }
    }
    site
}

fn request(site: &Site, version: &str) -> ChartRequest {
    ChartRequest {
        chart: format!("{}/shop/web", site.url.replace("https://", "oci://")),
        version: version.to_owned(),
        access: Access {
            authorities: site.certificate.clone(),
            credential: Some(credential()),
            ..Access::default()
        },
        ..ChartRequest::default()
    }
}

#[tokio::test]
async fn newest_version_in_the_range_is_pulled_with_a_token() {
    let site = registry(&["1.0.0", "1.2.3", "2.0.0"], None).await;
    for (range, version) in [
        ("1.0.0", "1.0.0"),
        ("^1", "1.2.3"),
        ("1.2", "1.2.3"),
        ("", "2.0.0"),
    ] {
        let found = fetcher().fetch(&request(&site, range)).await.unwrap();
        assert_eq!(found.version, version, "{range}");
        let newest = fetcher().newest_version(&request(&site, range)).await;
        assert_eq!(newest.unwrap(), version, "{range}");
        assert!(found.files.contains_key("web/templates/a.yaml"));
    }
    // Only the token service receives the password.
    for (path, sent) in site.seen() {
        let is_basic = sent.is_some_and(|sent| sent.starts_with("Basic"));
        assert_eq!(is_basic, path == "/token", "{path}");
    }
    let packed = ChartRequest {
        layout: Layout::Packed,
        ..request(&site, "^1")
    };
    let found = fetcher().fetch(&packed).await.unwrap();
    assert_eq!(found.files["web-1.2.3.tgz"], chart("web", "1.2.3"));
    let missing = fetcher().fetch(&request(&site, "^3")).await.unwrap_err();
    assert!(missing.to_string().contains("^3"), "{missing}");
}

#[tokio::test]
async fn token_service_of_another_domain_does_not_receive_the_password() {
    let other = registry(&[], None).await;
    let site = registry(&["1.0.0"], Some(&other.url)).await;
    let mut request = request(&site, "1.0.0");
    request.access.authorities.push_str(&other.certificate);
    let error = fetcher().fetch(&request).await.unwrap_err().to_string();
    assert!(error.contains("other domain"), "{error}");
    assert_eq!(other.seen(), []);
}

#[tokio::test]
async fn blob_with_another_digest_is_rejected() {
    let site = registry(&["1.0.0"], None).await;
    let path = format!("/v2/shop/web/blobs/{}", sha256(&chart("web", "1.0.0")));
    site.set(&path, Reply::ok(chart("web", "1.0.1")));
    assert!(fetcher().fetch(&request(&site, "1.0.0")).await.is_err());
}
