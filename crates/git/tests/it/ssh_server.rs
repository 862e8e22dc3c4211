//! A real `sshd` with one user key.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// A running server. Dropping the value stops the server.
pub(crate) struct SshServer {
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) private_key: String,
    pub(crate) known_hosts: String,
    /// The fingerprint of the host key.
    pub(crate) fingerprint: String,
    process: Child,
    _folder: TempDir,
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Generates a key. Returns the private key, the public key and the fingerprint.
pub(crate) fn generate_key(arguments: &[&str]) -> (String, String, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("key");
    key_file(&path, arguments)
}

fn key_file(path: &Path, arguments: &[&str]) -> (String, String, String) {
    let passphrase: &[&str] = if arguments.contains(&"-N") {
        &[]
    } else {
        &["-N", ""]
    };
    let status = Command::new("ssh-keygen")
        .args(["-q", "-f"])
        .arg(path)
        .args(passphrase)
        .args(arguments)
        .status();
    let status = status.expect("ssh-keygen is missing: install the package openssh-client");
    assert!(status.success());
    let public_path = path.with_extension("pub");
    let output = Command::new("ssh-keygen")
        .arg("-lf")
        .arg(&public_path)
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let fingerprint = shown.split(' ').nth(1).unwrap().to_owned();
    (
        std::fs::read_to_string(path).unwrap(),
        std::fs::read_to_string(public_path).unwrap(),
        fingerprint,
    )
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl SshServer {
    /// Starts a server with a type of host key, the arguments of the user's key, and further lines
    /// of its configuration.
    pub(crate) async fn start(host_key: &str, user_key: &[&str], lines: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let host_path = folder.path().join("host");
        let (_, host_public, fingerprint) = key_file(&host_path, &["-t", host_key]);
        let (private_key, public_key, _) = generate_key(user_key);
        let authorized = folder.path().join("authorized_keys");
        std::fs::write(&authorized, public_key).unwrap();
        let config = folder.path().join("config");
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let text = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             UsePAM no\nPidFile none\nPasswordAuthentication no\n\
             PermitRootLogin prohibit-password\n{lines}",
            host_path.display(),
            authorized.display()
        );
        std::fs::write(&config, text).unwrap();
        if user() == "root" {
            // sshd needs this empty folder as root.
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let process = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(&config)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd is missing: install the package openssh-server");
        let server = Self {
            port,
            user: user(),
            private_key,
            known_hosts: format!("[127.0.0.1]:{port} {host_public}"),
            fingerprint,
            process,
            _folder: folder,
        };
        for _ in 0..500 {
            if tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_ok()
            {
                return server;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("sshd does not listen");
    }
}
