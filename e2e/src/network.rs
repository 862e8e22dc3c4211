//! The network between this host and the real node: a network namespace and a veth pair.
//!
//! The node changes the network (bridge, nftables, routes) only in this namespace. Removing the
//! namespace reverts these changes.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::time::Duration;

use crate::wait::{TimedOut, eventually};

/// The number of nodes that can run on a machine at the same time. Two tests can have two nodes each.
const SLOTS: u8 = 4;
/// Timeout of the wait for other tests that use the nodes of the machine.
const NODE_TIMEOUT: Duration = Duration::from_mins(20);

/// The programs that a node requires, and the Debian package of each program.
const PROGRAMS: [(&str, &str); 11] = [
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("buildah", "buildah"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("nft", "nftables"),
    ("conntrack", "conntrack"),
    ("busybox", "busybox-static"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
];

/// The reason why the network of a node cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// The process has no permission to create namespaces.
    #[error("cannot create a real node without root; run these tests as root")]
    NotRoot,
    /// Programs that a node requires are not installed.
    #[error("cannot create a real node: programs are missing; run apt-get install {}", packages.join(" "))]
    MissingPackages {
        /// The Debian packages of the missing programs.
        packages: Vec<&'static str>,
    },
    /// Other tests use all nodes.
    #[error(
        "cannot use a node of this machine: other tests use all nodes; run the test again later"
    )]
    Busy(#[source] TimedOut),
    /// A network command failed.
    #[error("`{command}` failed: {output}")]
    Configure {
        /// The command with its arguments.
        command: String,
        /// Output of the command.
        output: String,
    },
    /// A network command cannot be started.
    #[error("cannot run `{command}`")]
    Run {
        /// The command with its arguments.
        command: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// One of the nodes that can run on a machine. A slot has its own names and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u8);

impl Slot {
    fn all() -> impl Iterator<Item = Self> {
        (0..SLOTS).map(Self)
    }

    /// Returns the name of the node's network namespace, network link and control group.
    pub(crate) fn name(self) -> String {
        format!("drover-e2e-{}", self.0)
    }

    const fn host(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, self.0, 1)
    }

    const fn node(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, self.0, 2)
    }

    /// Returns the address range of the node's pods.
    fn pod_range(self) -> String {
        format!("10.214.{}.0/24", self.0)
    }

    /// Locks the slot. An abstract socket is the lock, because the kernel releases it when the
    /// process ends.
    fn lock(self) -> io::Result<UnixListener> {
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(self.name())?)
    }

    /// Locks all other slots. Returns `None` if a node uses another slot.
    pub(crate) fn lock_others(self) -> Option<Vec<UnixListener>> {
        Self::all()
            .filter(|slot| *slot != self)
            .map(|slot| slot.lock().ok())
            .collect()
    }
}

/// The network of a real node, and the lock on the node's names and addresses.
///
/// A machine can have four node networks at a time. Further calls wait until a network is dropped.
/// Dropping the network removes the namespace and its content.
#[derive(Debug)]
pub struct NodeNetwork {
    slot: Slot,
    _lock: UnixListener,
}

impl NodeNetwork {
    /// Waits until other tests use fewer than four nodes, and creates the network. Requires root and
    /// several Debian packages. The error lists the missing packages.
    pub async fn acquire() -> Result<Self, NetworkError> {
        check_machine()?;
        let (slot, lock) = eventually("a node of the machine", NODE_TIMEOUT, async || {
            let free = Slot::all().find_map(|slot| Some((slot, slot.lock().ok()?)));
            free.ok_or("other tests use all nodes")
        })
        .await
        .map_err(NetworkError::Busy)?;
        // Remove the remains of a killed test run.
        remove(slot);
        let network = Self { slot, _lock: lock };
        create(slot)?;
        Ok(network)
    }

    /// Returns the address at which pods and the node reach this host. The cluster's API server and
    /// a Drover server must listen on this address if pods connect to them.
    pub const fn host_address(&self) -> IpAddr {
        IpAddr::V4(self.slot.host())
    }

    /// Returns the IP address of the node.
    pub const fn node_address(&self) -> IpAddr {
        IpAddr::V4(self.slot.node())
    }

    /// Returns the name of the node's network namespace, network link and control group.
    pub fn name(&self) -> String {
        self.slot.name()
    }

    /// Returns the address range of the node's pods.
    pub(crate) fn pod_range(&self) -> String {
        self.slot.pod_range()
    }

    pub(crate) const fn slot(&self) -> Slot {
        self.slot
    }

    /// Returns the path of the network namespace's file.
    pub fn namespace_file(&self) -> String {
        format!("/run/netns/{}", self.slot.name())
    }
}

impl Drop for NodeNetwork {
    fn drop(&mut self) {
        remove(self.slot);
    }
}

fn create(slot: Slot) -> Result<(), NetworkError> {
    let (name, host, node, pods) = (slot.name(), slot.host(), slot.node(), slot.pod_range());
    let on_node = |command: &str| format!("-netns {name} {command}");
    for command in [
        format!("netns add {name}"),
        format!("link add {name} type veth peer name eth0 netns {name}"),
        format!("address add {host}/24 dev {name}"),
        format!("link set {name} up"),
        on_node("link set lo up"),
        on_node(&format!("address add {node}/24 dev eth0")),
        on_node("link set eth0 up"),
        on_node(&format!("route add default via {host}")),
        // Lets the API server reach pods that serve webhooks and aggregated APIs.
        format!("route add {pods} via {node}"),
    ] {
        ip(&command)?;
    }
    let forward = "echo 1 > /proc/sys/net/ipv4/ip_forward";
    run(Command::new("ip").args(["netns", "exec", &name, "sh", "-c", forward]))
}

/// Removes the veth pair and the network namespace. Ignores errors if they do not exist.
fn remove(slot: Slot) {
    let name = slot.name();
    let _ = ip(&format!("link delete {name}"));
    let _ = ip(&format!("netns delete {name}"));
}

fn ip(arguments: &str) -> Result<(), NetworkError> {
    run(Command::new("ip").args(arguments.split(' ')))
}

/// Runs a command of the administrator. The error contains the output of the command.
pub(crate) fn run(command: &mut Command) -> Result<(), NetworkError> {
    command.env("PATH", search_path());
    let shown = format!("{command:?}");
    let output = command.output().map_err(|source| NetworkError::Run {
        command: shown.clone(),
        source,
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(NetworkError::Configure {
        command: shown,
        output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// Returns the search path for programs. Adds the folders for administrators, because `su` and CI
/// omit these folders.
pub(crate) fn search_path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
}

/// Returns the folder of the CNI plug-ins.
pub(crate) fn plugin_folder() -> Option<&'static str> {
    ["/usr/lib/cni", "/opt/cni/bin"]
        .into_iter()
        .find(|folder| std::path::Path::new(folder).join("bridge").exists())
}

fn check_machine() -> Result<(), NetworkError> {
    if !rustix::process::geteuid().is_root() {
        return Err(NetworkError::NotRoot);
    }
    let path = search_path();
    let exists = |program: &str| {
        path.split(':')
            .any(|folder| std::path::Path::new(folder).join(program).is_file())
    };
    let packages = missing_packages(exists, plugin_folder().is_some());
    if packages.is_empty() {
        Ok(())
    } else {
        Err(NetworkError::MissingPackages { packages })
    }
}

fn missing_packages(exists: impl Fn(&str) -> bool, plug_ins: bool) -> Vec<&'static str> {
    let mut packages: Vec<_> = PROGRAMS
        .into_iter()
        .filter(|(program, _)| !exists(program))
        .map(|(_, package)| package)
        .collect();
    if !plug_ins {
        packages.push("containernetworking-plugins");
    }
    packages.dedup();
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_missing_programs_lists_their_packages() {
        let exists = |program: &str| !["containerd", "ctr", "nft"].contains(&program);
        let packages = missing_packages(exists, true);
        assert_eq!(packages, ["containerd", "nftables"]);
        let reported = NetworkError::MissingPackages { packages }.to_string();
        assert!(
            reported.ends_with("apt-get install containerd nftables"),
            "{reported}"
        );
    }

    #[test]
    fn missing_network_plug_ins_are_reported_with_their_package() {
        assert_eq!(
            missing_packages(|_| true, false),
            ["containernetworking-plugins"]
        );
        assert!(missing_packages(|_| true, true).is_empty());
    }
}
