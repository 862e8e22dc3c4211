//! Faults of a node's network and programs. A fault ends when its guard is dropped.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::{JoinError, Node};
use crate::network::{NetworkError, run};
use crate::program::ProgramError;
use crate::wait::eventually;

/// Timeout until all threads of the processes have stopped.
const STOPPED: Duration = Duration::from_secs(30);
/// The name of the nftables table with the rules of the faults.
const TABLE: &str = "drover-e2e-faults";

/// Packets that a node drops. Dropping the value lets the packets pass again.
#[derive(Debug)]
#[must_use = "dropping the guard ends the fault"]
pub struct DroppedPackets {
    namespace_file: String,
}

/// Processes that are stopped with `SIGSTOP`. Dropping the value continues the processes.
#[derive(Debug)]
#[must_use = "dropping the guard ends the fault"]
pub struct PausedProcesses(Vec<Pid>);

impl Node {
    /// Drops all packets between the node's pods and a TCP port of this host, in both directions
    /// and without a response. Open connections stay half-open. The packets of pods with the node's
    /// network (`hostNetwork`) still pass.
    pub fn drop_packets_of_pods(&self, port: u16) -> Result<DroppedPackets, JoinError> {
        // The node forwards only the packets of pods that have a separate network. The address
        // translation of kube-proxy comes earlier than these rules.
        let rules = format!(
            "add table inet {TABLE}; \
             add chain inet {TABLE} pods {{ type filter hook forward priority 10; }}; \
             add rule inet {TABLE} pods tcp dport {port} drop; \
             add rule inet {TABLE} pods tcp sport {port} drop"
        );
        let namespace_file = self.network.namespace_file();
        nft(&namespace_file, &rules).map_err(JoinError::Network)?;
        Ok(DroppedPackets { namespace_file })
    }

    /// Stops the processes of the node's pods that run the program `name`. Connections stay open.
    /// Returns after all threads have stopped.
    pub async fn pause_processes(&self, name: &str) -> Result<PausedProcesses, JoinError> {
        let found = self.processes(name);
        let paused = PausedProcesses(found);
        signal(&paused.0, Signal::STOP)?;
        eventually("the processes to stop", STOPPED, async || {
            let mut running = paused.0.iter().filter(|process| !is_stopped(**process));
            running.next().map_or(Ok(()), |process| {
                Err(format!("process {} runs", process.as_raw_nonzero()))
            })
        })
        .await
        .map_err(|source| ProgramError::NotReady {
            name: name.to_owned(),
            log: String::new(),
            source,
        })?;
        Ok(paused)
    }

    /// Kills the processes of the node's pods that run the program `name`. The kernel closes their
    /// connections. Kubernetes restarts the containers unless their pods are being deleted.
    pub fn kill_processes(&self, name: &str) -> Result<(), JoinError> {
        Ok(signal(&self.processes(name), Signal::KILL)?)
    }

    /// Returns the processes of the node's pods that run the program `name`.
    fn processes(&self, name: &str) -> Vec<Pid> {
        // All pods of the node are in this control group.
        let group = format!("/{}/", self.network.name());
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let matches = |folder: &Path| {
            let comm = fs::read_to_string(folder.join("comm")).unwrap_or_default();
            let groups = fs::read_to_string(folder.join("cgroup")).unwrap_or_default();
            comm.trim_end() == name && groups.contains(&group)
        };
        entries
            .filter(|entry| matches(&entry.path()))
            .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
            .collect()
    }
}

impl PausedProcesses {
    /// Returns the number of the stopped processes.
    pub const fn count(&self) -> usize {
        self.0.len()
    }
}

/// Sends a signal to processes. Skips processes that have ended.
fn signal(processes: &[Pid], signal: Signal) -> Result<(), ProgramError> {
    for process in processes {
        match kill_process(*process, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(source) => {
                return Err(ProgramError::Signal {
                    name: format!("process {}", process.as_raw_nonzero()),
                    source: source.into(),
                });
            }
        }
    }
    Ok(())
}

impl Drop for PausedProcesses {
    fn drop(&mut self) {
        // The error is ignored: a destructor cannot return it.
        let _ = signal(&self.0, Signal::CONT);
    }
}

impl Drop for DroppedPackets {
    fn drop(&mut self) {
        // The error is ignored: the network of the node may be removed.
        let _ = nft(&self.namespace_file, &format!("delete table inet {TABLE}"));
    }
}

/// Changes the nftables rules of a network namespace.
fn nft(namespace_file: &str, rules: &str) -> Result<(), NetworkError> {
    let net = format!("--net={namespace_file}");
    run(Command::new("nsenter").args([&net, "nft", rules]))
}

/// Returns true if all threads of a process are stopped, or if the process has ended.
fn is_stopped(process: Pid) -> bool {
    let tasks = format!("/proc/{}/task", process.as_raw_nonzero());
    let tasks = fs::read_dir(tasks).into_iter().flatten().flatten();
    let mut states = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    states.all(|status| {
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        state.is_some_and(|state| state.trim_start().starts_with('T'))
    })
}
