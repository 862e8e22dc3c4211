//! Three real control planes with the program `drover-agent` and its renderer.

mod member;

use std::time::{Duration, Instant};

use super::GitopsError;
use super::bundles::{Content, LARGE_OBJECTS, large};
use super::hub::Hub;
use super::observer::{Elapsed, Observer};
use super::processes::{cpu_with_children, peak_rss_mib, peak_rss_of_children_mib, rss_mib};
use super::reporting::count;
use super::requests::Requests;
use crate::figures::{Figures, Goal, median};
use crate::meter::print_progress;
use crate::scale::{Stage, settle};
pub(crate) use member::ControlPlaneError;
use member::Member;

/// Number of clusters.
const CLUSTERS: u32 = 3;
/// Number of bundles for which the targets are valid.
const TARGETED: u32 = 50;
/// Number of changed bundles.
const CHANGES: u32 = 20;
/// Time between two changes. Agents and controllers are then idle.
const CHANGE_INTERVAL: Duration = Duration::from_millis(1500);
/// Time without requests after which all controllers and agents are idle.
const QUIET: Duration = Duration::from_secs(3);

/// Measures all figures of real control planes.
pub(super) async fn measure(bundles: u32, figures: &mut Figures) -> Result<(), GitopsError> {
    print_progress(&format!("starting {CLUSTERS} control planes with agents"));
    let mut stage = Stage::start(CLUSTERS, 0).await?;
    let mut members = Vec::new();
    for number in 0..CLUSTERS {
        members.push(Member::start(&mut stage, &format!("real-{number}")).await?);
    }
    let bench = Bench {
        hub: Hub::of(&stage).await?,
        members,
        bundles,
    };
    bench.hub.until_checked_in(CLUSTERS).await?;
    settle().await;
    figures.add("agent_idle_rss_mib", bench.rss()?, Goal::AtMost(25.0));
    let observer = bench.hub.observe().await?;
    bench.config_maps(&observer, figures).await?;
    bench.changes(figures).await?;
    bench.hub.delete_all(&observer).await?;
    bench.charts(&observer, figures).await?;
    bench.hub.delete_all(&observer).await?;
    bench.large_chart(&observer, figures).await?;
    drop(observer);
    drop(bench);
    Ok(stage.stop().await?)
}

struct Bench {
    hub: Hub,
    members: Vec<Member>,
    bundles: u32,
}

impl Bench {
    /// Returns a goal that is valid for [`TARGETED`] bundles.
    const fn goal(&self, most: f64) -> Goal {
        if self.bundles == TARGETED {
            Goal::AtMost(most)
        } else {
            Goal::None
        }
    }

    /// Returns the largest resident memory of an agent, without its renderer.
    fn rss(&self) -> Result<f64, GitopsError> {
        let mut largest: f64 = 0.0;
        for member in &self.members {
            largest = largest.max(rss_mib(member.agent_id())?);
        }
        Ok(largest)
    }

    /// Creates the bundles, and waits until all clusters are ready.
    async fn deploy(&self, observer: &Observer, content: Content) -> Result<Elapsed, GitopsError> {
        let start = Instant::now();
        self.hub.create(&content.bundles(self.bundles)).await?;
        Ok(observer.until_ready(start, self.bundles, CLUSTERS).await?)
    }

    async fn config_maps(
        &self,
        observer: &Observer,
        figures: &mut Figures,
    ) -> Result<(), GitopsError> {
        print_progress(&format!("deploying {} ConfigMaps", self.bundles));
        let elapsed = self.deploy(observer, Content::ConfigMap).await?;
        let key = format!("c{CLUSTERS}b{}_configmaps", self.bundles);
        add_elapsed(&key, &elapsed, self.goal(5.0), figures);
        Ok(())
    }

    /// Changes one bundle after the other. Measures the time until the object is changed in all clusters.
    async fn changes(&self, figures: &mut Figures) -> Result<(), GitopsError> {
        print_progress("changing one bundle");
        let mut seconds = Vec::new();
        for turn in 0..CHANGES {
            tokio::time::sleep(CHANGE_INTERVAL).await;
            let (number, version) = (turn % self.bundles, format!("changed-{turn}"));
            let name = Content::ConfigMap.name(number);
            let mut changes = Vec::new();
            for member in &self.members {
                changes.push(member.follow(&name).await?);
            }
            let start = Instant::now();
            let resources = Content::ConfigMap.resources(number, &version);
            self.hub.change(&name, resources).await?;
            for change in changes {
                change.until_version(&version).await?;
            }
            seconds.push(start.elapsed().as_secs_f64());
        }
        let largest = seconds.iter().copied().fold(0.0, f64::max);
        figures.add("one_change_s", median(&seconds), Goal::AtMost(0.3));
        figures.add("one_change_max_s", largest, Goal::AtMost(2.0));
        Ok(())
    }

    async fn charts(&self, observer: &Observer, figures: &mut Figures) -> Result<(), GitopsError> {
        print_progress(&format!("deploying {} charts", self.bundles));
        let requests = self.hub.until_idle(QUIET).await?;
        let mut before = Vec::new();
        for member in &self.members {
            before.push((member.requests()?, cpu_with_children(member.agent_id())?));
        }
        let elapsed = self.deploy(observer, Content::Chart).await?;
        let key = format!("c{CLUSTERS}b{}_charts", self.bundles);
        add_elapsed(&key, &elapsed, self.goal(8.0), figures);
        let after = self.hub.until_idle(QUIET).await?;
        let (mut cpu, mut of_cluster) = (Duration::ZERO, Requests::default());
        for (member, (requests, used)) in self.members.iter().zip(before) {
            let now = cpu_with_children(member.agent_id())?;
            cpu = cpu.max(now.saturating_sub(used));
            let requests = member.requests()?.since(&requests);
            if requests.total() > of_cluster.total() {
                of_cluster = requests;
            }
        }
        figures.add("agent_cpu_s", cpu.as_secs_f64(), self.goal(2.5));
        let requests = after.since(&requests);
        figures.note(format!("hub_requests: {requests}"));
        // The load generator creates the bundles.
        let own = u64::from(self.bundles);
        let of_hub = requests.total().saturating_sub(own);
        figures.add("hub_requests", count(of_hub), self.goal(800.0));
        figures.add(
            "cluster_requests",
            count(of_cluster.total()),
            self.goal(400.0),
        );
        figures.note(format!("cluster_requests: {of_cluster}"));
        settle().await;
        figures.add("agent_rss_mib", self.rss()?, Goal::None);
        Ok(())
    }

    /// Deploys a chart with many objects to the first cluster.
    async fn large_chart(
        &self,
        observer: &Observer,
        figures: &mut Figures,
    ) -> Result<(), GitopsError> {
        print_progress(&format!("deploying a chart with {LARGE_OBJECTS} objects"));
        let Some(member) = self.members.first() else {
            return Ok(());
        };
        let start = Instant::now();
        self.hub.create(&[large(member.name())]).await?;
        let elapsed = observer.until_ready(start, 1, 1).await?;
        let renderer = peak_rss_of_children_mib(member.agent_id());
        add_elapsed("large_chart", &elapsed, Goal::None, figures);
        let peak = peak_rss_mib(member.agent_id())?;
        figures.add("agent_peak_rss_mib", peak, Goal::None);
        figures.add("renderer_peak_rss_mib", renderer, Goal::None);
        Ok(())
    }
}

fn add_elapsed(key: &str, elapsed: &Elapsed, goal: Goal, figures: &mut Figures) {
    let ready = elapsed.ready.as_secs_f64();
    figures.add(&format!("{key}_ready_s"), ready, goal);
    let reported = elapsed.reported.as_secs_f64();
    figures.add(&format!("{key}_reported_s"), reported, Goal::None);
}
