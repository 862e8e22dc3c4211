//! Changes that a node makes to the kernel of the machine, outside of namespaces: control groups,
//! and settings that kubelet requires.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{JoinError, make_folder, prepare};

/// Name of the control group that contains all pods.
pub(super) const CONTROL_GROUP: &str = "drover-e2e";
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Paths of the kernel settings that kubelet changes on the machine.
const SETTINGS: [&str; 6] = [
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/panic_on_oom",
    "/proc/sys/kernel/panic",
    "/proc/sys/kernel/panic_on_oops",
    "/proc/sys/kernel/keys/root_maxkeys",
    "/proc/sys/kernel/keys/root_maxbytes",
];

/// The state of the kernel settings and control groups before the node started. Dropping the value
/// restores this state.
#[derive(Debug)]
pub(super) struct KernelState {
    settings: Vec<(&'static str, String)>,
    groups: Vec<PathBuf>,
}

impl KernelState {
    /// Saves the kernel settings and creates the control group.
    pub(super) fn prepare() -> Result<Self, JoinError> {
        let settings = SETTINGS
            .into_iter()
            .filter_map(|path| Some((path, fs::read_to_string(path).ok()?)))
            .collect();
        let groups = hierarchies()?
            .into_iter()
            .map(|hierarchy| hierarchy.join(CONTROL_GROUP))
            .collect();
        let state = Self { settings, groups };
        for group in &state.groups {
            // Remove the remains of a killed test run.
            remove_group(group);
            make_folder(group)?;
            inherit_cpuset(group)?;
        }
        Ok(state)
    }
}

impl Drop for KernelState {
    fn drop(&mut self) {
        for (path, value) in &self.settings {
            let _ = fs::write(path, value);
        }
        // A control group stays busy for a moment after its last process has ended.
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.groups.iter().any(|group| group.exists()) && Instant::now() < deadline {
            for group in &self.groups {
                remove_group(group);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Returns the root folders of the control group hierarchies. cgroup v2 has one root folder, and
/// cgroup v1 has several.
fn hierarchies() -> Result<Vec<PathBuf>, JoinError> {
    let root = Path::new(CONTROL_GROUPS);
    if root.join("cgroup.controllers").exists() {
        return Ok(vec![root.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(root).map_err(prepare(root))? {
        let path = entry.map_err(prepare(root))?.path();
        // Symbolic links are other names of hierarchies that the list contains anyway.
        if path.join("cgroup.procs").exists() && !path.is_symlink() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Copies the CPUs and memory nodes of the parent into a new cpuset of cgroup v1. The kernel adds
/// no processes to a cpuset without CPUs and memory nodes.
fn inherit_cpuset(group: &Path) -> Result<(), JoinError> {
    for name in ["cpuset.cpus", "cpuset.mems"] {
        let (own, parent) = (group.join(name), group.with_file_name(name));
        if own.exists() && parent.exists() {
            let value = fs::read_to_string(&parent).map_err(prepare(&parent))?;
            fs::write(&own, value).map_err(prepare(&own))?;
        }
    }
    Ok(())
}

/// Removes a control group and its children. Skips groups that contain processes.
fn remove_group(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove_group(&entry.path());
        }
    }
    let _ = fs::remove_dir(group);
}
