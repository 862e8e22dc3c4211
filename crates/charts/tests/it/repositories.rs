use std::time::{Duration, Instant};

use drover_charts::{Access, ChartRequest, Layout, Selection};

use crate::archive::{LINK, Tar, chart, tar};
use crate::site::{Reply, Site};
use crate::{basic, credential, fetcher, fetcher_with_timeout};

/// Returns the index of a repository with the versions of the chart `web`.
fn index(entries: &[(&str, &str)]) -> String {
    let versions = entries.iter().map(|(version, url)| {
        format!("  - {{apiVersion: v2, name: web, version: {version}, urls: [\"{url}\"]}}\n")
    });
    let start = "apiVersion: v1\nentries:\n  web:\n".to_owned();
    std::iter::once(start).chain(versions).collect()
}

/// Starts a repository with the versions 1.0.0, 1.2.3 and 2.0.0 of the chart `web`.
async fn repository() -> Site {
    let site = Site::start().await;
    let versions = ["1.0.0", "2.0.0", "1.2.3"];
    let urls = versions.map(|version| (version, format!("web-{version}.tgz")));
    let entries: Vec<(&str, &str)> = urls
        .iter()
        .map(|(version, url)| (*version, &**url))
        .collect();
    site.set("/charts/index.yaml", Reply::ok(index(&entries)));
    for version in versions {
        let path = format!("/charts/web-{version}.tgz");
        site.set(&path, Reply::ok(chart("web", version)));
    }
    site
}

fn request(site: &Site, version: &str) -> ChartRequest {
    ChartRequest {
        repo: format!("{}/charts", site.url),
        chart: "web".to_owned(),
        version: version.to_owned(),
        access: Access {
            authorities: site.certificate.clone(),
            ..Access::default()
        },
        ..ChartRequest::default()
    }
}

async fn error(request: &ChartRequest) -> String {
    fetcher().fetch(request).await.unwrap_err().to_string()
}

#[tokio::test]
async fn newest_version_in_the_range_is_fetched() {
    let site = repository().await;
    for (range, version) in [
        ("1.0.0", "1.0.0"),
        ("~1.2", "1.2.3"),
        (">=1, <3", "2.0.0"),
        ("", "2.0.0"),
    ] {
        let found = fetcher().fetch(&request(&site, range)).await.unwrap();
        assert_eq!(found.version, version, "{range}");
        let paths: Vec<&String> = found.files.keys().collect();
        assert_eq!(paths, ["web/Chart.yaml", "web/templates/a.yaml"]);
    }
    site.seen();
    let version = fetcher().newest_version(&request(&site, "^1")).await;
    assert_eq!(version.unwrap(), "1.2.3");
    let paths: Vec<String> = site.seen().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/charts/index.yaml"]);
    let packed = ChartRequest {
        layout: Layout::Packed,
        ..request(&site, "^1")
    };
    let found = fetcher().fetch(&packed).await.unwrap();
    assert_eq!(found.files["web-1.2.3.tgz"], chart("web", "1.2.3"));
    assert_eq!(found.files.len(), 1);
    let direct = ChartRequest {
        chart: format!("{}/charts/web-1.0.0.tgz", site.url),
        repo: String::new(),
        ..request(&site, "")
    };
    assert_eq!(fetcher().fetch(&direct).await.unwrap().version, "1.0.0");
}

#[tokio::test]
async fn wrong_versions_certificates_and_addresses_are_rejected() {
    let site = repository().await;
    assert!(error(&request(&site, "^3")).await.contains("\"^3\""));
    // The archive has another version than the index.
    site.set("/charts/web-2.0.0.tgz", Reply::ok(chart("web", "9.9.9")));
    assert!(error(&request(&site, "^2")).await.contains("9.9.9"));
    let untrusted = ChartRequest {
        access: Access::default(),
        ..request(&site, "")
    };
    assert!(error(&untrusted).await.contains("certificate"));
    let mut insecure = untrusted;
    insecure.access.insecure_skip_tls_verify = true;
    assert!(
        fetcher()
            .fetch(&ChartRequest {
                version: "1.0.0".to_owned(),
                ..insecure
            })
            .await
            .is_ok()
    );
    for (address, reason) in [
        ("file:///etc/passwd", "\"file\""),
        ("https://169.254.169.254/chart.tgz", "link-local"),
        ("https://[fe80::1]/chart.tgz", "link-local"),
        ("https://[::ffff:169.254.169.254]/chart.tgz", "link-local"),
        ("http://0.0.0.0/chart.tgz", "link-local"),
        ("oci://169.254.169.254/chart", "link-local"),
    ] {
        let request = ChartRequest {
            chart: address.to_owned(),
            version: "1.0.0".to_owned(),
            ..ChartRequest::default()
        };
        let error = error(&request).await;
        assert!(error.contains(reason), "{address}: {error}");
    }
}

#[tokio::test]
async fn redirects_are_limited_and_do_not_leave_https() {
    let site = repository().await;
    let archive = "/charts/web-1.0.0.tgz";
    let plain = Site::start_plain().await;
    plain.set("/web.tgz", Reply::ok(chart("web", "1.0.0")));
    site.set(archive, Reply::redirect(format!("{}/web.tgz", plain.url)));
    assert!(
        error(&request(&site, "1.0.0"))
            .await
            .contains("from https to http")
    );
    assert_eq!(plain.seen(), []);
    site.set(archive, Reply::redirect("https://169.254.169.254/"));
    assert!(error(&request(&site, "1.0.0")).await.contains("link-local"));
    site.set(archive, Reply::redirect(archive));
    assert!(
        error(&request(&site, "1.0.0"))
            .await
            .contains("5 redirects")
    );
    site.set(archive, Reply::redirect("/charts/web-1.2.3.tgz"));
    assert!(error(&request(&site, "1.0.0")).await.contains("1.2.3"));
}

#[tokio::test]
async fn password_is_sent_only_to_the_repository() {
    let site = repository().await;
    let other = Site::start_plain().await;
    other.set("/web.tgz", Reply::ok(chart("web", "1.0.0")));
    let mut request = request(&site, "1.0.0");
    request.access.credential = Some(credential());
    fetcher().fetch(&request).await.unwrap();
    let basic = Some(basic());
    assert!(site.seen().iter().all(|(_, sent)| *sent == basic));
    // The index names another host.
    let url = format!("{}/web.tgz", other.url);
    site.set("/charts/index.yaml", Reply::ok(index(&[("1.0.0", &url)])));
    fetcher().fetch(&request).await.unwrap();
    assert_eq!(other.seen(), [("/web.tgz".to_owned(), None)]);
    // The repository redirects to another host.
    let second = repository().await;
    site.set(
        "/charts/index.yaml",
        Reply::redirect(format!("{}/charts/index.yaml", second.url)),
    );
    request.access.authorities.push_str(&second.certificate);
    // Relative URLs of the index belong to the repository.
    fetcher().fetch(&request).await.unwrap();
    assert_eq!(second.seen(), [("/charts/index.yaml".to_owned(), None)]);
}

#[tokio::test]
async fn hostile_archives_are_rejected_and_affect_no_other_chart() {
    let site = repository().await;
    let fetcher = fetcher();
    let zeros = vec![0; 33 << 20];
    let many = (0..20_001).fold(tar("web", "1.0.0"), |tar, index| {
        tar.file(&format!("web/{index}"), b"")
    });
    let escaping = |path: &str| tar("web", "1.0.0").file(path, b"x").gzip();
    let link = |target: &str| {
        tar("web", "1.0.0")
            .entry("web/link", LINK, target, b"")
            .gzip()
    };
    let hard_link = tar("web", "1.0.0").entry("web/link", b'1', "/etc/passwd", b"");
    let device = tar("web", "1.0.0").entry("web/device", b'3', "", b"");
    let cut = chart("web", "1.0.0");
    for (archive, reason) in [
        (
            tar("web", "1.0.0").file("web/zeros", &zeros).gzip(),
            "bytes",
        ),
        (many.gzip(), "files"),
        (escaping("../x"), "leads out"),
        (escaping("web/../../x"), "leads out"),
        (escaping("/etc/x"), "leads out"),
        (escaping("web\\..\\x"), "leads out"),
        (link("../../etc/passwd"), "neither a file nor a folder"),
        (link("/etc/passwd"), "neither a file nor a folder"),
        (hard_link.gzip(), "neither a file nor a folder"),
        (device.gzip(), "neither a file nor a folder"),
        (b"no archive".to_vec(), "unpack"),
        (cut[..cut.len() / 2].to_vec(), "unpack"),
        (Tar::default().file("a/x", b"").gzip(), "Chart.yaml"),
        (
            tar("web", "1.0.0").file("b/Chart.yaml", b"").gzip(),
            "Chart.yaml",
        ),
        (tar("web", "../1").gzip(), "invalid name or version"),
        (vec![0; 33 << 20], "larger than"),
    ] {
        site.set("/charts/web-1.0.0.tgz", Reply::ok(archive));
        let error = fetcher.fetch(&request(&site, "1.0.0")).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{reason}: {error}");
        assert!(error.is_permanent(), "{error:?}");
    }
    assert!(fetcher.fetch(&request(&site, "2.0.0")).await.is_ok());
}

#[tokio::test]
async fn huge_and_invalid_indexes_are_rejected() {
    let site = repository().await;
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
                g: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
    for (index, reason) in [
        (vec![b'#'; (64 << 20) + 1], "larger than"),
        (bomb.as_bytes().to_vec(), "index"),
        (b"entries: {web: [null, {}]}".to_vec(), "\"1.0.0\""),
        (b"entries: {web: [{version: 1.0.0}]}".to_vec(), "no URL"),
        (b"[".to_vec(), "index"),
        (b"entries: {}".to_vec(), "\"1.0.0\""),
    ] {
        site.set("/charts/index.yaml", Reply::ok(index));
        let error = error(&request(&site, "1.0.0")).await;
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[tokio::test]
async fn server_without_an_answer_ends_the_request_after_the_timeout() {
    let site = repository().await;
    let hangs = Reply {
        hangs: true,
        ..Reply::default()
    };
    site.set("/charts/index.yaml", hangs);
    let start = Instant::now();
    let fetcher = fetcher_with_timeout(Duration::from_secs(1));
    let error = fetcher.fetch(&request(&site, "1.0.0")).await.unwrap_err();
    assert!(error.to_string().contains('1'), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn newest_versions_of_several_charts_need_one_download_of_the_index() {
    let site = Site::start().await;
    let index = "entries:\n  web:\n  - {name: web, version: 1.2.0}\n  - {name: web, version: 2.0.0}\n  db:\n  - {name: db, version: 1.0.0}\n";
    site.set("/index.yaml", Reply::ok(index));
    let request = ChartRequest {
        repo: site.url.clone(),
        access: Access {
            authorities: site.certificate.clone(),
            ..Access::default()
        },
        ..ChartRequest::default()
    };
    let selections = [("web", "^1"), ("web", ""), ("db", "^2"), ("none", "")];
    let selections = selections.map(|(chart, version)| Selection {
        chart: chart.to_owned(),
        version: version.to_owned(),
    });
    let found = fetcher().newest_versions(&request, &selections).await;
    let found = found.unwrap();
    let versions: Vec<_> = found.iter().map(|it| it.as_deref().ok()).collect();
    assert_eq!(versions, [Some("1.2.0"), Some("2.0.0"), None, None]);
    for (failed, name) in [(&found[2], "db ^2"), (&found[3], "none")] {
        let error = failed.as_ref().unwrap_err();
        assert!(
            error.is_permanent() && error.to_string().contains(name),
            "{error}"
        );
    }
    assert_eq!(site.seen().len(), 1);
}

#[tokio::test]
async fn errors_are_permanent_only_if_another_attempt_has_the_same_result() {
    let site = repository().await;
    for (status, is_permanent) in [
        (401, true),
        (403, true),
        (404, true),
        (429, false),
        (503, false),
    ] {
        let reply = Reply {
            status,
            ..Reply::default()
        };
        site.set("/charts/index.yaml", reply);
        let error = fetcher().fetch(&request(&site, "")).await.unwrap_err();
        assert_eq!(error.is_permanent(), is_permanent, "{status}: {error}");
    }
    let mut closed = request(&site, "");
    closed.repo = "https://127.0.0.1:1/charts".to_owned();
    let error = fetcher().fetch(&closed).await.unwrap_err();
    assert!(!error.is_permanent(), "{error}");
}

#[tokio::test]
async fn slow_repositories_of_a_group_leave_processes_for_other_groups() {
    let (slow, fast) = (repository().await, repository().await);
    let hangs = Reply {
        hangs: true,
        ..Reply::default()
    };
    slow.set("/charts/index.yaml", hangs);
    let fetcher = std::sync::Arc::new(fetcher());
    let of_group = |site: &Site, group: &str| ChartRequest {
        group: group.to_owned(),
        ..request(site, "")
    };
    let running: Vec<_> = (0..4)
        .map(|_| {
            let (fetcher, request) = (fetcher.clone(), of_group(&slow, "slow"));
            tokio::spawn(async move { fetcher.fetch(&request).await })
        })
        .collect();
    while slow.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let request = of_group(&fast, "fast");
    let found = tokio::time::timeout(Duration::from_secs(30), fetcher.fetch(&request)).await;
    assert!(found.unwrap().is_ok());
    for task in running {
        task.abort();
    }
}
