//! Three real control planes with the program `drover-agent` and its renderer, or with Fleet's agent.

mod fleet;
mod member;

use std::time::{Duration, Instant};

use super::GitopsError;
use super::bundles::{Content, LARGE_OBJECTS, large};
use super::hub::{BundleApi, Hub};
use super::observer::{Elapsed, Observer};
use super::processes::{cpu_with_children, peak_rss_mib, peak_rss_of_children_mib, rss_mib};
use super::reporting::count;
use super::requests::Requests;
use crate::figures::{Figures, Goal, median};
use crate::meter::print_progress;
use crate::scale::{Stage, settle};
use fleet::Fleet;
pub(crate) use fleet::FleetError;
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
    let hub = Hub::of(&stage).await?;
    let bench = Bench {
        api: hub.bundles.clone(),
        hub: MeasuredHub::Drover(Box::new(hub)),
        members,
        bundles,
    };
    bench.measure(figures).await?;
    drop(bench);
    Ok(stage.stop().await?)
}

/// Measures the same figures with Fleet's controllers and agents.
pub(super) async fn measure_fleet(bundles: u32, figures: &mut Figures) -> Result<(), GitopsError> {
    print_progress(&format!(
        "starting {CLUSTERS} control planes with Fleet's agents"
    ));
    let fleet = Fleet::start().await?;
    let mut members = Vec::new();
    for number in 0..CLUSTERS {
        members.push(fleet.join(&format!("real-{number}")).await?);
    }
    let bench = Bench {
        api: fleet.bundles(),
        hub: MeasuredHub::Fleet(Box::new(fleet)),
        members,
        bundles,
    };
    bench.measure(figures).await
}

/// The hub whose requests are counted.
enum MeasuredHub {
    Drover(Box<Hub>),
    Fleet(Box<Fleet>),
}

impl MeasuredHub {
    /// Waits until the hub gets no more requests for some time. Returns the numbers of requests.
    async fn until_idle(&self) -> Result<Requests, GitopsError> {
        let fleet = match self {
            Self::Drover(hub) => return Ok(hub.until_idle(QUIET).await?),
            Self::Fleet(fleet) => fleet,
        };
        let mut last = fleet.requests()?;
        for _ in 0..20 {
            tokio::time::sleep(QUIET).await;
            let now = fleet.requests()?;
            if now == last {
                break;
            }
            last = now;
        }
        Ok(last)
    }
}

struct Bench {
    // The agents stop before the hub.
    members: Vec<Member>,
    api: BundleApi,
    hub: MeasuredHub,
    bundles: u32,
}

impl Bench {
    async fn measure(&self, figures: &mut Figures) -> Result<(), GitopsError> {
        self.api.until_checked_in(CLUSTERS).await?;
        settle().await;
        let key = self.key("agent_idle_rss_mib");
        figures.add(&key, self.rss()?, self.goal(25.0));
        let observer = self.api.observe().await?;
        self.config_maps(&observer, figures).await?;
        self.changes(figures).await?;
        self.api.delete_all(&observer).await?;
        self.charts(&observer, figures).await?;
        self.api.delete_all(&observer).await?;
        self.large_chart(&observer, figures).await
    }

    /// Returns the key of a figure.
    fn key(&self, key: &str) -> String {
        match self.hub {
            MeasuredHub::Drover(_) => key.to_owned(),
            MeasuredHub::Fleet(_) => format!("fleet_{key}"),
        }
    }

    /// Returns a goal for Drover.
    const fn goal(&self, most: f64) -> Goal {
        match self.hub {
            MeasuredHub::Drover(_) => Goal::AtMost(most),
            MeasuredHub::Fleet(_) => Goal::None,
        }
    }

    /// Returns a goal for Drover that is valid for [`TARGETED`] bundles.
    const fn targeted(&self, most: f64) -> Goal {
        if self.bundles == TARGETED {
            self.goal(most)
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
        self.api.create(&content.bundles(self.bundles)).await?;
        Ok(observer.until_ready(start, self.bundles, CLUSTERS).await?)
    }

    async fn config_maps(
        &self,
        observer: &Observer,
        figures: &mut Figures,
    ) -> Result<(), GitopsError> {
        print_progress(&format!("deploying {} ConfigMaps", self.bundles));
        let elapsed = self.deploy(observer, Content::ConfigMap).await?;
        let key = self.key(&format!("c{CLUSTERS}b{}_configmaps", self.bundles));
        add_elapsed(&key, &elapsed, self.targeted(5.0), figures);
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
            self.api.change(&name, resources).await?;
            for change in changes {
                change.until_version(&version).await?;
            }
            seconds.push(start.elapsed().as_secs_f64());
        }
        let largest = seconds.iter().copied().fold(0.0, f64::max);
        let key = self.key("one_change_s");
        figures.add(&key, median(&seconds), self.goal(0.3));
        let key = self.key("one_change_max_s");
        figures.add(&key, largest, self.goal(2.0));
        Ok(())
    }

    async fn charts(&self, observer: &Observer, figures: &mut Figures) -> Result<(), GitopsError> {
        print_progress(&format!("deploying {} charts", self.bundles));
        let requests = self.hub.until_idle().await?;
        let mut before = Vec::new();
        for member in &self.members {
            before.push((member.requests()?, cpu_with_children(member.agent_id())?));
        }
        let elapsed = self.deploy(observer, Content::Chart).await?;
        let key = self.key(&format!("c{CLUSTERS}b{}_charts", self.bundles));
        add_elapsed(&key, &elapsed, self.targeted(8.0), figures);
        let after = self.hub.until_idle().await?;
        let (mut cpu, mut of_cluster) = (Duration::ZERO, Requests::default());
        for (member, (requests, used)) in self.members.iter().zip(before) {
            let now = cpu_with_children(member.agent_id())?;
            cpu = cpu.max(now.saturating_sub(used));
            let requests = member.requests()?.since(&requests);
            if requests.total() > of_cluster.total() {
                of_cluster = requests;
            }
        }
        let key = self.key("agent_cpu_s");
        figures.add(&key, cpu.as_secs_f64(), self.targeted(2.5));
        let requests = after.since(&requests);
        let key = self.key("hub_requests");
        figures.note(format!("{key}: {requests}"));
        let own = match self.hub {
            // The load generator creates the bundles.
            MeasuredHub::Drover(_) => u64::from(self.bundles),
            // The requests of the load generator have another user.
            MeasuredHub::Fleet(_) => 0,
        };
        let of_hub = requests.total().saturating_sub(own);
        figures.add(&key, count(of_hub), self.targeted(800.0));
        let key = self.key("cluster_requests");
        let total = count(of_cluster.total());
        figures.add(&key, total, self.targeted(400.0));
        figures.note(format!("{key}: {of_cluster}"));
        settle().await;
        figures.add(&self.key("agent_rss_mib"), self.rss()?, Goal::None);
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
        self.api.create(&[large(member.name())]).await?;
        let elapsed = observer.until_ready(start, 1, 1).await?;
        let renderer = peak_rss_of_children_mib(member.agent_id());
        add_elapsed(&self.key("large_chart"), &elapsed, Goal::None, figures);
        let peak = peak_rss_mib(member.agent_id())?;
        figures.add(&self.key("agent_peak_rss_mib"), peak, Goal::None);
        if member.has_renderer() {
            figures.add("renderer_peak_rss_mib", renderer, Goal::None);
        }
        Ok(())
    }
}

fn add_elapsed(key: &str, elapsed: &Elapsed, goal: Goal, figures: &mut Figures) {
    let ready = elapsed.ready.as_secs_f64();
    figures.add(&format!("{key}_ready_s"), ready, goal);
    let reported = elapsed.reported.as_secs_f64();
    figures.add(&format!("{key}_reported_s"), reported, Goal::None);
}
