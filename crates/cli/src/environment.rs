//! Environment variables and the server that a command calls.

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

/// Maximum size of a token file.
const MAX_TOKEN_BYTES: u64 = 4096;

/// Environment variables that have no flag. The program reads these variables once at its start.
#[derive(Debug, Default)]
pub struct Environment {
    /// Value of `$HOME`. On Windows, the value of `%USERPROFILE%` if `$HOME` is not set.
    pub(crate) home: Option<PathBuf>,
    /// Value of `$XDG_CONFIG_HOME`. On Windows, the value of `%APPDATA%` if `$XDG_CONFIG_HOME` is
    /// not set.
    pub(crate) xdg_config_home: Option<PathBuf>,
    /// Value of `$KUBECONFIG`.
    pub(crate) kubeconfig: Option<OsString>,
    /// Value of `$DROVER_TOKEN`. The CLI has no flag for the token, because other users of the
    /// machine can read command lines.
    pub(crate) token: Option<Secret>,
    /// Value of `$KUBERNETES_EXEC_INFO`. kubectl sets this variable.
    pub(crate) exec_info: Option<String>,
    /// Names of the flags on the command line. Values of other flags come from variables or
    /// defaults.
    pub(crate) typed: BTreeSet<String>,
}

/// The server that a command calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    /// The server of the named or current context.
    Context(Option<&'a str>),
    /// The server with this address. The token comes from a file or an environment variable.
    Direct(&'a ServerUrl),
}

impl Environment {
    /// Reads the environment variables and the command line of the process.
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

    /// Reports whether a flag is set on the command line.
    pub(crate) fn is_typed(&self, flag: &str) -> bool {
        self.typed.contains(flag)
    }

    /// Returns the server that the flags select. Flags on the command line take precedence over
    /// variables.
    pub(crate) fn target<'a>(&self, connection: &'a Connection) -> Result<Target<'a>, Failure> {
        let context = connection.context.as_deref();
        match (&connection.server, context) {
            (None, name) => Ok(Target::Context(name)),
            (Some(server), None) => Ok(Target::Direct(server)),
            (Some(server), Some(name)) => {
                match (self.is_typed("server"), self.is_typed("context")) {
                    (true, false) => Ok(Target::Direct(server)),
                    (false, true) => Ok(Target::Context(Some(name))),
                    (true, true) => Err(Failure::Usage(
                        "cannot use --context and --server together; remove one of them".to_owned(),
                    )),
                    (false, false) => Err(Failure::Usage(
                        "$DROVER_CONTEXT and $DROVER_SERVER are set; unset one of the variables, \
                         or use --context or --server"
                            .to_owned(),
                    )),
                }
            }
        }
    }

    /// Returns the location of the login file. `flag` takes precedence over the default.
    pub(crate) fn config_file(&self, flag: Option<&Path>) -> Result<ConfigFile, Failure> {
        let file = ConfigFile::locate(flag, self.xdg_config_home.as_deref(), self.home.as_deref())?;
        Ok(file)
    }

    /// Creates a client for the selected server, with a token.
    pub(crate) fn client(&self, connection: &Connection) -> Result<Client, Failure> {
        let name = match self.target(connection)? {
            Target::Direct(server) => return self.direct(connection, server),
            Target::Context(name) => name,
        };
        let config = self.config_file(connection.config.as_deref())?.read()?;
        let context = selected(&config, name)?;
        client_of(context, connection.request_timeout.0)
    }

    fn direct(&self, connection: &Connection, server: &ServerUrl) -> Result<Client, Failure> {
        let token = match &connection.token_file {
            Some(path) => Some(token_in(path)?),
            None => self.token.clone(),
        };
        let token = token.ok_or_else(|| {
            Failure::NotLoggedIn(format!(
                "--server {server} requires a token: use --token-file, or set $DROVER_TOKEN. To use \
                 a stored login, remove --server."
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

/// Returns the names of the long flags on the command line. For global flags, clap does not report
/// whether the value comes from the command line or from a variable.
fn typed(arguments: impl Iterator<Item = OsString>) -> BTreeSet<String> {
    arguments
        .take_while(|argument| argument != "--")
        .filter_map(|argument| {
            let flag = argument.to_str()?.strip_prefix("--")?;
            Some(flag.split('=').next().unwrap_or(flag).to_owned())
        })
        .collect()
}

/// Returns the named or current context, or an error with the next step.
pub(crate) fn selected<'a>(config: &'a Config, name: Option<&str>) -> Result<&'a Context, Failure> {
    config.selected(name)?.ok_or_else(|| {
        Failure::NotLoggedIn(if config.contexts.is_empty() {
            "not logged in; run: drover login https://HOST:PORT".to_owned()
        } else {
            "no current context; run `drover context list` and `drover context use NAME`".to_owned()
        })
    })
}

/// Creates a client with the login of a context.
pub(crate) fn client_of(
    context: &Context,
    timeout: std::time::Duration,
) -> Result<Client, Failure> {
    let token = context.token.clone().ok_or_else(|| {
        Failure::NotLoggedIn(format!(
            "not logged in to {server}; run: {login_command}",
            server = context.server,
            login_command = context.server.login_command()
        ))
    })?;
    if let Some(end) = context.expires_at.filter(|end| *end <= Timestamp::now()) {
        return Err(Failure::NotLoggedIn(format!(
            "the login to {server} expired {age} ago; run: {login_command}",
            server = context.server,
            age = crate::table::age(end, Timestamp::now()),
            login_command = context.server.login_command()
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

/// Returns the certificate authorities that a context trusts.
pub(crate) fn trust_of(context: &Context) -> Result<Trust, Failure> {
    Ok(match &context.certificate_authority {
        Some(pem) => {
            let from = format!("the stored certificate authority of {}", context.server);
            Trust::Authorities(Authorities::from_pem(pem.as_bytes(), &from)?)
        }
        None => Trust::SystemRoots,
    })
}

/// Reads the certificate authorities from a PEM file.
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
        "" => Err(Failure::Usage(format!(
            "cannot read a token from {path}: the file is empty",
            path = path.display()
        ))),
        token => Ok(Secret::new(token)),
    }
}
