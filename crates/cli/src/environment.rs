//! What the environment says; read once, at start.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use drover_api::rest::Secret;
use jiff::Timestamp;

use crate::args::{Connection, ServerUrl};
use crate::client::Client;
use crate::config::{Config, ConfigFile, Context};
use crate::failure::Failure;
use crate::trust::{Authorities, Trust};

/// A token longer than this is none.
const MAX_TOKEN_BYTES: u64 = 4096;

/// The variables that no flag stands for.
#[derive(Debug, Default)]
pub struct Environment {
    /// `$HOME`; on Windows `%USERPROFILE%` where that is not set.
    pub(crate) home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`; on Windows `%APPDATA%` where that is not set.
    pub(crate) xdg_config_home: Option<PathBuf>,
    /// `$KUBECONFIG`.
    pub(crate) kubeconfig: Option<OsString>,
    /// `$DROVER_TOKEN`: a flag would show it to everybody on the machine.
    pub(crate) token: Option<Secret>,
    /// `$KUBERNETES_EXEC_INFO`, from kubectl.
    pub(crate) exec_info: Option<String>,
    /// Names of the flags that were typed; other values come from variables or defaults.
    pub(crate) typed: BTreeSet<String>,
}

/// Which server a command talks to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// That of a remembered login: the named one, else the current one.
    Login(Option<&'a str>),
    /// This one, with a token from outside.
    Direct(&'a ServerUrl),
}

impl Environment {
    /// Reads them.
    pub fn read() -> Self {
        let path = |name| {
            std::env::var_os(name)
                .filter(|v| !v.is_empty())
                .map(PathBuf::from)
        };
        let windows = |name| cfg!(windows).then(|| path(name)).flatten();
        let text = |name| std::env::var(name).ok().filter(|v| !v.is_empty());
        Self {
            home: path("HOME").or_else(|| windows("USERPROFILE")),
            xdg_config_home: path("XDG_CONFIG_HOME").or_else(|| windows("APPDATA")),
            kubeconfig: std::env::var_os("KUBECONFIG"),
            token: text("DROVER_TOKEN").map(Secret::new),
            exec_info: text("KUBERNETES_EXEC_INFO"),
            typed: typed(std::env::args_os()),
        }
    }

    /// Whether a flag stands in the command line itself.
    pub(crate) fn is_typed(&self, flag: &str) -> bool {
        self.typed.contains(flag)
    }

    /// Which server the flags point at; what is typed counts more than what is exported.
    pub(crate) fn source<'a>(&self, connection: &'a Connection) -> Result<Source<'a>, Failure> {
        let context = connection.context.as_deref();
        match (&connection.server, context) {
            (None, name) => Ok(Source::Login(name)),
            (Some(server), None) => Ok(Source::Direct(server)),
            (Some(server), Some(name)) => {
                match (self.is_typed("server"), self.is_typed("context")) {
                    (true, false) => Ok(Source::Direct(server)),
                    (false, true) => Ok(Source::Login(Some(name))),
                    (true, true) => Err(Failure::Usage(
                        "--context and --server cannot be used together".to_owned(),
                    )),
                    (false, false) => Err(Failure::Usage(
                        "$DROVER_CONTEXT and $DROVER_SERVER are both set: unset one of them, or \
                         say which server with --context or --server"
                            .to_owned(),
                    )),
                }
            }
        }
    }

    /// The file of logins.
    pub(crate) fn config_file(&self, flag: Option<&Path>) -> Result<ConfigFile, Failure> {
        let file = ConfigFile::locate(flag, self.xdg_config_home.as_deref(), self.home.as_deref())?;
        Ok(file)
    }

    /// A client of the server that the flags, or the logins, point at; always with a token.
    pub(crate) fn client(&self, connection: &Connection) -> Result<Client, Failure> {
        let name = match self.source(connection)? {
            Source::Direct(server) => return self.direct(connection, server),
            Source::Login(name) => name,
        };
        let config = self.config_file(connection.config.as_deref())?.read()?;
        let context = chosen(&config, name)?;
        client_of(context, connection.request_timeout.0)
    }

    fn direct(&self, connection: &Connection, server: &ServerUrl) -> Result<Client, Failure> {
        let token = match &connection.token_file {
            Some(path) => Some(token_in(path)?),
            None => self.token.clone(),
        };
        let token = token.ok_or_else(|| {
            Failure::NotLoggedIn(format!(
                "--server {server} needs a token: name its file with --token-file, or set \
                 $DROVER_TOKEN. To use your login instead, leave --server out."
            ))
        })?;
        let trust = match &connection.ca_file {
            Some(path) => Trust::Authorities(authorities_in(path)?),
            None => Trust::SystemRoots,
        };
        let timeout = connection.request_timeout.0;
        Ok(Client::new(server.clone(), &trust, Some(token), timeout)?)
    }
}

/// The long flags that stand in the command line itself; clap does not tell them from variables
/// where a flag is global.
fn typed(arguments: impl Iterator<Item = OsString>) -> BTreeSet<String> {
    arguments
        .take_while(|argument| argument != "--")
        .filter_map(|argument| {
            let flag = argument.to_str()?.strip_prefix("--")?;
            Some(flag.split('=').next().unwrap_or(flag).to_owned())
        })
        .collect()
}

/// The context that counts, or what to do to have one.
pub(crate) fn chosen<'a>(config: &'a Config, name: Option<&str>) -> Result<&'a Context, Failure> {
    config.chosen(name)?.ok_or_else(|| {
        Failure::NotLoggedIn(if config.contexts.is_empty() {
            "not logged in; run: drover login https://HOST:PORT".to_owned()
        } else {
            "no server is chosen; `drover context list` shows those there are, and `drover \
             context use NAME` chooses one"
                .to_owned()
        })
    })
}

/// A client with the login of a context.
pub(crate) fn client_of(
    context: &Context,
    timeout: std::time::Duration,
) -> Result<Client, Failure> {
    let token = context.token.clone().ok_or_else(|| {
        Failure::NotLoggedIn(format!(
            "not logged in to {}; run: {}",
            context.server,
            context.server.login_command()
        ))
    })?;
    if let Some(end) = context.expires_at.filter(|end| *end <= Timestamp::now()) {
        return Err(Failure::NotLoggedIn(format!(
            "the login at {} expired {} ago; run: {}",
            context.server,
            crate::table::age(end, Timestamp::now()),
            context.server.login_command()
        )));
    }
    let trust = trust_of(context)?;
    Ok(Client::new(
        context.server.clone(),
        &trust,
        Some(token),
        timeout,
    )?)
}

/// Who may vouch for the server of a context.
pub(crate) fn trust_of(context: &Context) -> Result<Trust, Failure> {
    Ok(match &context.certificate_authority {
        Some(pem) => {
            let from = format!("the remembered authority of {}", context.server);
            Trust::Authorities(Authorities::from_pem(pem.as_bytes(), &from)?)
        }
        None => Trust::SystemRoots,
    })
}

/// The authorities in a PEM file.
pub(crate) fn authorities_in(path: &Path) -> Result<Authorities, Failure> {
    let from = path.display().to_string();
    let pem = std::fs::read(path).map_err(|source| Failure::Read {
        path: from.clone(),
        source,
    })?;
    Ok(Authorities::from_pem(&pem, &from)?)
}

fn token_in(path: &Path) -> Result<Secret, Failure> {
    let failed = |source| Failure::Read {
        path: path.display().to_string(),
        source,
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    std::io::Read::read_to_string(&mut std::io::Read::take(file, MAX_TOKEN_BYTES), &mut text)
        .map_err(failed)?;
    match text.trim() {
        "" => Err(Failure::Usage(format!("{} holds no token", path.display()))),
        token => Ok(Secret::new(token)),
    }
}
