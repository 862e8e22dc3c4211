//! Simulated clusters whose agents deploy charts.

use std::time::Instant;

use super::GitopsError;
use super::bundles::Content;
use super::hub::Hub;
use super::processes::{cpu_with_children, rss_mib};
use crate::figures::{Figures, Goal};
use crate::meter::{Meter, print_progress, shares_line};
use crate::scale::{Stage, settle};

/// Number of clusters and bundles for which the targets are valid.
const TARGETED: (u32, u32) = (50, 50);

/// Measures the time until `bundles` charts are ready in `clusters` clusters.
pub(super) async fn measure(
    clusters: u32,
    bundles: u32,
    figures: &mut Figures,
) -> Result<(), GitopsError> {
    print_progress(&format!(
        "starting {clusters} simulated clusters with agents that deploy"
    ));
    let mut stage = Stage::start(clusters, 0).await?;
    let folder = stage.folder().to_owned();
    let options = |program: drover_e2e::Program| program.arg("--deploy-in").arg(folder);
    let agents = stage.join_with("bundle-agents", clusters, options).await?;
    stage.until_all_ready().await?;
    let hub = Hub::of(&stage).await?;
    hub.bundles.until_checked_in(clusters).await?;
    settle().await;
    let observer = hub.bundles.observe().await?;
    print_progress(&format!(
        "deploying {bundles} charts to {clusters} clusters"
    ));
    let size = hub.size()?;
    let used = cpu_with_children(agents)?;
    let meter = Meter::start(&[("server", stage.server_id()), ("agents", agents)])?;
    let start = Instant::now();
    hub.bundles.create(&Content::Chart.bundles(bundles)).await?;
    let elapsed = observer.until_ready(start, bundles, clusters).await?;
    let key = format!("c{clusters}b{bundles}");
    let goal = if (clusters, bundles) == TARGETED {
        Goal::AtMost(15.0)
    } else {
        Goal::None
    };
    figures.add(&format!("{key}_ready_s"), elapsed.ready.as_secs_f64(), goal);
    let reported = elapsed.reported.as_secs_f64();
    figures.add(&format!("{key}_reported_s"), reported, Goal::None);
    let used = cpu_with_children(agents)?.saturating_sub(used);
    let of_all = used.as_secs_f64();
    figures.add(&format!("{key}_agents_cpu_s"), of_all, Goal::None);
    figures.note(shares_line(
        &format!("{key}, without renderers"),
        &meter.shares()?,
    ));
    settle().await;
    let deployments = f64::from(clusters) * f64::from(bundles);
    #[expect(
        clippy::cast_precision_loss,
        reason = "the size of the state is far below 2^52 bytes"
    )]
    let grown = hub.size()?.saturating_sub(size) as f64;
    figures.add("hub_bytes_per_deployment", grown / deployments, Goal::None);
    let rss = rss_mib(stage.server_id())?;
    figures.add(&format!("server_{key}_rss_mib"), rss, Goal::None);
    Ok(stage.stop().await?)
}
