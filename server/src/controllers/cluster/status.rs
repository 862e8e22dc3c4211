//! The one place that writes a Cluster's status, registration aside.

use std::time::Duration;

use drover_api::kinds::Cluster;
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::PostParams;

use super::decide::decide;
use crate::controllers::keeper::Shared;
use crate::hub::{HubError, call};
use crate::registration::import::wanted_image;

/// Silence and times are looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Least time between two writes of one cluster.
const BREATH: Duration = Duration::from_millis(500);
/// Longest to wait until memory shows what was written.
const VISIBLE_WITHIN: Duration = Duration::from_secs(5);

/// Writes the status whenever it should be another.
pub(in crate::controllers) async fn keep(shared: &Shared) {
    let mut told = shared.changed();
    let mut stores = shared.controllers.hub.stores().changed();
    let mut tunnels = shared.controllers.tunnels.watch_cluster(&shared.uid);
    loop {
        if let Err(error) = write(shared).await
            && !error.is_conflict()
            && !error.is_not_found()
        {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(cluster.uid = %shared.uid, error, "a cluster's status was not written");
        }
        tokio::time::sleep(BREATH).await;
        let tick = tokio::time::sleep(LOOK_EVERY);
        tokio::select! {
            _ = told.changed() => {}
            _ = stores.changed() => {}
            _ = tunnels.changed() => {}
            () = tick => {}
        }
    }
}

async fn write(shared: &Shared) -> Result<(), HubError> {
    let Some(cluster) = shared.cluster() else {
        return Ok(());
    };
    let image = wanted_image(&shared.controllers.settings, &cluster);
    let status = decide(&cluster, &shared.known(), &image, Timestamp::now());
    if cluster.status.as_ref() == Some(&status) {
        return Ok(());
    }
    // With the version that was decided from: whoever wrote meanwhile, a binding above all, is
    // never overwritten.
    let wanted = Cluster {
        status: Some(status),
        ..Cluster::clone(&cluster)
    };
    // Boxed: most looks end above, and every cluster's task would keep the room for this.
    Box::pin(replace(shared, &wanted)).await
}

async fn replace(shared: &Shared, wanted: &Cluster) -> Result<(), HubError> {
    let (api, name) = (shared.controllers.hub.clusters(), wanted.name_any());
    let params = PostParams::default();
    let written = call(
        "write a cluster's status",
        api.replace_status(&name, &params, wanted),
    )
    .await?;
    shared
        .controllers
        .hub
        .stores()
        .clusters
        .wait_for(&written, VISIBLE_WITHIN)
        .await;
    Ok(())
}
