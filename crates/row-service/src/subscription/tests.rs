//! Tests of the lists of a page.

use std::collections::HashMap;
use std::time::Duration;

use drover_rows::protocol::RowId;
use drover_rows::samples::UsageSamples;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::clusters::Credential;
use crate::pool::Pool;
use crate::testing::{FakeClusters, credential, pods, view};

struct Page {
    clusters: Arc<FakeClusters>,
    pool: Pool,
    credential: Arc<Credential>,
    changed: Arc<Notify>,
    list: Option<Subscription>,
}

impl Page {
    fn of(names: &[&str]) -> Self {
        Self::with_memory(names, 1 << 20)
    }

    fn with_memory(names: &[&str], memory: usize) -> Self {
        let clusters = FakeClusters::new();
        clusters.set_user("one", Some("ann"));
        let stop = CancellationToken::new();
        let pool = Pool::over(Arc::new(Arc::clone(&clusters)), memory, stop);
        let list = Subscription::new(1, pods(names), view(), pool.reservation());
        Self {
            pool,
            clusters,
            credential: credential("one"),
            changed: Arc::default(),
            list: Some(list),
        }
    }

    async fn check(&mut self) -> Result<(), ListProblem> {
        let list = self.list.as_mut().unwrap();
        let mut access = PageAccess::new(&self.pool, &self.credential, &self.changed);
        list.check(&mut access).await
    }

    async fn update(&mut self) -> Option<Update> {
        self.try_update().await.unwrap()
    }

    async fn try_update(&mut self) -> Result<Option<Update>, OutOfMemory> {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let list = self.list.take().unwrap();
        let (list, update) = list.update().await.unwrap();
        self.list = Some(list);
        update
    }
}

fn names(update: &Update) -> Vec<String> {
    let rows = update.rows.iter();
    rows.map(|row| format!("{}/{}", row.cluster, row.name))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn update_contains_only_changed_rows() {
    let mut page = Page::of(&["a", "b"]);
    page.clusters.set_pods("a", &["web", "api"]);
    page.clusters.set_pods("b", &["web"]);
    page.check().await.unwrap();
    let first = page.update().await.unwrap();
    assert_eq!(names(&first), ["a/api", "a/web", "b/web"]);
    assert_eq!((first.all, first.order.as_ref().unwrap().len()), (3, 3));
    assert!(first.columns.is_some() && first.sources.is_some());
    assert_eq!(page.update().await, None);
    page.clusters.tell("b", "ADDED", "db");
    let next = page.update().await.unwrap();
    assert_eq!((names(&next), next.all), (vec!["b/db".to_owned()], 4));
    assert_eq!((next.columns, next.sources.is_some()), (None, true));
    page.clusters.tell("a", "DELETED", "api");
    let next = page.update().await.unwrap();
    assert_eq!(
        (next.rows.len(), next.all, next.order.unwrap().len()),
        (0, 3, 3)
    );
}

#[tokio::test(start_paused = true)]
async fn cluster_without_a_role_is_named_and_other_clusters_are_listed() {
    let mut page = Page::of(&["a", "secret"]);
    page.clusters.set_pods("a", &["web"]);
    page.check().await.unwrap();
    let update = page.update().await.unwrap();
    assert_eq!(names(&update), ["a/web"]);
    let sources = update.sources.unwrap();
    assert_eq!(sources[0].state, SourceState::Live);
    assert!(matches!(&sources[1].state, SourceState::Failed(problem) if problem.code == 403));
}

#[tokio::test(start_paused = true)]
async fn rows_disappear_when_the_user_of_a_page_changes() {
    let mut page = Page::of(&["a"]);
    page.clusters.set_pods("a", &["web"]);
    page.check().await.unwrap();
    assert_eq!(page.update().await.unwrap().all, 1);
    // The identity of the session changes, for example because the user left a group.
    page.clusters.set_user("one", Some("bob"));
    page.clusters.set_pods("a", &[]);
    page.check().await.unwrap();
    assert_eq!(page.update().await.unwrap().all, 0);
}

#[tokio::test(start_paused = true)]
async fn ended_session_ends_the_connection_of_the_page() {
    let mut page = Page::of(&["a"]);
    page.clusters.set_pods("a", &["web"]);
    page.check().await.unwrap();
    page.clusters.set_user("one", None);
    assert_eq!(page.check().await.unwrap_err().code, 401);
}

#[tokio::test(start_paused = true)]
async fn sorted_list_of_a_page_counts_against_the_memory_limit() {
    let mut page = Page::with_memory(&["a"], 16_000);
    page.clusters.set_pods("a", &["web", "api"]);
    page.check().await.unwrap();
    assert_eq!(page.update().await.unwrap().all, 2);
    let mut other = page.pool.reservation();
    let mut second = Subscription::new(2, pods(&["a"]), view(), page.pool.reservation());
    let mut access = PageAccess::new(&page.pool, &page.credential, &page.changed);
    second.check(&mut access).await.unwrap();
    assert!((0..16_000).rev().any(|bytes| other.resize(bytes)));
    let _first = page.list.replace(second);
    assert_eq!(page.try_update().await, Err(OutOfMemory));
    assert_eq!(
        page.try_update().await,
        Ok(None),
        "the page knows the problem"
    );
    drop(other);
    assert_eq!(page.update().await.unwrap().all, 2);
}

fn usage(update: &Update) -> Vec<(&str, Option<u64>)> {
    let rows = update.rows.iter();
    rows.map(|row| (row.name.as_str(), row.usage.map(|usage| usage.cpu)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn usage_of_pods_is_joined_and_disappears_with_the_api() {
    let mut page = Page::of(&["a"]);
    page.clusters.set_pods("a", &["web", "api"]);
    page.clusters
        .set_usage("a", Some(&[("web", 250), ("other", 1)]));
    page.check().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let update = page.update().await.unwrap();
    assert_eq!(usage(&update), [("api", None), ("web", Some(250))]);
    let keys = update.columns.unwrap();
    let keys: Vec<&str> = keys.iter().map(|column| column.key.as_str()).collect();
    assert_eq!(keys, ["name", "images", "cpu-usage", "memory-usage"]);
    // A changed object keeps its usage until the next measurement.
    page.clusters
        .set_usage("a", Some(&[("web", 300), ("api", 900)]));
    tokio::time::sleep(Duration::from_secs(15)).await;
    page.list.as_mut().unwrap().set_view(ViewSpec {
        sort: "cpu-usage".to_owned(),
        ..view()
    });
    let update = page.update().await.unwrap();
    assert_eq!(update.columns, None);
    assert_eq!(usage(&update), [("web", Some(300)), ("api", Some(900))]);
    page.clusters.set_usage("a", None);
    tokio::time::sleep(Duration::from_secs(15)).await;
    let update = page.update().await.unwrap();
    assert_eq!(update.columns.unwrap().len(), 2);
    assert_eq!(update.sources.unwrap()[0].usage.as_ref().unwrap().code, 404);
}

/// Returns the samples of CPU by the name of the row. `names` are the names of all known rows.
fn samples(update: &Update, names: &HashMap<RowId, String>) -> Vec<(String, Vec<u64>)> {
    let amounts = |samples: &UsageSamples| {
        let cpu = samples.cpu.iter();
        cpu.map(|it| it.amount()).collect()
    };
    let samples = update.samples.iter();
    samples
        .map(|(id, samples)| (names[id].clone(), amounts(samples)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn samples_of_the_window_arrive_with_the_second_measurement() {
    let mut page = Page::of(&["a"]);
    page.clusters.set_pods("a", &["api", "db", "web"]);
    page.clusters
        .set_usage("a", Some(&[("api", 100), ("web", 250)]));
    let show = |page: &mut Page, first| {
        page.list.as_mut().unwrap().set_view(ViewSpec {
            first,
            count: 2,
            ..view()
        });
    };
    show(&mut page, 0);
    page.check().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let first = page.update().await.unwrap();
    let mut names: HashMap<RowId, String> = HashMap::new();
    names.extend(first.rows.iter().map(|row| (row.id, row.name.clone())));
    assert_eq!(samples(&first, &names), []);
    tokio::time::sleep(Duration::from_secs(15)).await;
    let second = page.update().await.unwrap();
    assert_eq!(samples(&second, &names), [("api".into(), vec![100; 2])]);
    assert_eq!(second.rows, [], "the usage is equal");
    assert_eq!(page.update().await, None, "one update per measurement");
    show(&mut page, 1);
    let scrolled = page.update().await.unwrap();
    names.extend(scrolled.rows.iter().map(|row| (row.id, row.name.clone())));
    assert_eq!(samples(&scrolled, &names), [("web".into(), vec![250; 2])]);
    page.clusters.set_usage("a", Some(&[("api", 100)]));
    tokio::time::sleep(Duration::from_secs(15)).await;
    let last = page.update().await.unwrap();
    assert_eq!(samples(&last, &names), [("web".into(), Vec::new())]);
}

#[tokio::test(start_paused = true)]
async fn samples_of_a_row_are_bounded() {
    let mut page = Page::of(&["a"]);
    page.clusters.set_pods("a", &["web"]);
    page.clusters.set_usage("a", Some(&[("web", 250)]));
    page.check().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    page.update().await.unwrap();
    let memory = page.pool.used_memory();
    tokio::time::sleep(Duration::from_hours(1)).await;
    let update = page.update().await.unwrap();
    let (_, samples) = &update.samples[0];
    assert_eq!((samples.cpu.len(), samples.memory.len()), (20, 20));
    assert_eq!(page.pool.used_memory(), memory);
}
