//! The file that stores the logins: servers, certificate authorities and tokens.
//!
//! The file contains tokens. Only the owner can read the file (mode 0600 on Unix). Errors never
//! quote the file's content.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use drover_api::rest::Secret;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::args::ServerUrl;
use crate::platform::{create_private_folder, mode_for_others, private_file};

/// Maximum size of the file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The content of the file that stores the logins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Config {
    /// Name of the context that commands use if no context is selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    /// The contexts, in the order of their first login.
    #[serde(default)]
    pub(crate) contexts: Vec<Context>,
}

/// A server, and the login of the user on the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Context {
    /// Unique name of the context.
    pub(crate) name: String,
    /// Address of the server.
    pub(crate) server: ServerUrl,
    /// Alternative address of the server, from a kubeconfig that the server created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) announced: Option<ServerUrl>,
    /// The trusted certificate authorities as PEM. `None` means the certificate authorities of the
    /// system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) certificate_authority: Option<String>,
    /// Name of the logged-in user.
    pub(crate) username: String,
    /// The token. `None` after `drover logout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<Secret>,
    /// Expiry time of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
}

/// The error of reading or writing the login file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The location of the file is unknown.
    #[error(
        "cannot locate the file of stored logins: neither $XDG_CONFIG_HOME nor $HOME is set; use \
         --config FILE"
    )]
    NoHome,
    /// The file cannot be read.
    #[error("cannot read the stored logins from {path}: {source}")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Other users can read the file.
    #[error(
        "cannot use the stored logins in {path}: other users can read the file (mode \
         {mode:04o}); run `chmod 600 {path}`, and log in again if other users have access to \
         this machine"
    )]
    InsecureMode {
        /// Path of the file.
        path: PathBuf,
        /// Permission bits of the file.
        mode: u32,
    },
    /// The content of the file is invalid.
    #[error(
        "cannot parse the stored logins in {path}{position}; correct the file, or delete the \
         file and log in again", position = .place
    )]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Position of the error. The error does not quote the content, because the content can be
        /// a token.
        place: String,
    },
    /// The file cannot be written.
    #[error("cannot write the stored logins to {path}: {source}")]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The context does not exist.
    #[error("context {name:?} not found; `drover context list` lists all contexts", name = .0)]
    NoContext(String),
}

/// The location of the login file.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
}

impl ConfigFile {
    /// Returns the file at `path`. The default is `drover/config.yaml` in `xdg_config_home` or in
    /// `home/.config`.
    pub(crate) fn locate(
        path: Option<&Path>,
        xdg_config_home: Option<&Path>,
        home: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let default = || {
            xdg_config_home
                // The XDG specification declares relative paths invalid. Ignore them.
                .filter(|path| path.is_absolute())
                .map(Path::to_path_buf)
                .or_else(|| home.map(|home| home.join(".config")))
                .map(|base| base.join("drover").join("config.yaml"))
        };
        let path = path.map(Path::to_path_buf).or_else(default);
        path.map(|path| Self { path }).ok_or(ConfigError::NoHome)
    }

    /// Reads the file. Returns an empty configuration if the file does not exist.
    pub(crate) fn read(&self) -> Result<Config, ConfigError> {
        let failed = |source| ConfigError::Read {
            path: self.path.clone(),
            source,
        };
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
            Err(error) => return Err(failed(error)),
        };
        if let Some(mode) = mode_for_others(&file.metadata().map_err(failed)?) {
            return Err(ConfigError::InsecureMode {
                path: self.path.clone(),
                mode,
            });
        }
        let mut text = String::new();
        file.take(MAX_BYTES)
            .read_to_string(&mut text)
            .map_err(failed)?;
        self.parse(&text)
    }

    fn parse(&self, text: &str) -> Result<Config, ConfigError> {
        if text.trim().is_empty() {
            return Ok(Config::default());
        }
        serde_saphyr::from_str(text).map_err(|error| ConfigError::Invalid {
            path: self.path.clone(),
            place: error
                .location()
                .map(|at| format!(" at line {}, column {}", at.line(), at.column()))
                .unwrap_or_default(),
        })
    }

    /// Changes the file under a lock that excludes other `drover` processes.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut Config) -> Result<T, ConfigError>,
    ) -> Result<T, ConfigError> {
        let failed = |source| ConfigError::Write {
            path: self.path.clone(),
            source,
        };
        let directory = self.path.parent().unwrap_or_else(|| Path::new("."));
        create_private_folder(directory).map_err(failed)?;
        let lock = private_file(OpenOptions::new().create(true).truncate(false).write(true))
            .open(self.path.with_extension("lock"))
            .map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut config = self.read()?;
        let result = change(&mut config)?;
        let text = serde_saphyr::to_string(&config)
            .map_err(|error| failed(io::Error::other(error.to_string())))?;
        write_private(&self.path, text.as_bytes()).map_err(failed)?;
        Ok(result)
    }
}

/// Replaces a file atomically. Only the owner can read the new file.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
        Err(error) => return Err(error),
    };
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let new = target.with_file_name(name);
    let written = private_file(OpenOptions::new().create_new(true).write(true))
        .open(&new)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&new, &target));
    if written.is_err() {
        drop(fs::remove_file(&new));
    }
    written
}

impl Context {
    /// Reports whether `server` is the address or the alternative address of the context's server.
    pub(crate) fn serves(&self, server: &ServerUrl) -> bool {
        self.server == *server || self.announced.as_ref() == Some(server)
    }
}

impl Config {
    /// Returns the context with this name.
    pub(crate) fn context(&self, name: &str) -> Option<&Context> {
        self.contexts.iter().find(|context| context.name == name)
    }

    /// Returns the context with this name. Without a name, returns the current context.
    pub(crate) fn selected(&self, name: Option<&str>) -> Result<Option<&Context>, ConfigError> {
        match name {
            Some(name) => self
                .context(name)
                .map(Some)
                .ok_or_else(|| ConfigError::NoContext(name.to_owned())),
            None => Ok(self.current.as_deref().and_then(|name| self.context(name))),
        }
    }

    /// Returns the context of a server. A match with the address of the login takes precedence over
    /// a match with the alternative address. The current context takes precedence over other
    /// contexts.
    pub(crate) fn for_server(&self, server: &ServerUrl) -> Option<&Context> {
        let current = self.current.as_deref().and_then(|name| self.context(name));
        let ordered = || current.into_iter().chain(&self.contexts);
        ordered()
            .find(|context| context.server == *server)
            .or_else(|| ordered().find(|context| context.serves(server)))
    }

    /// Adds or replaces a context, and makes this context the current context.
    pub(crate) fn insert(&mut self, context: Context) {
        self.current = Some(context.name.clone());
        match self
            .contexts
            .iter_mut()
            .find(|old| old.name == context.name)
        {
            Some(old) => *old = context,
            None => self.contexts.push(context),
        }
    }

    /// Removes a context. If the context is the current context, no context is current afterwards.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), ConfigError> {
        let before = self.contexts.len();
        self.contexts.retain(|context| context.name != name);
        if self.contexts.len() == before {
            return Err(ConfigError::NoContext(name.to_owned()));
        }
        if self.current.as_deref() == Some(name) {
            self.current = None;
        }
        Ok(())
    }

    /// Makes this context the current context. Returns an error if the context does not exist.
    pub(crate) fn select(&mut self, name: &str) -> Result<(), ConfigError> {
        if self.context(name).is_none() {
            return Err(ConfigError::NoContext(name.to_owned()));
        }
        self.current = Some(name.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
