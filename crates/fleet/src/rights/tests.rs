use std::convert::Infallible;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;

use super::*;

/// The methods and paths of requests to the hub.
type Requests = Arc<Mutex<Vec<(Method, String)>>>;

/// Returns a client of a hub that applies all objects and has no objects to delete.
fn hub() -> (Client, Requests) {
    let requests = Requests::default();
    let seen = Arc::clone(&requests);
    let service = tower::service_fn(move |request: Request<Body>| {
        let seen = Arc::clone(&seen);
        async move {
            let (parts, body) = request.into_parts();
            let deleted = parts.method == Method::DELETE;
            seen.lock()
                .push((parts.method, parts.uri.path().to_owned()));
            let (code, body) = if deleted {
                let status =
                    r#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404}"#;
                (StatusCode::NOT_FOUND, status.into())
            } else {
                (StatusCode::OK, body.collect().await.unwrap().to_bytes())
            };
            let mut response = Response::new(Full::new(body));
            *response.status_mut() = code;
            Ok::<_, Infallible>(response)
        }
    });
    (Client::new(service, "default"), requests)
}

fn contents(name: &str) -> Readable {
    Readable {
        contents: [name.to_owned()].into(),
        ..Readable::default()
    }
}

#[test]
fn empty_list_of_names_permits_nothing() {
    assert_eq!(named("", "secrets", &BTreeSet::new()), []);
    let rules = named("", "secrets", &["values".to_owned()].into());
    assert_eq!(rules[0].resource_names, Some(vec!["values".to_owned()]));
}

#[tokio::test]
async fn roles_of_a_removed_cluster_are_written_only_after_its_next_preparation() {
    const NAMESPACE: &str = "cluster-fleet-default-east";
    let (client, requests) = hub();
    let rights = Rights::new(client);
    let cluster = Key::new("fleet-default", "east");
    let writes_contents = || {
        let seen = std::mem::take(&mut *requests.lock());
        let mut written = seen.iter().filter(|(method, _)| *method == Method::PATCH);
        written.any(|(_, path)| path.ends_with(&contents_role(NAMESPACE)))
    };

    rights.remove(&cluster, NAMESPACE).await.unwrap();
    let current = || contents("a");
    rights.retain(NAMESPACE, current).await.unwrap();
    rights
        .ensure(NAMESPACE, &contents("b"), current)
        .await
        .unwrap();
    assert!(!writes_contents());

    rights.prepare(&cluster, NAMESPACE).await.unwrap();
    rights.retain(NAMESPACE, current).await.unwrap();
    assert!(writes_contents());
}

#[tokio::test]
async fn later_writes_contain_only_changed_roles_and_no_bindings() {
    const NAMESPACE: &str = "cluster-fleet-default-east";
    let (client, requests) = hub();
    let rights = Rights::new(client);
    let current = || contents("a");
    rights
        .ensure(NAMESPACE, &contents("a"), current)
        .await
        .unwrap();
    let first = std::mem::take(&mut *requests.lock());
    let bindings = first.iter().filter(|(_, path)| path.contains("bindings/"));
    assert_eq!((first.len(), bindings.count()), (4, 2));
    rights
        .ensure(NAMESPACE, &contents("b"), current)
        .await
        .unwrap();
    let later = std::mem::take(&mut *requests.lock());
    assert_eq!(later.len(), 1, "{later:?}");
    assert!(later[0].1.ends_with(&contents_role(NAMESPACE)));
}
