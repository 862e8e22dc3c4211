//! Tests with a cluster that sends hostile responses.

use std::sync::Arc;
use std::time::Duration;

use drover_rows::protocol::{SourceState, SourceStatus, Update};
use tokio_util::sync::CancellationToken;

use crate::page_access::PageAccess;
use crate::pool::Pool;
use crate::subscription::Subscription;
use crate::testing::{FakeClusters, Hostility, credential, pods, view};

/// The memory limit of the rows in bytes.
const MEMORY: usize = 1 << 20;

/// Returns the first update of a list of the clusters `a` and `hostile`, and the update after
/// several minutes.
async fn updates(hostility: Hostility) -> (Update, Update) {
    let clusters = FakeClusters::new();
    clusters.set_user("one", Some("ann"));
    clusters.set_pods("a", &["web"]);
    clusters.set_hostile("hostile", hostility);
    let pool = Pool::over(Arc::new(clusters), MEMORY, CancellationToken::new());
    let spec = pods(&["a", "hostile"]);
    let mut list = Subscription::new(1, spec, view(), pool.reservation());
    let (credential, changed) = (credential("one"), Arc::default());
    let mut access = PageAccess::new(&pool, &credential, &changed);
    list.check(&mut access).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let (list, first) = list.update().await.unwrap();
    tokio::time::sleep(Duration::from_mins(3)).await;
    let (_ended, second) = list.update().await.unwrap();
    assert!(pool.used_memory() <= MEMORY);
    (first.unwrap().unwrap(), second.unwrap().unwrap_or_default())
}

/// Returns the states of the sources of the clusters `a` and `hostile`.
fn sources(update: &Update) -> [SourceStatus; 2] {
    update.sources.clone().unwrap().try_into().unwrap()
}

fn reason(source: &SourceStatus) -> &str {
    match &source.state {
        SourceState::Failed(problem) => &problem.reason,
        state => panic!("{state:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_that_does_not_respond_fails_and_other_clusters_are_listed() {
    let (first, last) = updates(Hostility::Silent).await;
    let [good, hostile] = sources(&first);
    assert_eq!((good.state, good.rows), (SourceState::Live, 1));
    assert_eq!(hostile.state, SourceState::Loading { expected: None });
    assert_eq!(reason(&sources(&last)[1]), "Timeout");
}

#[tokio::test(start_paused = true)]
async fn page_with_objects_above_the_size_limit_fails_and_other_clusters_are_listed() {
    let (first, last) = updates(Hostility::LargeObjects).await;
    let [good, hostile] = sources(&first);
    assert_eq!((good.state, good.rows), (SourceState::Live, 1));
    assert_eq!(hostile.rows, 0);
    // The failure can be in the first update.
    let last = if last.sources.is_some() { last } else { first };
    assert_eq!(reason(&sources(&last)[1]), "TooLarge");
}

#[tokio::test(start_paused = true)]
async fn cluster_with_many_rows_does_not_exceed_the_memory_limit() {
    let (first, _) = updates(Hostility::ManyRows).await;
    let [good, hostile] = sources(&first);
    assert_eq!(
        (good.state, good.rows, good.truncated),
        (SourceState::Live, 1, false)
    );
    assert!(hostile.rows > 1_000 && hostile.truncated, "{hostile:?}");
}
