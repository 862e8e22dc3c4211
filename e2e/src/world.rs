//! A complete Drover environment: a hub, a server, a managed cluster with agents, and users.

mod error;
mod fleet;
mod hub;
mod images;
mod member;
mod server;
mod test_user;

use std::path::{Path, PathBuf};

pub use error::WorldError;
pub use fleet::{
    FleetAgent, FleetHub, FleetHubOptions, FleetPrograms, MissingFleet, RegistrationValues,
};
pub use hub::{EmbeddedHub, Hub};
pub use images::{BuiltImage, MissingImage, target_of_tests};
pub use member::Member;
pub use server::Server;
pub use test_user::TestUser;

use crate::control_plane::{ControlPlane, Options};
use crate::image::Image;
use crate::kubectl::CommandLine;
use crate::monitoring::MetricsServer;
use crate::network::NodeNetwork;
use crate::node::{Node, NodeOptions};
use crate::suite::Stage;
use error::prepare;

/// The administrator's password after the first login.
const PASSWORD: &str = "a long password for tests";

/// Returns the path of the file with the number of writes after which a program of a folder ends.
pub fn fault_file(folder: &Path) -> PathBuf {
    folder.join("fault")
}

/// Environment in which the agents of the managed cluster run: processes of this machine, or pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldOptions {
    /// Two agents run as processes of this machine. These agents start quickly and need no root.
    Programs,
    /// Two agents run as pods on a real node. The import manifest installs the agents.
    Node,
}

/// A complete Drover environment. Dropping the value stops its programs and removes its files.
#[derive(Debug)]
pub struct World {
    // The fields are dropped in this order: clients before servers.
    metrics: Option<MetricsServer>,
    /// The managed cluster `east`.
    pub east: Member,
    /// The Drover server on the hub.
    pub server: Server,
    /// The hub on which the server stores its objects.
    pub hub: Hub,
    /// The first administrator, who is logged in.
    pub admin: TestUser,
    direct: CommandLine,
    through: CommandLine,
    kubeconfig: PathBuf,
}

impl Stage for World {
    fn story(&self) -> String {
        let server = self.server.log_tail();
        format!("--- server:\n{server}\n{}", self.east.story())
    }
}

impl World {
    /// Starts all programs. Waits until the administrator can access the cluster through Drover.
    pub async fn start(options: WorldOptions) -> Result<Self, WorldError> {
        match options {
            WorldOptions::Programs => Box::pin(Self::with_programs()).await,
            WorldOptions::Node => Box::pin(Self::with_node()).await,
        }
    }

    async fn with_programs() -> Result<Self, WorldError> {
        let (hub, cluster) = tokio::join!(
            Hub::start(),
            ControlPlane::start(Options {
                audit: true,
                ..named("east")
            })
        );
        let (hub, mut east) = (hub?, Member::new(cluster?, None));
        let address = east.cluster.api_address().ip();
        let (server, admin) = serve(&hub, address).await?;
        east.import(&admin).await?;
        east.start_agents(2).await?;
        Self::finish(hub, server, east, admin, None).await
    }

    async fn with_node() -> Result<Self, WorldError> {
        let network = NodeNetwork::acquire()
            .await
            .map_err(crate::node::JoinError::Network)?;
        let address = network.host_address();
        let (hub, cluster) = tokio::join!(
            Hub::start(),
            ControlPlane::start(Options {
                address,
                scheduler: true,
                audit: true,
                ..named("east")
            })
        );
        let (hub, cluster) = (hub?, cluster?);
        let node = Node::join(&cluster, network, NodeOptions::default()).await?;
        let mut east = Member::new(cluster, Some(node));
        let (server, admin) = serve(&hub, address).await?;
        if let Some(node) = &east.node {
            node.load_image(&BuiltImage::Agent.archive()?).await?;
        }
        east.import(&admin).await?;
        let metrics = match &east.node {
            Some(node) => Some(MetricsServer::start(&east.cluster, node.network()).await?),
            None => None,
        };
        Self::finish(hub, server, east, admin, metrics).await
    }

    async fn finish(
        hub: Hub,
        server: Server,
        mut east: Member,
        admin: TestUser,
        metrics: Option<MetricsServer>,
    ) -> Result<Self, WorldError> {
        east.wait_until_usable(&admin).await?;
        hub.open_to(&admin, &server).await?;
        admin
            .drover()
            .run(["cluster", "kubeconfig", "--merge"])
            .await?;
        let kubeconfig = admin.token_kubeconfig(east.name()).await?;
        Ok(Self {
            metrics,
            direct: east.direct().await?,
            through: admin.kubectl_with(&kubeconfig),
            east,
            server,
            hub,
            admin,
            kubeconfig,
        })
    }

    /// Returns a kubectl command with a direct connection to the cluster `east`. The user has the
    /// same permissions as the administrator has through Drover.
    pub fn direct(&self) -> CommandLine {
        self.direct.clone()
    }

    /// Returns a kubectl command with a connection to the cluster `east` through Drover. The
    /// kubeconfig contains a token of the administrator.
    pub fn through(&self) -> CommandLine {
        self.through.clone()
    }

    /// Returns the kubeconfig that [`World::through`] uses.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns true if the cluster serves the API `metrics.k8s.io`.
    pub const fn has_metrics(&self) -> bool {
        self.metrics.is_some()
    }

    /// Creates a user and logs the user in with a new password.
    pub async fn person(&self, name: &str, administrator: bool) -> Result<TestUser, WorldError> {
        let create = ["user", "create", name, "--new-password-stdin"];
        let first = format!("the first password of {name}");
        let right = administrator.then_some("--administrator");
        let drover = self.admin.drover().with_stdin(format!("{first}\n"));
        drover.run(create.into_iter().chain(right)).await?;
        let people = self.hub.folder().join("people");
        let mut person = TestUser::new(name, &first, &people, &self.hub.command_line())?;
        let (url, fingerprint) = (self.server.url(), self.server.fingerprint()?);
        let second = format!("the second password of {name}");
        person.log_in_first(&url, &fingerprint, &second).await?;
        Ok(person)
    }

    /// Starts a pod in the default namespace of the cluster `east`, and waits until the pod is
    /// ready. The pod runs a shell script.
    pub async fn run_pod(&self, name: &str, script: &str) -> Result<(), WorldError> {
        let image = format!("--image={}", Image::TOOLS);
        let run = ["run", name, &image, "--restart=Never", "--command", "--"];
        let shell = ["sh", "-c", script];
        self.direct.run(run.into_iter().chain(shell)).await?;
        let pod = format!("pod/{name}");
        let ready = ["wait", &pod, "--for=condition=Ready", "--timeout=90s"];
        self.direct.run(ready).await?;
        Ok(())
    }

    /// Creates a folder for the files of a test. The folder is removed when the environment is
    /// dropped.
    pub fn scratch(&self, test: &str) -> Result<PathBuf, WorldError> {
        let folder = self.hub.folder().join("scratch").join(test);
        std::fs::create_dir_all(&folder).map_err(prepare(&folder))?;
        Ok(folder)
    }
}

fn named(name: &str) -> Options {
    Options {
        name: name.to_owned(),
        ..Options::default()
    }
}

/// Starts the server. Logs in as the first administrator with the first password, which the
/// server's output contains.
async fn serve(hub: &Hub, address: std::net::IpAddr) -> Result<(Server, TestUser), WorldError> {
    let mut server = Server::start(hub, address).await?;
    server.wait_for_first_password().await?;
    let people = hub.folder().join("people");
    let first = server.first_password()?;
    let mut admin = TestUser::new("admin", &first, &people, &hub.command_line())?;
    let (url, fingerprint) = (server.url(), server.fingerprint()?);
    admin.log_in_first(&url, &fingerprint, PASSWORD).await?;
    Ok((server, admin))
}
