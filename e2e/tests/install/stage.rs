//! The environment of the installation tests: a hub with a node, a managed cluster, the charts in
//! both clusters, and an administrator.
//!
//! The machine has one node, which belongs to the hub. The hub cannot be its own managed cluster,
//! because the admission rules of the hub allow only the server to create bindings for subjects
//! with Drover's names. The agents of the managed cluster therefore run as processes, with the
//! service account and the objects of the agent's chart. The suite `pods` runs the same objects as
//! pods.

use std::path::Path;
use std::time::Duration;

use drover_e2e::{
    BuiltImage, CommandError, CommandLine, ControlPlane, JoinError, Member, MissingImage, Node,
    Options, StartError, TestUser, TimedOut, Tool, WorldError, cluster_with_node, eventually,
    suite,
};

/// The NodePort of the server's Service.
const PORT: u16 = 30443;
pub(crate) const NAMESPACE: &str = "drover-system";
pub(crate) const PASSWORD: &str = "a long password for tests";
const SOON: Duration = Duration::from_mins(1);

/// The reason why Drover cannot be installed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotInstalled {
    #[error(transparent)]
    World(#[from] WorldError),
    #[error(transparent)]
    Node(#[from] JoinError),
    #[error(transparent)]
    Cluster(#[from] StartError),
    #[error(transparent)]
    Image(#[from] MissingImage),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    #[error("cannot write {0}")]
    Write(String, #[source] std::io::Error),
    #[error("the notes have no line with {0:?}:\n{1}")]
    MissingLine(&'static str, String),
}

/// The commands of a cluster's administrator: Helm, kubectl and a shell.
pub(crate) struct Tools {
    helm: CommandLine,
    kubectl: CommandLine,
    shell: CommandLine,
}

/// Drover, installed from its charts: the server on the hub's node, and the member cluster `east`.
pub(crate) struct Installed {
    // The fields are dropped in this order: clients before servers.
    pub(crate) admin: TestUser,
    pub(crate) east: Member,
    _node: Node,
    pub(crate) hub: ControlPlane,
    pub(crate) url: String,
    pub(crate) tools: Tools,
    pub(crate) tools_of_east: Tools,
}

impl suite::Stage for Installed {
    fn story(&self) -> String {
        self.east.story()
    }
}

impl Tools {
    async fn of(cluster: &ControlPlane) -> Result<Self, StartError> {
        let kubectl = cluster.command_line();
        Ok(Self {
            helm: cluster.helm().await?,
            shell: shell(&kubectl).await?,
            kubectl,
        })
    }

    /// Runs Helm in the namespace `namespace`. Returns the output.
    pub(crate) async fn helm(
        &self,
        words: &[&str],
        namespace: &str,
    ) -> Result<String, CommandError> {
        let place = ["--namespace", namespace];
        let words = words.iter().chain(&place).copied();
        Ok(self.helm.run(words).await?.stdout)
    }

    /// Runs `sh -c` with the kubeconfig of the cluster administrator.
    pub(crate) async fn shell(&self, line: &str) -> Result<String, CommandError> {
        Ok(self.shell.run(["-c", line]).await?.stdout)
    }

    /// Runs kubectl as the cluster administrator.
    pub(crate) async fn kubectl(&self, line: &str) -> Result<String, CommandError> {
        let output = self.kubectl.run(line.split(' ')).await?;
        Ok(output.stdout.trim().to_owned())
    }

    /// Installs the server's chart with this address as URL. Returns the notes that Helm prints.
    pub(crate) async fn install_server(&self, url: &str) -> Result<String, CommandError> {
        let (url, port) = (
            format!("serverUrl={url}"),
            format!("service.nodePort={PORT}"),
        );
        let chart = chart("drover");
        let install = ["install", "drover", &chart, "--create-namespace"];
        let wait = ["--wait", "--timeout=2m"];
        let values = [
            url.as_str(),
            port.as_str(),
            "service.type=NodePort",
            "image.pullPolicy=Never",
        ];
        let values = values.into_iter().flat_map(|value| ["--set", value]);
        let words: Vec<&str> = install.into_iter().chain(wait).chain(values).collect();
        self.helm(&words, NAMESPACE).await
    }

    /// Reads the first password and the CA fingerprint with the commands in Helm's notes. Logs in
    /// with the password and the fingerprint.
    async fn log_in_first(
        &self,
        cluster: &ControlPlane,
        url: &str,
        notes: &str,
    ) -> Result<TestUser, NotInstalled> {
        let look = line(notes, "first administrator is")?;
        // The server prints the password shortly after it is ready.
        let telling = eventually("the first password", SOON, async || self.shell(look).await);
        let output = telling.await?;
        let lines = output.lines().map(str::trim);
        // Other log lines can appear in between.
        let password = lines.rev().find(|line| {
            let is_word = !line.is_empty() && !line.contains(['{', ' ']);
            is_word && *line != "--"
        });
        let fingerprint = self.shell(line(notes, "SHA256:")?).await?;
        let people = cluster.folder().join("people");
        let password = password.unwrap_or_default();
        let mut admin = TestUser::new("admin", password, &people, &self.kubectl)?;
        admin
            .log_in_first(url, fingerprint.trim(), PASSWORD)
            .await?;
        Ok(admin)
    }
}

impl Installed {
    /// Installs both charts as the documentation describes, and waits until the cluster is usable.
    pub(crate) async fn start() -> Result<Self, NotInstalled> {
        let named = |name: &str| Options {
            name: name.to_owned(),
            audit: true,
            ..Options::default()
        };
        let (hub, node) = cluster_with_node(named("hub")).await?;
        node.load_image(&BuiltImage::Server.archive()?).await?;
        let url = format!("https://{}:{PORT}", node.network().node_address());
        let tools = Tools::of(&hub).await?;
        let notes = tools.install_server(&url).await?;
        let admin = tools.log_in_first(&hub, &url, &notes).await?;
        let east = ControlPlane::start(named("east")).await?;
        let mut installed = Self {
            admin,
            tools_of_east: Tools::of(&east).await?,
            east: Member::new(east, None),
            _node: node,
            hub,
            url,
            tools,
        };
        installed.install_agent().await?;
        installed.east.start_agents(2).await?;
        installed.east.wait_until_usable(&installed.admin).await?;
        Ok(installed)
    }

    /// Runs a `drover` command as the administrator.
    pub(crate) async fn drover(&self, line: &str) -> Result<String, CommandError> {
        let output = self.admin.drover().run(line.split(' ')).await?;
        Ok(output.stdout.trim().to_owned())
    }

    async fn install_agent(&self) -> Result<(), NotInstalled> {
        let values = self.drover("cluster import east --values").await?;
        let file = self.east.cluster.folder().join("values.yaml");
        let file = file.display().to_string();
        let written = std::fs::write(&file, values);
        written.map_err(|source| NotInstalled::Write(file.clone(), source))?;
        let chart = chart("drover-agent");
        let install = ["install", "drover-agent", &chart, "--create-namespace"];
        let words = [&install[..], &["--values", &file]].concat();
        let tools = &self.tools_of_east;
        let notes = tools.helm(&words, "drover-agent").await?;
        tools.shell(line(&notes, "label namespace")?).await?;
        Ok(())
    }

    /// Waits until users can access the cluster again after a component was replaced.
    pub(crate) async fn wait_until_usable(&mut self) {
        eventually("the server to answer", SOON, async || {
            self.drover("cluster list").await.map(drop)
        })
        .await
        .unwrap();
        self.east.wait_until_usable(&self.admin).await.unwrap();
    }
}

/// Returns the folder of a chart.
pub(crate) fn chart(name: &str) -> String {
    let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts");
    charts.join(name).display().to_string()
}

/// Returns the line of Helm's notes that contains the text `part` and a kubectl command.
fn line<'a>(notes: &'a str, part: &'static str) -> Result<&'a str, NotInstalled> {
    let found = notes
        .lines()
        .find(|line| line.contains(part) && line.contains("kubectl"));
    found
        .map(str::trim)
        .ok_or_else(|| NotInstalled::MissingLine(part, notes.to_owned()))
}

/// Returns a shell with kubectl on its search path.
async fn shell(kubectl: &CommandLine) -> Result<CommandLine, StartError> {
    let program = Tool::Kubectl.locate().await?;
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folder = program.parent().map(Path::to_owned);
    let path = std::env::join_paths(folder.into_iter().chain(std::env::split_paths(&own)));
    let shell = kubectl.clone().with_program(Path::new("/bin/sh"));
    Ok(shell.env("PATH", path.unwrap_or(own)))
}
