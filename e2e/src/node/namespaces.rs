//! The namespaces of a node: mounts, host name, processes and network.
//!
//! When the first process of the process namespace ends, the kernel kills all remaining processes
//! in the namespace. Therefore pods end with the node. The kernel removes the mounts when the last
//! process has ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::configuration::Settings;
use super::{JoinError, READY, make_folder};
use crate::network::{NodeNetwork, Slot, search_path};
use crate::program::{Program, ProgramError, Running};

/// The shell script of the first process. `$1` is the node's folder, and `$2` is the node's host
/// name.
///
/// The script mounts private folders over `/run` and other fixed paths. Its loop reaps orphaned
/// processes.
const FIRST: &str = r#"set -e
mount -t tmpfs -o mode=755 node-run /run
mount --bind "$1/var-log" /var/log
mount --bind "$1/var-lib-cni" /var/lib/cni
mount --bind "$1/var-lib-kubelet" /var/lib/kubelet
mount --bind "$1/hosts" /etc/hosts
for copy in "$1"/kernel/*; do
  mount --bind "$copy" "/proc/sys/$(basename "$copy" | tr . /)"
done
hostname "$2"
echo namespaces are ready
while :; do sleep 3600 & wait; done
"#;

/// Fixed paths of the programs' folders. The node mounts its own folders over these paths.
const COVERED: [&str; 2] = ["/var/lib/cni", "/var/lib/kubelet"];

/// The namespaces of a node. Dropping the value ends every process in the namespaces.
#[derive(Debug)]
pub(super) struct Namespaces {
    outer: Running,
    first: Pid,
    made: Vec<PathBuf>,
    slot: Slot,
    logs: PathBuf,
}

impl Namespaces {
    /// Creates the namespaces of a node. Joins the existing network namespace.
    pub(super) async fn enter(
        settings: &Settings,
        network: &NodeNetwork,
    ) -> Result<Self, JoinError> {
        let mut created = Vec::new();
        for folder in COVERED.map(PathBuf::from) {
            if !folder.exists() {
                make_folder(&folder)?;
                created.push(folder);
            }
        }
        for name in ["var-log", "var-lib-cni", "var-lib-kubelet"] {
            make_folder(&settings.folder.join(name))?;
        }
        let logs = settings.folder.join("logs");
        let mut outer = Program::new("namespaces", "nsenter", &logs)
            .env("PATH", search_path())
            .arg(format!("--net={}", network.namespace_file()))
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
            made: created,
            slot: network.slot(),
            logs,
        })
    }

    /// Returns the arguments with which `nsenter` enters the namespaces of the node.
    pub(super) fn enter_arguments(&self) -> Vec<String> {
        let target = self.first.as_raw_nonzero();
        let mut arguments = vec![format!("--target={target}")];
        arguments.extend(["--mount", "--uts", "--net", "--pid", "--"].map(str::to_owned));
        arguments
    }

    /// Returns a program that will run in the namespaces of the node.
    pub(super) fn program(&self, name: &str, path: &Path) -> Program {
        Program::new(name, "nsenter", &self.logs)
            .env("PATH", search_path())
            .args(self.enter_arguments())
            .arg(path)
    }

    /// Pauses every process of the node.
    pub(super) fn pause(&self) -> Result<(), ProgramError> {
        self.signal_all(Signal::STOP)
    }

    /// Resumes every paused process of the node.
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
        // The kernel ends the first process only after all other processes.
        let _ = kill_process(self.first, Signal::KILL);
        let process = PathBuf::from(format!("/proc/{}", self.first.as_raw_nonzero()));
        let deadline = Instant::now() + Duration::from_secs(30);
        while process.exists() && self.outer.exited().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        // The removal of a folder would remove the mount of another node over the folder.
        if let Some(_locks) = self.slot.lock_others() {
            for folder in &self.made {
                // The folder is not empty if another process has started to use it.
                let _ = fs::remove_dir(folder);
            }
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
