//! The node's control groups, and the node's copies of kernel settings that kubelet changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{JoinError, make_folder, prepare};

const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// The folder of the copies of kernel settings, below the node's folder.
const COPIES: &str = "kernel";
/// Names of the kernel settings that kubelet changes. The node mounts copies over the files of the
/// settings, so that the settings of the machine do not change.
const SETTINGS: [&str; 6] = [
    "vm.overcommit_memory",
    "vm.panic_on_oom",
    "kernel.panic",
    "kernel.panic_on_oops",
    "kernel.keys.root_maxkeys",
    "kernel.keys.root_maxbytes",
];

/// Copies the kernel settings into the node's folder.
pub(super) fn copy_settings(folder: &Path) -> Result<(), JoinError> {
    let copies = folder.join(COPIES);
    make_folder(&copies)?;
    for name in SETTINGS {
        let setting = Path::new("/proc/sys").join(name.replace('.', "/"));
        // A kernel without the setting needs no copy.
        if let Ok(value) = fs::read_to_string(setting) {
            let copy = copies.join(name);
            fs::write(&copy, value).map_err(prepare(&copy))?;
        }
    }
    Ok(())
}

/// The control groups that contain all pods of a node. Dropping the value removes the groups.
#[derive(Debug)]
pub(super) struct ControlGroups(Vec<PathBuf>);

impl ControlGroups {
    /// Creates the control groups with this name.
    pub(super) fn create(name: &str) -> Result<Self, JoinError> {
        let hierarchies = hierarchies()?;
        let groups = Self(hierarchies.iter().map(|root| root.join(name)).collect());
        for group in &groups.0 {
            // Remove the remains of a killed test run.
            remove_group(group);
            make_folder(group)?;
            inherit_cpuset(group)?;
        }
        Ok(groups)
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        // A control group stays busy for a moment after its last process has ended.
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.0.iter().any(|group| group.exists()) && Instant::now() < deadline {
            for group in &self.0 {
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
