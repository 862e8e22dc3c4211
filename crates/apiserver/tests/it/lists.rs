//! Tests of lists: pages, selectors, resource versions, and representations.

use http::Method;
use serde_json::{Value, json};

use crate::hub::{Hub, MAPS, config_map};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

async fn with_maps(count: usize) -> Hub {
    let hub = Hub::new().await;
    for number in 0..count {
        let mut map = config_map(&format!("m{number:02}"));
        let parity = if number % 2 == 0 { "even" } else { "odd" };
        map["metadata"]["labels"] = json!({"parity": parity});
        hub.create(MAPS, map).await;
    }
    hub
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn list_pages_show_a_consistent_snapshot() {
    let hub = with_maps(5).await;
    let first = hub.get(&format!("{MAPS}?limit=2")).await.expect(200);
    assert_eq!(names(&first), ["m00", "m01"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    assert_eq!(
        (&first["kind"], &first["apiVersion"]),
        (&json!("ConfigMapList"), &json!("v1"))
    );
    assert!(first["items"][0].get("kind").is_none());
    hub.delete(&format!("{MAPS}/m02")).await.expect(200);
    hub.create(MAPS, config_map("m03a")).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = hub
        .get(&format!("{MAPS}?limit=2&continue={token}"))
        .await
        .expect(200);
    assert_eq!(names(&second), ["m02", "m03"]);
    let version = &first["metadata"]["resourceVersion"];
    assert_eq!(&second["metadata"]["resourceVersion"], version);
    let token = second["metadata"]["continue"].as_str().unwrap();
    let last = hub
        .get(&format!("{MAPS}?limit=2&continue={token}"))
        .await
        .expect(200);
    assert_eq!(names(&last), ["m04"]);
    assert!(last["metadata"].get("continue").is_none());
}

#[tokio::test]
async fn concatenated_list_pages_equal_the_unpaged_list() {
    let hub = with_maps(5).await;
    let other = "/api/v1/namespaces/other/configmaps";
    let everywhere = "/api/v1/configmaps";
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    hub.create("/api/v1/namespaces", namespace).await;
    hub.create(other, config_map("z")).await;
    for path in [MAPS, everywhere, roles, "/api/v1/namespaces"] {
        let whole = hub.get(path).await.expect(200);
        for query in ["limit=1", "limit=2", "limit=3&labelSelector=%21nothing"] {
            let (mut found, mut token) = (Vec::new(), String::new());
            loop {
                let path = format!("{path}?{query}&continue={token}");
                let page = hub.get(&path).await.expect(200);
                found.extend(names(&page).into_iter().map(str::to_owned));
                match page["metadata"]["continue"].as_str() {
                    Some(next) if !next.is_empty() => next.clone_into(&mut token),
                    _ => break,
                }
            }
            assert_eq!(found, names(&whole), "{path} {query}");
        }
    }
}

#[tokio::test]
async fn list_pages_with_selector_have_no_remaining_item_count() {
    let hub = with_maps(6).await;
    let even = hub
        .get(&format!("{MAPS}?labelSelector=parity%3Deven&limit=2"))
        .await
        .expect(200);
    assert_eq!(names(&even), ["m00", "m02"]);
    assert!(even["metadata"].get("remainingItemCount").is_none());
    let token = even["metadata"]["continue"].as_str().unwrap();
    let path = format!("{MAPS}?labelSelector=parity%3Deven&limit=2&continue={token}");
    assert_eq!(names(&hub.get(&path).await.expect(200)), ["m04"]);
    let one = hub
        .get(&format!("{MAPS}?fieldSelector=metadata.name%3Dm03"))
        .await
        .expect(200);
    assert_eq!(names(&one), ["m03"]);
    let others = hub
        .get(&format!("{MAPS}?fieldSelector=metadata.name!%3Dm03"))
        .await
        .expect(200);
    assert_eq!(names(&others).len(), 5);
    let unknown = hub.get(&format!("{MAPS}?fieldSelector=data.key%3Dx")).await;
    assert_eq!(
        unknown.message(),
        "\"data.key\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    );
    unknown.expect(400);
    hub.get(&format!("{MAPS}?labelSelector=a%3D%3D%3Db"))
        .await
        .expect(400);
}

#[tokio::test]
async fn list_at_earlier_revision_returns_the_objects_of_that_revision() {
    let hub = with_maps(2).await;
    let before = hub.get(MAPS).await.expect(200);
    let version = before["metadata"]["resourceVersion"].as_str().unwrap();
    hub.delete(&format!("{MAPS}/m00")).await.expect(200);
    let exact = format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(names(&hub.get(&exact).await.expect(200)), ["m00", "m01"]);
    let newer = format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan");
    assert_eq!(names(&hub.get(&newer).await.expect(200)), ["m01"]);
    assert_eq!(
        names(
            &hub.get(&format!("{MAPS}?resourceVersion=0"))
                .await
                .expect(200)
        ),
        ["m01"]
    );
    let future = hub.get(&format!("{MAPS}?resourceVersion=99999")).await;
    assert!(
        future
            .message()
            .starts_with("Timeout: Too large resource version: 99999, current: ")
    );
    future.expect(504);
    let odd = hub.get(&format!("{MAPS}?resourceVersion=x")).await;
    assert_eq!(
        odd.message(),
        "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: \
         parsing \"x\": invalid syntax"
    );
    odd.expect(400);
}

#[tokio::test]
async fn expired_continue_token_returns_410_with_a_new_token() {
    let hub = with_maps(4).await;
    let first = hub.get(&format!("{MAPS}?limit=2")).await.expect(200);
    hub.create(MAPS, config_map("z")).await;
    let store = hub.server.store();
    store.compact(store.revision()).await.unwrap();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let gone = hub.get(&format!("{MAPS}?limit=2&continue={token}")).await;
    let status = gone.expect(410);
    assert_eq!(status["reason"], "Expired");
    let fresh = status["metadata"]["continue"].as_str().unwrap();
    let rest = hub
        .get(&format!("{MAPS}?continue={fresh}"))
        .await
        .expect(200);
    assert_eq!(names(&rest), ["m02", "m03", "z"]);
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    let exact = format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
    let gone = hub.get(&exact).await;
    assert_eq!(
        gone.message(),
        "The resourceVersion for the provided list is too old."
    );
    gone.expect(410);
}

#[tokio::test]
async fn list_of_all_namespaces_returns_objects_of_each_namespace() {
    let hub = with_maps(1).await;
    hub.create("/api/v1/namespaces/kube-system/configmaps", config_map("s"))
        .await;
    let all = hub.get("/api/v1/configmaps").await.expect(200);
    assert_eq!(names(&all), ["m00", "s"]);
    let one = hub
        .get("/api/v1/configmaps?fieldSelector=metadata.namespace%3Dkube-system")
        .await
        .expect(200);
    assert_eq!(names(&one), ["s"]);
}

#[tokio::test]
async fn table_of_list_has_columns_and_a_row_per_object() {
    let hub = with_maps(2).await;
    let table = hub
        .call(Method::GET, MAPS)
        .header("accept", TABLE)
        .none()
        .await
        .expect(200);
    assert_eq!(
        (&table["kind"], &table["apiVersion"]),
        (&json!("Table"), &json!("meta.k8s.io/v1"))
    );
    assert_eq!(table["columnDefinitions"][0]["name"], "Name");
    assert_eq!(table["rows"][1]["cells"][0], "m01");
    assert_eq!(table["rows"][1]["object"]["kind"], "PartialObjectMetadata");
    let path = format!("{MAPS}/m00?includeObject=Object");
    let one = hub
        .call(Method::GET, &path)
        .header("accept", TABLE)
        .none()
        .await
        .expect(200);
    assert_eq!(one["rows"][0]["object"]["data"]["key"], "value");
    let path = format!("{MAPS}?includeObject=Nonsense");
    hub.call(Method::GET, &path)
        .header("accept", TABLE)
        .none()
        .await
        .expect(400);
}

#[tokio::test]
async fn list_and_get_return_partial_object_metadata_on_request() {
    let hub = with_maps(2).await;
    let list = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let found = hub
        .call(Method::GET, MAPS)
        .header("accept", list)
        .none()
        .await
        .expect(200);
    assert_eq!(found["kind"], "PartialObjectMetadataList");
    assert_eq!(found["items"][0]["kind"], "PartialObjectMetadata");
    assert!(found["items"][0].get("data").is_none());
    let one = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let path = format!("{MAPS}/m00");
    let found = hub
        .call(Method::GET, &path)
        .header("accept", one)
        .none()
        .await
        .expect(200);
    assert_eq!(found["metadata"]["name"], "m00");
    hub.call(Method::GET, MAPS)
        .header("accept", one)
        .none()
        .await
        .expect(406);
}

#[tokio::test]
async fn requests_and_responses_can_be_encoded_as_yaml() {
    let hub = Hub::new().await;
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: plain\ndata:\n  a: \"1\"\n";
    let created = hub
        .call(Method::POST, MAPS)
        .header("content-type", "application/yaml")
        .send_text(body)
        .await
        .expect(201);
    assert_eq!(created["data"]["a"], "1");
    let path = format!("{MAPS}/plain");
    let shown = hub
        .call(Method::GET, &path)
        .header("accept", "application/yaml")
        .none()
        .await;
    assert_eq!(shown.headers["content-type"], "application/yaml");
    assert!(shown.text.contains("name: plain"), "{}", shown.text);
}
