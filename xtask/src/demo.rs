//! The recipe `xtask demo` (`make run`): runs the server on its embedded hub, with simulated
//! clusters. A folder contains the state across runs.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_e2e::{CommandError, DemoOptions, DemoServer, DroverError, ProgramError};

use crate::print::print_line;

/// The reason why the demo ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// Neither `XDG_DATA_HOME` nor `HOME` is set.
    #[error(
        "cannot find a folder for the demo's state: set XDG_DATA_HOME or HOME, or use --folder"
    )]
    NoFolder,
    /// The server did not start, or its clusters did not become ready.
    #[error(transparent)]
    Drover(#[from] DroverError),
    /// A command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The server exited unexpectedly.
    #[error(transparent)]
    Ended(#[from] ProgramError),
    /// The operating system cannot create the async runtime, or a file.
    #[error("cannot start the async runtime, or write a file in the demo's folder")]
    System(#[source] io::Error),
}

/// Arguments of `xtask demo`.
#[derive(clap::Args)]
pub(crate) struct Demo {
    /// Folder of the demo's state [default: drover/demo in XDG_DATA_HOME or ~/.local/share]
    #[arg(long, env = "DROVER_DEMO_FOLDER")]
    folder: Option<PathBuf>,
    /// Port of the server (0 selects a free port)
    #[arg(long, default_value_t = 8443)]
    port: u16,
    /// Number of simulated clusters
    #[arg(long, env = "DROVER_DEMO_CLUSTERS", default_value_t = 3)]
    clusters: u32,
    /// Start, print the address and stop (for tests)
    #[arg(long)]
    once: bool,
}

impl Demo {
    pub(crate) fn run(self) -> Result<(), DemoError> {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(DemoError::System)?
            .block_on(self.demonstrate())
    }

    async fn demonstrate(self) -> Result<(), DemoError> {
        let folder = self
            .folder
            .clone()
            .or_else(default_folder)
            .ok_or(DemoError::NoFolder)?;
        let options = DemoOptions {
            folder,
            port: Some(self.port).filter(|port| *port != 0),
            clusters: self.clusters,
        };
        print_line(&format!(
            "starting the server and {} simulated clusters",
            self.clusters
        ));
        let mut server = tokio::select! {
            server = start(options) => server?,
            () = interrupted() => return Ok(()),
        };
        let reported = instructions(&server).await;
        let outcome = match reported {
            Ok(text) => {
                print_line(&text);
                if self.once {
                    Ok(())
                } else {
                    watch(&mut server).await
                }
            }
            Err(error) => Err(error),
        };
        print_line("stopping; the next `make run` continues with this state");
        server.stop().await?;
        outcome
    }
}

async fn start(options: DemoOptions) -> Result<DemoServer, DemoError> {
    let clusters = usize::try_from(options.clusters).unwrap_or(usize::MAX);
    let server = DemoServer::start(options).await?;
    server.log_in().await?;
    server.wait_for_clusters(clusters).await?;
    Ok(server)
}

/// Waits for Ctrl-C. Returns an error if the server exits first.
async fn watch(server: &mut DemoServer) -> Result<(), DemoError> {
    let interrupted = interrupted();
    tokio::pin!(interrupted);
    loop {
        tokio::select! {
            () = &mut interrupted => return Ok(()),
            () = tokio::time::sleep(Duration::from_secs(2)) => {}
        }
        server.running().check()?;
    }
}

async fn interrupted() {
    // Without signal handlers, only SIGKILL ends the process.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn instructions(server: &DemoServer) -> Result<String, DemoError> {
    let password = server.log_in().await?;
    let command = server.command_line();
    let list = command.run(["cluster", "list"]).await?.stdout;
    let first = server.clusters().await?;
    let first = first
        .iter()
        .filter_map(|cluster| cluster["name"].as_str())
        .next_back();
    let (mut kubectl, mut git) = (String::new(), String::new());
    if let Some(cluster) = first {
        let file = server.folder().join("kubeconfig").display().to_string();
        let words = ["--credential", "token", "--output-file", &file];
        let words = ["cluster", "kubeconfig", cluster].into_iter().chain(words);
        // Remove an older kubeconfig, because it contains an older token.
        let _ = std::fs::remove_file(&file);
        command.run(words).await?;
        kubectl = format!(
            "kubectl, through the server and the tunnel of {cluster}:\n  \
               export KUBECONFIG={file}\n  \
               kubectl get pods -A\n\n"
        );
        git = git_steps(server, &file).await?;
    }
    Ok(format!(
        "\nDrover runs at {url}  (user admin, password {password})\n\n{list}\n{kubectl}{git}\
         drover, after logging in:\n  \
           {drover} login {url} --username admin --ca-fingerprint {fingerprint}\n  \
           {drover} cluster kubeconfig NAME\n\n\
         logs, audit and state: {folder}\n\
         Ctrl-C ends it.",
        url = server.url(),
        drover = server.program().display(),
        fingerprint = server.fingerprint(),
        folder = server.folder().display(),
    ))
}

/// Returns three commands: clone the example repository, push a change, and watch the bundles. The
/// folder of the demo receives a kubeconfig of the hub and the certificate authority for git.
/// `kubeconfig` is the kubeconfig of a cluster.
async fn git_steps(server: &DemoServer, kubeconfig: &str) -> Result<String, DemoError> {
    let words = ["--description", "make run", "--output", "json"];
    let words = ["token", "create"].into_iter().chain(words);
    let created = server.command_line().run(words).await?;
    let token: serde_json::Value = serde_json::from_str(&created.stdout).unwrap_or_default();
    let token = token["token"].as_str().unwrap_or("TOKEN");
    let kubeconfig = std::fs::read_to_string(kubeconfig).map_err(DemoError::System)?;
    let encoded = authority_of(&kubeconfig);
    let (url, folder) = (server.url(), server.folder());
    let (authority, hub) = (folder.join("ca.crt"), folder.join("hub-kubeconfig"));
    let pem = STANDARD.decode(encoded).unwrap_or_default();
    write_private(&authority, &pem)?;
    let config = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "hub",
        "contexts": [{ "name": "hub", "context": { "cluster": "hub", "user": "hub" } }],
        "clusters": [{ "name": "hub", "cluster": {
            "server": format!("{url}/k8s/clusters/local"),
            "certificate-authority-data": encoded,
        } }],
        "users": [{ "name": "hub", "user": { "token": token } }],
    });
    write_private(&hub, config.to_string().as_bytes())?;
    let url = url.replace("https://", &format!("https://git:{token}@"));
    Ok(format!(
        "git: push a change of the example repository, and watch all clusters receive the change:\n  \
           export GIT_SSL_CAINFO={authority} && git clone {url}/git/example.git && cd example\n  \
           sed -i s/Hello/Bonjour/ plain/configmap.yaml && git commit -am Bonjour && git push\n  \
           kubectl --kubeconfig {hub} get bundles -A -w\n\n",
        authority = authority.display(),
        hub = hub.display(),
    ))
}

/// Replaces a file that only the owner can read.
fn write_private(path: &Path, content: &[u8]) -> Result<(), DemoError> {
    let _ = std::fs::remove_file(path);
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let written = opened.and_then(|mut file| file.write_all(content));
    written.map_err(DemoError::System)
}

/// Returns the certificate authority in a kubeconfig, in base64.
fn authority_of(kubeconfig: &str) -> &str {
    // The beginning of a PEM certificate in base64. The value can be on a line of its own.
    let mut words = kubeconfig.split_whitespace();
    let value = words.find(|word| word.starts_with("LS0tLS1CRUdJTi"));
    value.unwrap_or_default()
}

fn default_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".local/share")))
        .map(|data| data.join("drover/demo"))
}
