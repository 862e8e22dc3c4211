//! Debian's Samba as a domain controller with only its LDAP service, on a separate loopback
//! address.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;

use drover_testkit::authority::Authority;

/// Distinguished name of the container of all users and most groups.
pub(crate) const USERS: &str = "CN=Users,DC=dir,DC=test";

const SAMBA: &str = "/usr/sbin/samba";
const SETPRIV: &str = "/usr/bin/setpriv";
const SAMBA_TOOL: &str = "/usr/bin/samba-tool";
const LDAPMODIFY: &str = "/usr/bin/ldapmodify";
const ADMINISTRATOR_PASSWORD: &str = "Of the domain 1";
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// A domain controller that runs until it is dropped.
pub(crate) struct Samba {
    folder: TempDir,
    authority: Authority,
    address: Ipv4Addr,
    process: Child,
}

impl Samba {
    /// Creates a domain and starts its LDAP service.
    pub(crate) fn start() -> Self {
        for (program, package) in [
            (SAMBA, "samba"),
            (SAMBA_TOOL, "samba-common-bin"),
            (LDAPMODIFY, "ldap-utils"),
        ] {
            assert!(
                Path::new(program).exists(),
                "{program} is missing: run .ci/install test, or apt-get install {package}"
            );
        }
        assert!(
            rustix::process::geteuid().is_root(),
            "a domain controller listens on port 389, which requires root: run this test as root"
        );
        let address = free_address();
        let authority = Authority::new();
        let folder = tempfile::tempdir().unwrap();
        let certified = authority.certify(&address.to_string());
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        };
        write("certificate.pem", &certified.certificate);
        write("key.pem", &certified.key);
        write("authority.pem", &authority.pem());
        provision(folder.path(), address);
        let log = std::fs::File::create(folder.path().join("samba.log")).unwrap();
        // The kernel stops Samba with the test process.
        let process = Command::new(SETPRIV)
            .args(["--pdeathsig", "KILL", SAMBA])
            .args(["--foreground", "--no-process-group", "--model=single"])
            .args(["--debug-stdout", "--configfile"])
            .arg(folder.path().join("domain/etc/smb.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut samba = Self {
            folder,
            authority,
            address,
            process,
        };
        samba.wait();
        samba
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wait(&mut self) {
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect((self.address, 636)).is_err() {
            let ended = self.process.try_wait().unwrap().is_some();
            if ended || Instant::now() > deadline {
                let log = std::fs::read_to_string(self.path("samba.log")).unwrap();
                panic!("Samba did not start: {log}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn authority(&self) -> String {
        self.authority.pem()
    }

    pub(crate) fn ldaps(&self) -> String {
        format!("ldaps://{}", self.address)
    }

    pub(crate) fn ldap(&self) -> String {
        format!("ldap://{}", self.address)
    }

    /// Applies LDIF changes with the administrator account of the domain.
    pub(crate) fn change(&self, changes: &str) {
        let mut process = Command::new(LDAPMODIFY)
            .args(["-x", "-H", &self.ldaps()])
            .args(["-D", &format!("CN=Administrator,{USERS}")])
            .args(["-w", ADMINISTRATOR_PASSWORD])
            .env("LDAPTLS_CACERT", self.path("authority.pem"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = process.stdin.take().unwrap();
        input.write_all(changes.as_bytes()).unwrap();
        drop(input);
        let output = process.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ldapmodify: {stderr}");
    }
}

impl Drop for Samba {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a loopback address in 127.0.0.0/8 with a free LDAP port.
fn free_address() -> Ipv4Addr {
    let [.., high, low] = std::process::id().to_be_bytes();
    let address = (64..=254).map(|part| Ipv4Addr::new(127, part, high, low.clamp(1, 254)));
    let free = |address: &Ipv4Addr| {
        [389, 636, 3268, 3269]
            .iter()
            .all(|port| TcpListener::bind((*address, *port)).is_ok())
    };
    address.into_iter().find(free).unwrap()
}

fn provision(folder: &Path, address: Ipv4Addr) {
    let folder = folder.to_str().unwrap();
    let domain = format!("{folder}/domain");
    for name in ["run", "ncalrpc"] {
        std::fs::create_dir_all(format!("{domain}/{name}")).unwrap();
    }
    let mut command = Command::new(SAMBA_TOOL);
    command.args(["domain", "provision", "--realm=DIR.TEST", "--domain=DIR"]);
    command.args(["--server-role=dc", "--dns-backend=NONE", "--host-name=dc"]);
    command.arg(format!("--targetdir={domain}"));
    command.arg(format!("--adminpass={ADMINISTRATOR_PASSWORD}"));
    command.arg(format!("--host-ip={address}"));
    for option in [
        "server services=ldap".to_owned(),
        // The data need not survive the test.
        "ldb:nosync=yes".to_owned(),
        "bind interfaces only=yes".to_owned(),
        format!("interfaces={address}/8"),
        format!("pid directory={domain}/run"),
        format!("ncalrpc dir={domain}/ncalrpc"),
        format!("log file={domain}/log"),
        format!("tls keyfile={folder}/key.pem"),
        format!("tls certfile={folder}/certificate.pem"),
        format!("tls cafile={folder}/authority.pem"),
    ] {
        command.arg(format!("--option={option}"));
    }
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "samba-tool: {stderr}");
}

/// Encodes a password for `unicodePwd`: in quotes, UTF-16 (MS-ADTS §3.1.1.3.1.5.1).
pub(crate) fn unicode_password(password: &str) -> String {
    let quoted = format!("\"{password}\"");
    let bytes: Vec<u8> = quoted.encode_utf16().flat_map(u16::to_le_bytes).collect();
    STANDARD.encode(bytes)
}
