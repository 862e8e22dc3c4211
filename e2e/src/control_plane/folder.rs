//! The folder and the ports of a control plane.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Options;
use super::error::StartError;
use crate::ports::PortLease;
use crate::scratch::Scratch;

/// The temporary or persistent folder of a control plane.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
    pub(super) kubeconfig: PathBuf,
    _temporary: Option<Scratch>,
}

impl Folder {
    /// Creates a temporary folder, or opens the folder in
    /// [`Options::folder`](super::Options::folder).
    pub(super) fn open(options: &Options) -> Result<Self, StartError> {
        let (root, temporary) = if let Some(folder) = &options.folder {
            (std::path::absolute(folder).map_err(prepare(folder))?, None)
        } else {
            let temporary = Scratch::make("cluster")?;
            (temporary.path().to_owned(), Some(temporary))
        };
        let folder = Self {
            kubeconfig: root.join("admin.kubeconfig"),
            root,
            _temporary: temporary,
        };
        for path in [folder.pki(), folder.logs(), folder.home(), folder.etcd()] {
            fs::create_dir_all(&path).map_err(prepare(&path))?;
        }
        owner_only(&folder.root).map_err(prepare(&folder.root))?;
        owner_only(&folder.etcd()).map_err(prepare(&folder.etcd()))?;
        Ok(folder)
    }

    pub(super) fn pki(&self) -> PathBuf {
        self.root.join("pki")
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Returns the home folder for kubectl and helm. With this folder, the programs do not use the
    /// home folder of the developer.
    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(super) fn etcd(&self) -> PathBuf {
        self.root.join("etcd")
    }

    pub(super) fn audit_log(&self) -> PathBuf {
        self.root.join("audit.log")
    }

    /// Writes a file into the folder.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, StartError> {
        let path = self.root.join(name);
        crate::pki::write(&path, text)?;
        Ok(path)
    }
}

/// The reserved ports of a control plane.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) api_server: PortLease,
    pub(super) etcd: PortLease,
    pub(super) etcd_peer: PortLease,
}

/// The ports stored in a persistent folder. Reusing the ports keeps kubeconfigs valid after a
/// restart.
#[derive(Serialize, Deserialize)]
struct RememberedPorts {
    api_server: u16,
    etcd: u16,
    etcd_peer: u16,
}

impl Ports {
    /// Reserves the ports that the folder stores. Reserves free ports for a new folder.
    pub(super) fn take(folder: &Folder, address: IpAddr) -> Result<Self, StartError> {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let path = folder.root.join("ports.json");
        if path.exists() {
            let text = fs::read(&path).map_err(prepare(&path))?;
            let remembered: RememberedPorts = serde_json::from_slice(&text)
                .map_err(|source| StartError::ReadPorts { path, source })?;
            let claim = |address, port| {
                PortLease::claim(address, port).ok_or_else(|| StartError::PortInUse {
                    port,
                    folder: folder.root.clone(),
                })
            };
            return Ok(Self {
                api_server: claim(address, remembered.api_server)?,
                etcd: claim(loopback, remembered.etcd)?,
                etcd_peer: claim(loopback, remembered.etcd_peer)?,
            });
        }
        let ports = Self {
            api_server: PortLease::take(address)?,
            etcd: PortLease::take(loopback)?,
            etcd_peer: PortLease::take(loopback)?,
        };
        let remembered = serde_json::json!(RememberedPorts {
            api_server: ports.api_server.port(),
            etcd: ports.etcd.port(),
            etcd_peer: ports.etcd_peer.port(),
        });
        folder.write("ports.json", &remembered.to_string())?;
        Ok(ports)
    }
}

fn owner_only(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

pub(super) fn prepare(path: &Path) -> impl FnOnce(io::Error) -> StartError {
    let path = path.to_owned();
    move |source| StartError::Prepare { path, source }
}
