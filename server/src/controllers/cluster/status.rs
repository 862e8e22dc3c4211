//! The one place that writes a Cluster's status, registration aside.

use std::time::Duration;

use drover_api::kinds::{Cluster, ClusterStatus};
use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::PostParams;
use tokio::time::Instant;

use super::decide::decide;
use crate::controllers::keeper::Shared;
use drover_agent_gateway::registration::import::wanted_image;
use drover_hub::{HubError, call};

/// Silence and times are looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Pause after a look, so that a burst of changes is one write.
const BREATH: Duration = Duration::from_millis(500);

/// When a status may be written: what a cluster's agent says shall not wear the hub out.
#[derive(Debug, Default)]
struct Pace {
    last: Option<Instant>,
    /// Urgent writes since there was time for all of them.
    hurried: u32,
}

impl Pace {
    /// Between two writes that are not urgent.
    const EVERY: Duration = Duration::from_secs(10);
    /// Urgent writes at once; after those, no more than others.
    const HURRIED: u32 = 6;

    fn may_write(&mut self, urgent: bool, now: Instant) -> bool {
        let since = self.last.map(|last| now.duration_since(last));
        let rested = since.is_none_or(|since| since >= Self::EVERY);
        let may_hurry = urgent && self.hurried < Self::HURRIED;
        if !rested && !may_hurry {
            return false;
        }
        self.hurried = match since {
            Some(since) if rested => {
                // The first period is that of this write.
                let periods = (since.as_secs() / Self::EVERY.as_secs()).saturating_sub(1);
                self.hurried
                    .saturating_sub(periods.try_into().unwrap_or(u32::MAX))
            }
            Some(_) => self.hurried + 1,
            None => 0,
        };
        self.last = Some(now);
        true
    }
}

/// Whether a condition changes its status, or begins to be there.
fn changes_a_condition(present: Option<&ClusterStatus>, wanted: &ClusterStatus) -> bool {
    let before = present.map_or(&[][..], |status| &status.conditions);
    wanted.conditions.iter().any(|condition| {
        let before = before.iter().find(|before| before.type_ == condition.type_);
        before.is_none_or(|before| before.status != condition.status)
    })
}

/// Writes the status whenever it should be another.
pub(in crate::controllers) async fn keep(shared: &Shared) {
    let mut told = shared.changed();
    let mut cluster = shared.followed();
    let mut settings = shared.controllers.hub.stores().settings.changed();
    let mut tunnels = shared.controllers.tunnels.watch_cluster(&shared.uid);
    let mut pace = Pace::default();
    loop {
        if let Err(error) = write(shared, &mut pace).await
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
            _ = cluster.changed() => {}
            _ = settings.changed() => {}
            _ = tunnels.changed() => {}
            () = tick => {}
        }
    }
}

async fn write(shared: &Shared, pace: &mut Pace) -> Result<(), HubError> {
    let Some(cluster) = shared.cluster() else {
        return Ok(());
    };
    let image = wanted_image(&shared.controllers.settings, &cluster);
    let status = decide(&cluster, &shared.known(), &image, Timestamp::now());
    if cluster.status.as_ref() == Some(&status) {
        return Ok(());
    }
    let urgent = changes_a_condition(cluster.status.as_ref(), &status);
    if !pace.may_write(urgent, Instant::now()) {
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
        .wait_for(&written)
        .await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_changes_its_word_all_the_time_costs_the_hub_a_write_in_ten_seconds() {
        let begun = Instant::now();
        for (urgent, most) in [(false, 61), (true, 61 + Pace::HURRIED)] {
            let mut pace = Pace::default();
            let writes = (0..1200_u32)
                .filter(|n| pace.may_write(urgent, begun + Duration::from_millis(500) * *n))
                .count();
            assert!(writes <= most as usize, "{urgent}: {writes}");
            assert!(writes >= 55, "{urgent}: {writes}");
        }
    }

    #[test]
    fn a_condition_that_changes_after_a_quiet_time_is_written_at_once() {
        let begun = Instant::now();
        let mut pace = Pace::default();
        assert!(pace.may_write(false, begun));
        assert!(!pace.may_write(false, begun + Duration::from_secs(1)));
        assert!(pace.may_write(true, begun + Duration::from_secs(1)));
    }
}
