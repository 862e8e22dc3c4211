//! Runs Debian's slapd as a process with its own configuration, port and folder.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::authority::Authority;

/// Distinguished name of the service account.
pub const DROVER: &str = "cn=drover,dc=example,dc=org";
/// Password of the service account.
pub const DROVER_PASSWORD: &str = "of the service account";

const SLAPD: &str = "/usr/sbin/slapd";
const SETPRIV: &str = "/usr/bin/setpriv";
const LDAPMODIFY: &str = "/usr/bin/ldapmodify";
const ROOT: &str = "cn=root,dc=example,dc=org";
const ROOT_PASSWORD: &str = "of the administrator";
const HOST: &str = "127.0.0.1";
/// Maximum number of attempts to start slapd. A start fails if a different process binds the
/// selected port before slapd.
const MAX_STARTS: usize = 10;
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The elements of Active Directory's schema that the tests need, with equality rules. Debian's
/// msuser.schema lacks these rules.
const ACTIVE_DIRECTORY: &str = "
attributetype ( 1.2.840.113556.1.4.221 NAME 'sAMAccountName' EQUALITY caseIgnoreMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.159 NAME 'accountExpires' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.2 NAME 'objectGUID' EQUALITY octetStringMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.146 NAME 'objectSid' EQUALITY octetStringMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.98 NAME 'primaryGroupID' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
objectclass ( 1.2.840.113556.1.5.9 NAME 'user' SUP inetOrgPerson STRUCTURAL
  MUST ( sAMAccountName $ objectGUID )
  MAY ( userAccountControl $ accountExpires $ objectSid $ primaryGroupID ) )
objectclass ( 1.2.840.113556.1.3.30 NAME 'computer' SUP user STRUCTURAL )
objectclass ( 1.2.840.113556.1.5.8 NAME 'group' SUP top STRUCTURAL
  MUST ( cn $ objectGUID ) MAY ( member $ objectSid $ sAMAccountName $ userPassword ) )
";

/// The base entries of each test directory.
const TREE: &str = "
dn: dc=example,dc=org
objectClass: domain
dc: example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups

dn: cn=lockout,dc=example,dc=org
objectClass: device
objectClass: pwdPolicy
cn: lockout
pwdAttribute: userPassword
pwdLockout: TRUE
pwdMaxFailure: 1000
";

/// A running LDAP directory, which stops when the value is dropped.
#[derive(Debug)]
pub struct Slapd {
    folder: TempDir,
    authority: Authority,
    process: Option<Child>,
    ldap: u16,
    ldaps: u16,
}

impl Slapd {
    /// Starts a directory with the base entries and the LDIF entries `entries`.
    pub fn with(entries: &str) -> Self {
        // A search without paging returns at most 500 entries; with paging all.
        Self::limited(entries, "size.prtotal=unlimited")
    }

    /// Starts a directory like [`Self::start`]. Applies limits to the service account.
    pub fn limited(entries: &str, limits: &str) -> Self {
        for (program, package) in [(SLAPD, "slapd"), (LDAPMODIFY, "ldap-utils")] {
            assert!(
                Path::new(program).exists(),
                "{program} is missing: run .ci/install test, or apt-get install {package}"
            );
        }
        let authority = Authority::new();
        let folder = tempfile::tempdir().unwrap();
        let certified = authority.certify(HOST);
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("certificate.pem", &certified.certificate).unwrap();
        write("key.pem", &certified.key).unwrap();
        write("authority.pem", &authority.pem()).unwrap();
        write("active-directory.schema", ACTIVE_DIRECTORY).unwrap();
        write("slapd.conf", &configuration(folder.path(), limits)).unwrap();
        let drover = format!(
            "\ndn: {DROVER}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\n\
             cn: drover\nuserPassword: {DROVER_PASSWORD}\n"
        );
        write("entries.ldif", &format!("{TREE}{drover}\n{entries}")).unwrap();
        std::fs::create_dir(folder.path().join("database")).unwrap();
        // AppArmor confines slapd by the path of the program, so the test runs a copy. A separate
        // process copies the file: if this process had it open for writing, a child that
        // another test starts could inherit the file, and the copy would not start.
        let mut copy = Command::new("/bin/cp");
        let copied = copy.arg(SLAPD).arg(folder.path().join("program")).status();
        assert!(copied.unwrap().success());

        let mut slapd = Self {
            folder,
            authority,
            process: None,
            ldap: 0,
            ldaps: 0,
        };
        slapd.fill();
        slapd.start();
        slapd
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn fill(&self) {
        let mut command = Command::new(self.path("program"));
        // The name of the program selects the tool.
        command
            .arg0("slapadd")
            .arg("-f")
            .arg(self.path("slapd.conf"));
        command.arg("-q").arg("-l").arg(self.path("entries.ldif"));
        let output = command.output().unwrap();
        let output_text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "slapadd: {output_text}");
    }

    /// Starts slapd on the ports of its previous start, or on free ports.
    pub fn start(&mut self) {
        for _ in 0..MAX_STARTS {
            if self.ldap == 0 {
                let free = [(); 2].map(|()| TcpListener::bind((HOST, 0)).unwrap());
                [self.ldap, self.ldaps] = free.map(|free| free.local_addr().unwrap().port());
            }
            let log = std::fs::File::create(self.path("log")).unwrap();
            let urls = format!(
                "ldap://{HOST}:{}/ ldaps://{HOST}:{}/ {}",
                self.ldap,
                self.ldaps,
                self.socket()
            );
            // The kernel ends it with the test process.
            let mut command = Command::new(SETPRIV);
            command
                .args(["--pdeathsig", "KILL"])
                .arg(self.path("program"));
            command.arg("-f").arg(self.path("slapd.conf"));
            command.args(["-d", "0", "-h", &urls]);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log);
            let mut process = command.spawn().unwrap();
            if self.is_up(&mut process) {
                self.process = Some(process);
                return;
            }
            self.ldap = 0;
        }
        let log = std::fs::read_to_string(self.path("log")).unwrap();
        panic!("slapd did not start: {log}");
    }

    fn is_up(&self, process: &mut Child) -> bool {
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            if process.try_wait().unwrap().is_some() {
                return false;
            }
            let ports = [self.ldap, self.ldaps];
            if ports
                .iter()
                .all(|port| TcpStream::connect((HOST, *port)).is_ok())
            {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("slapd is neither up nor down after {START_TIMEOUT:?}");
    }

    /// Stops slapd, and closes its ports.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    fn socket(&self) -> String {
        let path = self.path("socket").to_str().unwrap().replace('/', "%2F");
        format!("ldapi://{path}")
    }

    /// Applies LDIF changes with the directory administrator's account.
    pub fn change(&self, changes: &str) {
        let mut command = Command::new(LDAPMODIFY);
        command.args(["-x", "-H", &self.socket(), "-D", ROOT, "-w", ROOT_PASSWORD]);
        // The relax control permits changes of operational attributes.
        command.args(["-e", "!relax"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut input = process.stdin.take().unwrap();
        input.write_all(changes.as_bytes()).unwrap();
        drop(input);
        let output = process.wait_with_output().unwrap();
        let output_text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ldapmodify: {output_text}");
    }

    /// Returns the certificate authority of the directory's TLS certificate.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Returns the URL for StartTLS.
    pub fn ldap(&self) -> String {
        format!("ldap://{HOST}:{}", self.ldap)
    }

    /// Returns the URL for LDAP over TLS.
    pub fn ldaps(&self) -> String {
        format!("ldaps://{HOST}:{}", self.ldaps)
    }

    /// Returns the port for StartTLS.
    pub fn port(&self) -> u16 {
        self.ldap
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.stop();
    }
}

fn configuration(folder: &Path, limits: &str) -> String {
    let folder = folder.to_str().unwrap();
    let mut text = String::new();
    for schema in ["core", "cosine", "nis", "inetorgperson"] {
        writeln!(text, "include /etc/ldap/schema/{schema}.schema").unwrap();
    }
    write!(
        text,
        "include {folder}/active-directory.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload ppolicy
TLSCertificateFile {folder}/certificate.pem
TLSCertificateKeyFile {folder}/key.pem
sizelimit 500
threads 4
database mdb
suffix dc=example,dc=org
directory {folder}/database
maxsize 67108864
dbnosync
rootdn {ROOT}
rootpw \"{ROOT_PASSWORD}\"
index objectClass,uid,member,memberUid,entryUUID eq
limits dn.exact={DROVER} {limits}
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact={DROVER} read by * none
overlay ppolicy
ppolicy_default cn=lockout,dc=example,dc=org
"
    )
    .unwrap();
    text
}

/// Returns the LDIF of a user. The password is `password of LOGIN`. `more` contains additional
/// lines.
pub fn person(login: &str, more: &str) -> String {
    format!(
        "
dn: uid={login},ou=people,dc=example,dc=org
objectClass: inetOrgPerson
objectClass: shadowAccount
uid: {login}
cn: {login} of the tests
sn: Tests
mail: {login}@example.org
userPassword: password of {login}
{more}
"
    )
}

/// Returns the LDIF of a group whose members have these distinguished names.
pub fn group(name: &str, members: &[&str]) -> String {
    let mut text = format!(
        "\ndn: cn={name},ou=groups,dc=example,dc=org\nobjectClass: groupOfNames\ncn: {name}\n"
    );
    for member in members {
        writeln!(text, "member: {member}").unwrap();
    }
    text
}
