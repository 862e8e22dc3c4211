//! Thousands of clusters whose agents report without applying objects.

use std::time::{Duration, Instant};

use super::GitopsError;
use super::bundles::{TIER, one_config_map};
use super::hub::Hub;
use super::processes::rss_mib;
use crate::figures::{Figures, Goal};
use crate::meter::{Meter, print_progress, shares_line};
use crate::scale::{Stage, settle};

/// Time without requests after which all controllers and agents are idle.
const QUIET: Duration = Duration::from_secs(4);

/// The targets of a number of clusters: seconds until all are ready.
const fn goal(clusters: u32) -> Goal {
    match clusters {
        1000 => Goal::AtMost(15.0),
        5000 => Goal::AtMost(60.0),
        _ => Goal::None,
    }
}

/// Measures the time until one ConfigMap is ready in all clusters, for each number of clusters.
pub(super) async fn measure(numbers: &[u32], figures: &mut Figures) -> Result<(), GitopsError> {
    let most = numbers.iter().copied().max().unwrap_or_default();
    let mut stage = Stage::start(most, 0).await?;
    let hub = Hub::of(&stage).await?;
    let observer = hub.bundles.observe().await?;
    let mut joined = 0;
    for &clusters in numbers {
        print_progress(&format!(
            "registering {clusters} clusters with agents that only report"
        ));
        let first = joined.to_string();
        let options = |program: drover_e2e::Program| program.args(["--first", &first]);
        let count = clusters.saturating_sub(joined);
        let agents = stage.join_with("bundle-agents", count, options).await?;
        joined = clusters;
        hub.bundles.until_checked_in(clusters).await?;
        settle().await;
        hub.until_idle(QUIET).await?;
        print_progress(&format!("deploying one ConfigMap to {clusters} clusters"));
        let meter = Meter::start(&[("server", stage.server_id()), ("newest agents", agents)])?;
        let start = Instant::now();
        hub.bundles.create(&[one_config_map()]).await?;
        let elapsed = observer.until_ready(start, 1, clusters).await?;
        let key = format!("c{clusters}b1");
        let ready = elapsed.ready.as_secs_f64();
        figures.add(&format!("{key}_ready_s"), ready, goal(clusters));
        let reported = elapsed.reported.as_secs_f64();
        figures.add(&format!("{key}_reported_s"), reported, Goal::None);
        figures.note(shares_line(&key, &meter.shares()?));
        if clusters == most {
            change_one_label(&hub, clusters, figures).await?;
            settle().await;
            let rss = rss_mib(stage.server_id())?;
            figures.add("server_rss_mib", rss, Goal::None);
        } else {
            hub.bundles.delete_all(&observer).await?;
        }
    }
    figures
        .note("agents of c1000b1, c5000b1 and one_change_5000 report without applying".to_owned());
    drop(observer);
    Ok(stage.stop().await?)
}

/// Changes the label of one cluster, which changes its deployment. Counts the requests to the hub.
async fn change_one_label(
    hub: &Hub,
    clusters: u32,
    figures: &mut Figures,
) -> Result<(), GitopsError> {
    print_progress("changing the label of one cluster");
    let before = hub.until_idle(QUIET).await?;
    let (cluster, tier) = ("cluster-00000001", "gold");
    hub.set_label(cluster, TIER, tier).await?;
    let after = hub.until_idle(QUIET).await?;
    hub.check_deployed(cluster, "one", tier).await?;
    let requests = after.since(&before);
    let key = format!("one_change_{clusters}");
    figures.note(format!("{key}: {requests}"));
    let (reads, writes) = if clusters == 5000 {
        (Goal::AtMost(20.0), Goal::AtMost(10.0))
    } else {
        (Goal::None, Goal::None)
    };
    figures.add(&format!("{key}_reads"), count(requests.reads()), reads);
    // The first write is the change of the label.
    let own = requests.writes().saturating_sub(1);
    figures.add(&format!("{key}_writes"), count(own), writes);
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the number of requests is far below 2^52"
)]
pub(super) const fn count(requests: u64) -> f64 {
    requests as f64
}
