//! Tests of the audit records of requests to the complete server.

use super::*;

/// Waits until the audit records satisfy the function `expected`.
pub(super) async fn recorded(
    server: &TestServer,
    expected: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    let reading = async {
        loop {
            let text = std::fs::read_to_string(server.folder.path().join("audit.log")).unwrap();
            let lines: Vec<Value> = text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect();
            if expected(&lines) {
                return lines;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let limit = std::time::Duration::from_secs(20);
    let read = tokio::time::timeout(limit, reading).await;
    read.expect("the audit log contains the records before the timeout")
}

#[tokio::test]
async fn audit_log_contains_caller_of_every_change_and_refusal_under_v1() {
    let server = TestServer::new();
    let admin = server.person(true, TokenPurpose::Session, None);
    let person = server.person(false, TokenPurpose::Session, None);
    let mut expected = 0;
    for route in &routes::all() {
        // The excluded routes delete the token or are for agents.
        let special = ["/v1/logout", "/v1/me/password"].contains(&&*route.path);
        let people = matches!(route.right, Right::User | Right::Administrator);
        if special || !people || !route.path.starts_with("/v1/") {
            continue;
        }
        let (code, _) = server.call(route, Some(&admin)).await;
        expected += usize::from(route.method != Method::GET);
        let refused = [401, 403, 429].contains(&code.as_u16());
        assert!(!refused, "{route:?}: {code}");
        let (code, _) = server.call(route, Some(&person)).await;
        expected += usize::from(route.method != Method::GET || code == StatusCode::FORBIDDEN);
    }
    let lines = recorded(&server, |lines| lines.len() >= expected).await;
    assert_eq!(
        lines.len(),
        expected,
        "the audit log must not contain other records: {lines:#?}"
    );
    for line in &lines {
        let (path, method) = (line["path"].as_str(), line["method"].as_str());
        let listed =
            |route: &&Route| Some(&*route.path) == path && Some(route.method.as_str()) == method;
        assert!(routes::all().iter().any(|route| listed(&route)), "{line}");
        assert_eq!(line["source"], "192.0.2.1", "{line}");
        assert!(line["code"].is_u64() && line["token"].is_string(), "{line}");
        let user = line["user"].as_str().unwrap();
        assert!(["user-0", "user-1"].contains(&user), "{line}");
    }
}

#[tokio::test]
async fn administrator_can_read_refusals_in_the_audit_log() {
    let server = TestServer::new();
    let admin = server.person(true, TokenPurpose::Session, None);
    let person = server.person(false, TokenPurpose::Session, None);
    let route = |path: &str| Route {
        method: Method::GET,
        path: path.to_owned().into(),
        right: Right::Administrator,
    };
    server.call(&route("/v1/users"), Some(&person)).await;
    server.call(&route("/v1/settings"), Some(&person)).await;
    recorded(&server, |lines| lines.len() >= 2).await;
    let page = route("/v1/audit?user=user-1&code=403&limit=1");
    let (code, body) = server.call(&page, Some(&admin)).await;
    assert_eq!(code, StatusCode::OK, "{body}");
    let (items, source) = (&body["items"], &body["source"]);
    assert_eq!(
        (&items[0]["path"], source),
        (&"/v1/settings".into(), &"file".into())
    );
    assert!(
        items[1].is_null(),
        "the page must contain one record: {body}"
    );
    let next = body["continue"].as_str().unwrap();
    let next = format!("/v1/audit?user=user-1&continue={next}");
    let (_, body) = server.call(&route(&next), Some(&admin)).await;
    assert_eq!(body["items"][0]["path"], "/v1/users", "{body}");
    assert_eq!(body["continue"], Value::Null, "{body}");
    let (code, body) = server.call(&page, Some(&person)).await;
    assert_eq!(code, StatusCode::FORBIDDEN, "{body}");
    let gone = route("/v1/audit?continue=f-1-1");
    let (code, body) = server.call(&gone, Some(&admin)).await;
    assert_eq!(
        (code, &body["reason"]),
        (StatusCode::GONE, &"Expired".into())
    );
}

#[tokio::test]
async fn audit_record_of_failed_login_excludes_the_entered_text() {
    let server = TestServer::new();
    server.person(false, TokenPurpose::Session, None);
    for name in ["user-0", "hunter2-hunter2"] {
        let request = Request::post("/v1/login")
            .header(CONTENT_TYPE, "application/json")
            .extension(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 4711))))
            .body(Body::from(format!(
                r#"{{"username":"{name}","password":"hunter2-hunter2"}}"#
            )))
            .unwrap();
        let response = server.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    }
    let counted = |lines: &[Value]| lines.iter().any(|line| line["count"] == 1);
    let lines = recorded(&server, counted).await;
    assert_eq!(lines[0]["path"], "/v1/login");
    assert_eq!(
        (&lines[0]["object"], &lines[0]["user"]),
        (&"user-0".into(), &Value::Null)
    );
    assert!(!format!("{lines:?}").contains("hunter2"), "{lines:?}");
}
