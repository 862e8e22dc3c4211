//! Tests of shared sources.

use super::*;
use crate::testing::{FakeClusters, credential, identity, key};

fn pool(clusters: &Arc<FakeClusters>) -> Pool {
    Pool::over(
        Arc::new(Arc::clone(clusters)),
        1 << 20,
        CancellationToken::new(),
    )
}

const PODS: &str = "/k8s/clusters/a/api/v1/pods";

fn attach(pool: &Pool, session: &str) -> SourceHandle {
    let attached = pool.attach(key("a", PODS), credential(session), Arc::default());
    attached.unwrap_or_else(|problem| panic!("{problem:?}"))
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

#[tokio::test(start_paused = true)]
async fn pages_of_one_identity_share_a_list_and_a_watch() {
    let clusters = FakeClusters::new();
    clusters.set_user("one", Some("ann"));
    clusters.set_pods("a", &["web"]);
    let pool = pool(&clusters);
    let (_first, second) = (attach(&pool, "one"), attach(&pool, "two"));
    settle().await;
    assert_eq!(second.source.read(None).rows, 1);
    assert_eq!(clusters.sessions("limit=").len(), 1);
    assert_eq!(clusters.sessions("watch=true"), ["one"]);
    let mut other = key("a", PODS);
    other.identity = identity("bob");
    let other = pool
        .attach(other, credential("three"), Arc::default())
        .ok()
        .unwrap();
    assert!(!Arc::ptr_eq(&other.source, &second.source));
}

#[tokio::test(start_paused = true)]
async fn list_continues_with_the_credential_of_another_page() {
    let clusters = FakeClusters::new();
    clusters.set_user("one", Some("ann"));
    clusters.set_user("two", Some("ann"));
    clusters.set_pods("a", &["web"]);
    let pool = pool(&clusters);
    let (_first, second) = (attach(&pool, "one"), attach(&pool, "two"));
    settle().await;
    clusters.set_user("one", None);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(clusters.sessions("watch=true").last().unwrap(), "two");
    clusters.tell("a", "ADDED", "api");
    settle().await;
    assert_eq!(second.source.read(None).rows, 2);
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_immediately_are_repeated_with_growing_delays() {
    let clusters = FakeClusters::new();
    clusters.set_user("one", Some("ann"));
    clusters.set_pods("a", &["web"]);
    clusters.end_watches();
    let pool = pool(&clusters);
    let _page = attach(&pool, "one");
    tokio::time::sleep(Duration::from_mins(2)).await;
    let watches = clusters.sessions("watch=true").len();
    assert!((3..12).contains(&watches), "{watches} watches");
}

#[tokio::test(start_paused = true)]
async fn truncated_list_is_read_again_when_the_dropped_rows_fit() {
    let clusters = FakeClusters::new();
    clusters.set_user("one", Some("ann"));
    clusters.set_pods("a", &["web", "api"]);
    let stop = CancellationToken::new();
    let pool = Pool::over(Arc::new(Arc::clone(&clusters)), 640, stop);
    let page = attach(&pool, "one");
    settle().await;
    let reading = page.source.read(None);
    assert!(reading.truncated && reading.rows == 1);
    clusters.tell("a", "BOOKMARK", "");
    settle().await;
    assert_eq!(
        clusters.sessions("limit=").len(),
        1,
        "the rows do not fit yet"
    );
    clusters.set_pods("a", &["api"]);
    clusters.tell("a", "DELETED", "web");
    clusters.tell("a", "BOOKMARK", "");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let reading = page.source.read(None);
    assert!(!reading.truncated && reading.rows == 1);
}

#[tokio::test(start_paused = true)]
async fn list_appears_within_five_seconds_after_the_cluster_serves_its_kind() {
    let clusters = FakeClusters::new();
    clusters.set_user("one", Some("ann"));
    let pool = pool(&clusters);
    let page = attach(&pool, "one");
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert_eq!(page.source.read(None).rows, 0);
    clusters.set_pods("a", &["web"]);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let reading = page.source.read(None);
    assert_eq!((reading.rows, reading.columns.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn source_without_pages_ends_after_a_minute() {
    let clusters = FakeClusters::new();
    clusters.set_user("one", Some("ann"));
    clusters.set_pods("a", &["web"]);
    let pool = pool(&clusters);
    let sweeping = pool.clone();
    tokio::spawn(async move { sweeping.run().await });
    let first = attach(&pool, "one");
    settle().await;
    drop(first);
    tokio::time::sleep(IDLE.saturating_sub(Duration::from_secs(1))).await;
    let again = attach(&pool, "one");
    assert_eq!(
        again.source.read(None).rows,
        1,
        "a page that reconnects receives its rows"
    );
    assert_eq!(clusters.sessions("limit=").len(), 1);
    drop(again);
    tokio::time::sleep(IDLE + SWEEP + SWEEP).await;
    assert!(pool.0.sources.lock().is_empty());
    assert_eq!(pool.0.budget.used(), 0);
}

#[test]
fn list_path_contains_group_namespace_and_plural() {
    let list = |api_version: &str| ListSpec {
        api_version: api_version.to_owned(),
        ..crate::testing::pods(&["a"])
    };
    assert_eq!(path(&list("v1"), "a", None), PODS);
    assert_eq!(
        path(&list("apps/v1"), "a", Some("shop")),
        "/k8s/clusters/a/apis/apps/v1/namespaces/shop/pods"
    );
}
