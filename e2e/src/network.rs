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

const NAMESPACE: &str = "drover-e2e";
const HOST_LINK: &str = "drover-e2e0";
const HOST: Ipv4Addr = Ipv4Addr::new(10, 213, 0, 1);
const NODE: Ipv4Addr = Ipv4Addr::new(10, 213, 0, 2);
/// The address range of the node's pods.
pub(crate) const POD_RANGE: &str = "10.214.0.0/16";
/// Timeout of the wait for other tests that use the node. Only one test can use the node at a time.
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
    /// A different test process uses the node.
    #[error("cannot use the node of this machine: another test uses it; run the test again later")]
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

/// The network of the real node, and the lock on the node.
///
/// A machine can have only one node network at a time. Concurrent calls wait until the previous
/// network is dropped. Dropping the network removes the namespace and its content.
#[derive(Debug)]
pub struct NodeNetwork {
    // An abstract socket as a lock. The kernel releases the lock when the process ends.
    _turn: UnixListener,
}

impl NodeNetwork {
    /// Waits until no other test uses the node, and creates the network. Requires root and several
    /// Debian packages. The error lists the missing packages.
    pub async fn acquire() -> Result<Self, NetworkError> {
        check_machine()?;
        let lock = eventually("the node of the machine", NODE_TIMEOUT, async || {
            let name = SocketAddr::from_abstract_name("drover-e2e-node")?;
            UnixListener::bind_addr(&name)
        })
        .await
        .map_err(NetworkError::Busy)?;
        // Remove the remains of a killed test run.
        remove();
        let network = Self { _turn: lock };
        create()?;
        Ok(network)
    }

    /// Returns the address at which pods and the node reach this host. The cluster's API server and
    /// a Drover server must listen on this address if pods connect to them.
    pub const fn host_address(&self) -> IpAddr {
        IpAddr::V4(HOST)
    }

    /// Returns the IP address of the node.
    pub const fn node_address(&self) -> IpAddr {
        IpAddr::V4(NODE)
    }

    /// Returns the path of the network namespace's file.
    pub(crate) fn namespace_file() -> String {
        format!("/run/netns/{NAMESPACE}")
    }
}

impl Drop for NodeNetwork {
    fn drop(&mut self) {
        remove();
    }
}

fn create() -> Result<(), NetworkError> {
    let node = |command: &str| format!("-netns {NAMESPACE} {command}");
    for command in [
        format!("netns add {NAMESPACE}"),
        format!("link add {HOST_LINK} type veth peer name eth0 netns {NAMESPACE}"),
        format!("address add {HOST}/24 dev {HOST_LINK}"),
        format!("link set {HOST_LINK} up"),
        node("link set lo up"),
        node(&format!("address add {NODE}/24 dev eth0")),
        node("link set eth0 up"),
        node(&format!("route add default via {HOST}")),
        // Lets the API server reach pods that serve webhooks and aggregated APIs.
        format!("route add {POD_RANGE} via {NODE}"),
    ] {
        ip(&command)?;
    }
    let forward = "echo 1 > /proc/sys/net/ipv4/ip_forward";
    run(Command::new("ip").args(["netns", "exec", NAMESPACE, "sh", "-c", forward]))
}

/// Removes the veth pair and the network namespace. Ignores errors if they do not exist.
fn remove() {
    let _ = ip(&format!("link delete {HOST_LINK}"));
    let _ = ip(&format!("netns delete {NAMESPACE}"));
}

fn ip(arguments: &str) -> Result<(), NetworkError> {
    run(Command::new("ip").args(arguments.split(' ')))
}

fn run(command: &mut Command) -> Result<(), NetworkError> {
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
