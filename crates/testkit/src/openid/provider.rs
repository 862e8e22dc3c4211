//! The Node process of the test provider, and its npm packages.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::{Browser, CLIENT, SECRET};
use crate::authority::Authority;

/// Timeout of the package installation.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(5);
/// Timeout for a response of the provider. The timeout is long enough for a busy machine.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);
const NEEDED: &str = "the test requires Node 20 or newer with npm: see https://nodejs.org";

/// The options of a test provider.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The redirect URI after a sign-in.
    pub back: String,
    /// The redirect URI after logout.
    pub home: String,
    /// The client authentication method at the token endpoint.
    pub authentication: &'static str,
    /// The signing algorithm of ID tokens.
    pub algorithm: &'static str,
    /// True if the ID token contains all claims. False if only the userinfo response contains all
    /// claims.
    pub claims_in_token: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            back: "https://drover.example.com/v1/auth/oidc/callback".to_owned(),
            home: "https://drover.example.com/signed-out".to_owned(),
            authentication: "client_secret_basic",
            algorithm: "ES256",
            claims_in_token: false,
        }
    }
}

/// A running provider. The process ends when the test closes its standard input.
#[derive(Debug)]
pub struct Provider {
    /// URL of the provider.
    pub issuer: String,
    /// Certificate authority of the provider as PEM.
    pub authority: String,
    settings: Settings,
    child: Child,
    input: ChildStdin,
    /// Text that the process has written to standard error.
    errors: File,
    output: Lines<BufReader<ChildStdout>>,
}

impl Provider {
    /// Starts the process of a provider.
    pub async fn start(settings: &Settings) -> Self {
        let package = installed()
            .await
            .join("node_modules/oidc-provider/lib/index.js");
        let errors = tempfile::tempfile().unwrap();
        let mut child = Command::new("node")
            .arg(sources().join("server.mjs"))
            .arg(package)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors.try_clone().unwrap())
            .kill_on_drop(true)
            .spawn()
            .expect(NEEDED);
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let authority = Authority::new();
        let certified = authority.certify("127.0.0.1");
        let mut provider = Self {
            issuer: String::new(),
            authority: authority.pem(),
            settings: settings.clone(),
            child,
            input,
            errors,
            output: BufReader::new(output).lines(),
        };
        let mut client = json!({
            "client_id": CLIENT,
            "redirect_uris": [settings.back],
            "post_logout_redirect_uris": [settings.home],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": settings.authentication,
            "id_token_signed_response_alg": settings.algorithm,
        });
        if settings.authentication != "none" {
            client["client_secret"] = SECRET.into();
        }
        let command = json!({
            "key": certified.key,
            "certificate": certified.certificate,
            "claimsInToken": settings.claims_in_token,
            "client": client,
        });
        let response = provider.send_command(&command).await;
        response["issuer"]
            .as_str()
            .unwrap()
            .clone_into(&mut provider.issuer);
        provider
    }

    /// Creates a browser that has no session at the provider.
    pub fn browser(&self) -> Browser {
        Browser::new(&self.authority, &self.settings)
    }

    /// Replaces the signing keys of the provider.
    pub async fn rotate(&mut self) {
        self.send_command(&json!({"rotate": true})).await;
    }

    /// Changes the claims of a user at the provider.
    pub async fn change(&mut self, login: &str, to: &Value) {
        self.send_command(&json!({"change": login, "to": to})).await;
    }

    /// Stops the process of the provider.
    pub async fn stop(&mut self) {
        self.child.kill().await.unwrap();
    }

    async fn send_command(&mut self, command: &Value) -> Value {
        let line = format!("{command}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
        loop {
            let response = timeout(RESPONSE_TIMEOUT, self.output.next_line()).await;
            let response = response.expect("the provider responds in time").unwrap();
            let Some(response) = response else {
                unreachable!("the provider ended ({NEEDED}): {}", self.error_output());
            };
            // The output also contains advice.
            if let Ok(response) = serde_json::from_str(&response) {
                return response;
            }
        }
    }

    fn error_output(&mut self) -> String {
        let mut text = String::new();
        self.errors.seek(SeekFrom::Start(0)).unwrap();
        self.errors.read_to_string(&mut text).unwrap();
        text
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oidc-provider")
}

/// Returns a folder with the npm packages of the lock file. The first call on a machine installs
/// the packages.
async fn installed() -> &'static PathBuf {
    static INSTALLED: OnceCell<PathBuf> = OnceCell::const_new();
    INSTALLED.get_or_init(install).await
}

async fn install() -> PathBuf {
    let lock = std::fs::read(sources().join("package-lock.json")).unwrap();
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &lock);
    let hash = URL_SAFE_NO_PAD.encode(&hash.as_ref()[..12]);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || {
        std::env::home_dir()
            .expect("the environment variable HOME is set")
            .join(".cache")
    };
    let cache = cache.unwrap_or_else(home).join("drover/oidc-provider");
    let folder = cache.join(hash);
    if folder.is_dir() {
        return folder;
    }
    std::fs::create_dir_all(&cache).unwrap();
    let fresh = tempfile::tempdir_in(&cache).unwrap();
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(sources().join(file), fresh.path().join(file)).unwrap();
    }
    let ended = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(fresh.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = timeout(INSTALL_TIMEOUT, ended)
        .await
        .expect("npm ci ends in time");
    let ended = ended.expect(NEEDED);
    let response = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "npm ci: {response}");
    // Another process may have created the same folder.
    if std::fs::rename(fresh.path(), &folder).is_ok() {
        let _ = fresh.keep();
    }
    assert!(folder.is_dir(), "{} was not created", folder.display());
    folder
}
