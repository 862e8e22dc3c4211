//! The node's namespaces: mounts, host name, processes, network.
//!
//! The first process in the process namespace takes all others with it when it ends, so that no
//! pod outlives the node; the mounts that they made go with the last of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::configuration::Settings;
use super::{JoinError, READY, make_folder};
use crate::network::{NodeNetwork, search_path};
use crate::program::{Program, ProgramError, Running};

/// Runs as the first process. `$1` is the node's folder, `$2` its host name.
///
/// `/run` and the folders with fixed places become the node's own. The loop collects processes
/// whose parents are gone.
const FIRST: &str = r#"set -e
mount -t tmpfs -o mode=755 node-run /run
mount --bind "$1/var-log" /var/log
mount --bind "$1/var-lib-cni" /var/lib/cni
mount --bind "$1/var-lib-kubelet" /var/lib/kubelet
mount --bind "$1/hosts" /etc/hosts
hostname "$2"
echo namespaces are ready
while :; do sleep 3600 & wait; done
"#;

/// Folders with fixed places that the node's own are mounted over.
const COVERED: [&str; 2] = ["/var/lib/cni", "/var/lib/kubelet"];

/// The namespaces of a node; dropping them ends every process in them.
#[derive(Debug)]
pub(super) struct Namespaces {
    outer: Running,
    first: Pid,
    made: Vec<PathBuf>,
    logs: PathBuf,
}

impl Namespaces {
    /// Makes the namespaces around the network's.
    pub(super) async fn enter(settings: &Settings) -> Result<Self, JoinError> {
        let mut made = Vec::new();
        for folder in COVERED.map(PathBuf::from) {
            if !folder.exists() {
                make_folder(&folder)?;
                made.push(folder);
            }
        }
        for name in ["var-log", "var-lib-cni", "var-lib-kubelet"] {
            make_folder(&settings.folder.join(name))?;
        }
        let logs = settings.folder.join("logs");
        let mut outer = Program::new("namespaces", "nsenter", &logs)
            .env("PATH", search_path())
            .arg(format!("--net={}", NodeNetwork::namespace_file()))
            .args([
                "unshare",
                "--mount",
                "--propagation=private",
                "--uts",
                "--pid",
            ])
            .args(["--fork", "--kill-child=KILL", "--mount-proc"])
            .args(["sh", "-c", FIRST, "sh"])
            .arg(&settings.folder)
            .arg(&settings.node)
            .start()?;
        outer.wait_for_log("namespaces are ready", READY).await?;
        let first = outer
            .wait_until("its child", READY, async |outer| {
                child_of(outer.id()).ok_or("none")
            })
            .await?;
        Ok(Self {
            outer,
            first,
            made,
            logs,
        })
    }

    /// The arguments by which `nsenter` runs something on the node.
    pub(super) fn enter_arguments(&self) -> Vec<String> {
        let target = self.first.as_raw_nonzero();
        let mut arguments = vec![format!("--target={target}")];
        arguments.extend(["--mount", "--uts", "--net", "--pid", "--"].map(str::to_owned));
        arguments
    }

    /// A program on the node.
    pub(super) fn program(&self, name: &str, path: &Path) -> Program {
        Program::new(name, "nsenter", &self.logs)
            .env("PATH", search_path())
            .args(self.enter_arguments())
            .arg(path)
    }

    /// Stops every process on the node.
    pub(super) fn pause(&self) -> Result<(), ProgramError> {
        self.signal_all(Signal::STOP)
    }

    /// Lets every process on the node run on.
    pub(super) fn resume(&self) -> Result<(), ProgramError> {
        self.signal_all(Signal::CONT)
    }

    fn signal_all(&self, signal: Signal) -> Result<(), ProgramError> {
        let namespace = process_namespace(self.first.as_raw_nonzero().get());
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let id = entry.file_name().to_string_lossy().parse().ok();
            let Some(id) = id.filter(|id| process_namespace(*id) == namespace) else {
                continue;
            };
            if let Some(pid) = Pid::from_raw(id)
                && let Err(source) = kill_process(pid, signal)
                && source != rustix::io::Errno::SRCH
            {
                return Err(ProgramError::Signal {
                    name: format!("process {id} of the node"),
                    source: source.into(),
                });
            }
        }
        Ok(())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        // The kernel lets the first process go only after all others.
        let _ = kill_process(self.first, Signal::KILL);
        let process = PathBuf::from(format!("/proc/{}", self.first.as_raw_nonzero()));
        let deadline = Instant::now() + Duration::from_secs(30);
        while process.exists() && self.outer.exited().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        for folder in &self.made {
            // Not empty when something else began to use it meanwhile.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn child_of(id: u32) -> Option<Pid> {
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
}

fn process_namespace(id: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{id}/ns/pid")).ok()
}
