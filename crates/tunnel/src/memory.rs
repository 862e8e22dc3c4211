//! Memory limit of the process: the limit of its cgroups, or the memory of the machine.
//!
//! Reads cgroup v2 (`memory.max`) and v1 (`memory.limit_in_bytes`). The kernel enforces the
//! smallest limit of a cgroup and its parents, so the module reads all cgroups up to the root of
//! the mount.

use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Memory limit in bytes if neither `/proc` nor cgroups are readable.
const DEFAULT_LIMIT: u64 = 1 << 30;

/// Source of the memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemorySource {
    /// The limit of a cgroup.
    Cgroup,
    /// The total memory of the machine.
    Machine,
    /// The memory size that the operator set.
    Setting,
    /// The default size, because the system reports no limit.
    Assumed,
}

impl fmt::Display for MemorySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cgroup => "cgroup",
            Self::Machine => "machine",
            Self::Setting => "setting",
            Self::Assumed => "assumed",
        })
    }
}

/// Memory limit of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Size in bytes.
    pub bytes: u64,
    /// Source of the limit.
    pub source: MemorySource,
}

impl MemoryLimit {
    /// Creates the limit from the operator's setting. Without a setting, reads the limit of the
    /// system.
    pub fn new(set: Option<u64>) -> Self {
        match set {
            Some(bytes) => Self {
                bytes,
                source: MemorySource::Setting,
            },
            None => Self::read(Path::new("/")),
        }
    }

    /// Reads the limit of the system whose `/proc` and cgroups are below `root`.
    pub fn read(root: &Path) -> Self {
        let machine = machine_memory(root);
        let cgroup = cgroup_limit(root);
        match (cgroup, machine) {
            (Some(bytes), Some(all)) if bytes < all => Self {
                bytes,
                source: MemorySource::Cgroup,
            },
            (_, Some(bytes)) => Self {
                bytes,
                source: MemorySource::Machine,
            },
            (Some(bytes), None) => Self {
                bytes,
                source: MemorySource::Cgroup,
            },
            (None, None) => Self {
                bytes: DEFAULT_LIMIT,
                source: MemorySource::Assumed,
            },
        }
    }

    /// Returns `sixteenths` / 16 of the memory limit, in bytes. The result is at most `max`.
    pub fn share(self, sixteenths: u64, max: usize) -> usize {
        let share = self.bytes / 16 * sixteenths;
        usize::try_from(share).map_or(max, |share| share.min(max))
    }
}

/// A memory size in a setting. The text is a number of bytes, or a number with the suffix Ki, Mi or
/// Gi. The minimum is 64Mi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySize(u64);

/// Minimum accepted size in bytes.
const MIN_SIZE: u64 = 64 << 20;

/// Error of parsing a memory size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemorySizeError {
    /// The text is not a number with an optional suffix Ki, Mi or Gi.
    #[error(
        "the memory limit is not a number of bytes or a number with Ki, Mi or Gi, for example 768Mi"
    )]
    Malformed,
    /// The size is below 64Mi.
    #[error("the memory limit must be at least 64Mi")]
    TooSmall,
}

impl MemorySize {
    /// Returns the size in bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl std::str::FromStr for MemorySize {
    type Err = MemorySizeError;

    fn from_str(text: &str) -> Result<Self, MemorySizeError> {
        let units = [("Ki", 10), ("Mi", 20), ("Gi", 30)];
        let unit = units
            .iter()
            .find_map(|(suffix, shift)| Some((text.strip_suffix(suffix)?, *shift)));
        let (number, shift) = unit.unwrap_or((text, 0));
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse::<u64>().ok().filter(|_| is_number);
        let bytes = number.and_then(|number| number.checked_mul(1 << shift));
        let bytes = bytes.ok_or(MemorySizeError::Malformed)?;
        if bytes < MIN_SIZE {
            return Err(MemorySizeError::TooSmall);
        }
        Ok(Self(bytes))
    }
}

fn machine_memory(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the smallest limit of the process's cgroups. Returns `None` if the cgroups have no
/// limit.
fn cgroup_limit(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let limits = groups.lines().filter_map(|line| {
        let group = Group::parse(line)?;
        let mount = mounts.lines().find_map(|line| group.mount(line))?;
        group.smallest_limit(root, &mount)
    });
    limits.min()
}

/// Version of a cgroup hierarchy, v1 or v2.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hierarchy {
    V1,
    V2,
}

/// A cgroup of this process that the memory controller uses.
struct Group<'a> {
    hierarchy: Hierarchy,
    path: &'a str,
}

/// Mount point of a cgroup hierarchy.
struct Mount {
    /// Path of the cgroup that is mounted.
    root: PathBuf,
    point: PathBuf,
}

impl<'a> Group<'a> {
    /// Parses a line of `/proc/self/cgroup`: `ID:CONTROLLERS:PATH`.
    fn parse(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let hierarchy = if id == "0" && controllers.is_empty() {
            Hierarchy::V2
        } else if controllers.split(',').any(|name| name == "memory") {
            Hierarchy::V1
        } else {
            return None;
        };
        Some(Self { hierarchy, path })
    }

    /// Parses a line of `/proc/self/mountinfo` (proc(5)). Returns the mount if the line describes
    /// the mount of this cgroup hierarchy.
    fn mount(&self, line: &str) -> Option<Mount> {
        let (location, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let (name, _source, options) = (kind.next()?, kind.next()?, kind.next()?);
        let ours = match self.hierarchy {
            Hierarchy::V2 => name == "cgroup2",
            Hierarchy::V1 => name == "cgroup" && options.split(',').any(|o| o == "memory"),
        };
        let mut location = location.split(' ').skip(3);
        let (root, point) = (location.next()?, location.next()?);
        ours.then(|| Mount {
            root: PathBuf::from(root),
            point: PathBuf::from(point),
        })
    }

    fn smallest_limit(&self, root: &Path, mount: &Mount) -> Option<u64> {
        let own = Path::new(self.path);
        // In a container without a cgroup namespace, the mount starts at the group itself.
        let below = own
            .strip_prefix(&mount.root)
            .unwrap_or_else(|_| Path::new(""));
        let below: PathBuf = below
            .components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .collect();
        let point = mount.point.strip_prefix("/").unwrap_or(&mount.point);
        let groups = below.ancestors().map(|group| root.join(point).join(group));
        groups.filter_map(|group| self.limit_of(&group)).min()
    }

    fn limit_of(&self, group: &Path) -> Option<u64> {
        let file = match self.hierarchy {
            Hierarchy::V2 => "memory.max",
            Hierarchy::V1 => "memory.limit_in_bytes",
        };
        // "max" means no limit; v1 uses a number near 2^63, which exceeds the memory of any machine.
        let text = fs::read_to_string(group.join(file)).ok()?;
        text.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const V2: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";

    /// Reads the memory limit of a simulated system: a machine with 8 GiB of memory and these
    /// files.
    fn limit(files: &[(&str, &str)]) -> MemoryLimit {
        let root = tempfile::tempdir().unwrap();
        let memory = (
            "proc/meminfo",
            "MemTotal:        8388608 kB\nMemFree: 1 kB\n",
        );
        for (path, text) in files.iter().chain([&memory]) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        MemoryLimit::read(root.path())
    }

    fn cgroup(bytes: u64) -> MemoryLimit {
        MemoryLimit {
            bytes,
            source: MemorySource::Cgroup,
        }
    }

    const MACHINE: MemoryLimit = MemoryLimit {
        bytes: 8 << 30,
        source: MemorySource::Machine,
    };

    #[test]
    fn memory_limit_is_the_smallest_limit_of_nested_cgroups() {
        let v2 = |own: &'static str, parent: &'static str| {
            limit(&[
                ("proc/self/cgroup", "0::/kubepods/pod1/drover\n"),
                ("proc/self/mountinfo", V2),
                ("sys/fs/cgroup/kubepods/pod1/drover/memory.max", own),
                ("sys/fs/cgroup/kubepods/pod1/memory.max", parent),
                ("sys/fs/cgroup/kubepods/memory.max", "max\n"),
            ])
        };
        assert_eq!(v2("1073741824\n", "max\n"), cgroup(1024 * MIB));
        assert_eq!(v2("1073741824\n", "536870912\n"), cgroup(512 * MIB));
        assert_eq!(v2("max\n", "536870912\n"), cgroup(512 * MIB));
        assert_eq!(v2("max\n", "max\n"), MACHINE);
        assert_eq!(v2("not a number\n", "max\n"), MACHINE);
    }

    #[test]
    fn memory_limit_is_read_from_the_root_of_a_cgroup_namespace() {
        let found = limit(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/memory.max", "268435456\n"),
        ]);
        assert_eq!(found, cgroup(256 * MIB));
        let outside = limit(&[
            ("proc/self/cgroup", "0::/../other\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/memory.max", "268435456\n"),
        ]);
        assert_eq!(outside, cgroup(256 * MIB));
    }

    #[test]
    fn cgroup_v1_memory_limit_is_read_from_the_cgroup_mount() {
        let mounts = "\
            31 30 0:27 /docker/abc /sys/fs/cgroup/cpu ro master:9 - cgroup cgroup rw,cpu,cpuacct\n\
            32 30 0:28 /docker/abc /sys/fs/cgroup/memory ro master:9 - cgroup cgroup rw,memory\n";
        let v1 = |text: &'static str| {
            limit(&[
                (
                    "proc/self/cgroup",
                    "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n",
                ),
                ("proc/self/mountinfo", mounts),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", text),
            ])
        };
        assert_eq!(v1("536870912\n"), cgroup(512 * MIB));
        assert_eq!(v1("9223372036854771712\n"), MACHINE);
    }

    #[test]
    fn memory_size_with_a_binary_unit_is_parsed() {
        let size = |text: &str| text.parse::<MemorySize>().map(MemorySize::bytes);
        assert_eq!(size("768Mi"), Ok(768 * MIB));
        assert_eq!(size("2Gi"), Ok(2048 * MIB));
        assert_eq!(size("134217728"), Ok(128 * MIB));
        assert_eq!(size("1Mi"), Err(MemorySizeError::TooSmall));
        for text in [
            "",
            "Mi",
            "-1Gi",
            "+1Gi",
            "1.5Gi",
            "1G",
            "99999999999999999999",
            "18446744073709551615Gi",
        ] {
            assert_eq!(size(text), Err(MemorySizeError::Malformed), "{text:?}");
        }
    }

    #[test]
    fn memory_limit_above_the_machine_memory_is_ignored() {
        let found = limit(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/memory.max", "17179869184\n"),
        ]);
        assert_eq!(found, MACHINE);
        assert_eq!(limit(&[]), MACHINE);
        let missing = MemoryLimit::read(Path::new("/nonexistent"));
        assert_eq!(missing.source, MemorySource::Assumed);
        assert_eq!(MemoryLimit::new(Some(MIB)).source, MemorySource::Setting);
    }
}
