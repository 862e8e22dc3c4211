//! The memory and CPU time of an agent with its renderer.

use std::fs;
use std::time::Duration;

use crate::process::{self, ProcessError};

const KIB_PER_MIB: f64 = 1024.0;
/// Positions in proc_pid_stat(5) after the name: parent, and CPU time of ended children in user mode and
/// in the kernel.
const PARENT: usize = 1;
const ENDED_CHILDREN: [usize; 2] = [13, 14];

/// Returns the fields of `/proc/ID/stat` after the name, which can contain spaces.
fn stat(id: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Returns the IDs of the running children of a process.
fn children(id: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parent = id.to_string();
    ids.filter(|id: &u32| {
        stat(*id)
            .and_then(|fields| fields.get(PARENT).cloned())
            .as_ref()
            == Some(&parent)
    })
    .collect()
}

/// Returns the CPU time of a process, of its running children and of its ended children.
pub(super) fn cpu_with_children(id: u32) -> Result<Duration, ProcessError> {
    let fields = stat(id).unwrap_or_default();
    let ended = ENDED_CHILDREN.map(|index| {
        fields
            .get(index)
            .and_then(|field| field.parse::<u64>().ok())
    });
    let ended: u64 = ended.into_iter().flatten().sum();
    // The unit of these fields is 1/100 s on all architectures of Linux.
    let ended = Duration::from_millis(ended * 10);
    // A child can end between the two reads.
    let running = children(id)
        .into_iter()
        .filter_map(|child| process::cpu(child).ok());
    Ok(process::cpu(id)? + ended + running.sum::<Duration>())
}

/// Returns the largest resident memory of a process since its start, in MiB.
pub(super) fn peak_rss_mib(id: u32) -> Result<f64, ProcessError> {
    Ok(process::peak_rss_kib(id)? / KIB_PER_MIB)
}

/// Returns the resident memory of a process, in MiB.
pub(super) fn rss_mib(id: u32) -> Result<f64, ProcessError> {
    Ok(process::rss_kib(id)? / KIB_PER_MIB)
}

/// Returns the largest resident memory of the running children of a process, in MiB.
pub(super) fn peak_rss_of_children_mib(id: u32) -> f64 {
    // A child can end at any time.
    let peaks = children(id)
        .into_iter()
        .filter_map(|child| peak_rss_mib(child).ok());
    peaks.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_includes_running_and_ended_children() {
        let own = std::process::id();
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; cat";
        let mut child = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let used = |start: Duration| cpu_with_children(own).unwrap().saturating_sub(start);
        assert!(children(own).contains(&child.id()));
        assert!(peak_rss_mib(child.id()).unwrap() > 0.1);
        let start = cpu_with_children(own).unwrap();
        while used(start) < Duration::from_millis(50) {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(!children(own).contains(&child.id()));
        assert!(used(start) >= Duration::from_millis(50));
    }
}
