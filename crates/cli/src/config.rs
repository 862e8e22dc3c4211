//! The file of logins: which servers, their authorities, and the tokens of the logins.
//!
//! The tokens in it are worth as much as the logins, so only the user may read the file (mode 0600 on
//! Unix) and an error about it never shows what is in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use drover_api::rest::Secret;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::args::ServerUrl;
use crate::platform::{create_private_folder, mode_for_others, private_file};

/// A file of logins greater than this is none.
const MAX_BYTES: u64 = 1024 * 1024;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Config {
    /// Name of the context that counts when none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    /// The servers, in the order of their first login.
    #[serde(default)]
    pub(crate) contexts: Vec<Context>,
}

/// A server that was logged in to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Context {
    /// What people type.
    pub(crate) name: String,
    /// Its address.
    pub(crate) server: ServerUrl,
    /// Another address of it, which it wrote into a kubeconfig.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) announced: Option<ServerUrl>,
    /// The only authorities that may vouch for it, PEM; the system's roots if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) certificate_authority: Option<String>,
    /// Who logged in.
    pub(crate) username: String,
    /// The login; absent after `drover logout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<Secret>,
    /// When the login ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
}

/// Why the file of logins cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Neither variable that says where it lies is set.
    #[error(
        "neither $XDG_CONFIG_HOME nor $HOME is set; say with --config FILE where logins are kept"
    )]
    NoHome,
    /// It cannot be read.
    #[error("cannot read the logins in {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others could read the tokens in it.
    #[error(
        "the logins in {path} can be read by others (mode {mode:04o}); run `chmod 600 {path}` and, \
         if others use this machine, log in again"
    )]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It is not what `drover login` writes.
    #[error(
        "the logins in {path} are damaged{place}; repair the file, or delete it and log in again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, without showing what: it could be a token.
        place: String,
    },
    /// It cannot be written.
    #[error("cannot write the logins to {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no such context.
    #[error("there is no context {0:?}; `drover context list` shows those there are")]
    NoContext(String),
}

/// Where the file lies, and how to change it.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
}

impl ConfigFile {
    /// The file at the given path, else at its usual place under the given directories.
    pub(crate) fn locate(
        path: Option<&Path>,
        xdg_config_home: Option<&Path>,
        home: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let usual = || {
            xdg_config_home
                // The XDG specification: relative paths are invalid and ignored.
                .filter(|path| path.is_absolute())
                .map(Path::to_path_buf)
                .or_else(|| home.map(|home| home.join(".config")))
                .map(|base| base.join("drover").join("config.yaml"))
        };
        let path = path.map(Path::to_path_buf).or_else(usual);
        path.map(|path| Self { path }).ok_or(ConfigError::NoHome)
    }

    /// What is in it; nothing if there is no file.
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
            return Err(ConfigError::OpenToOthers {
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
        serde_saphyr::from_str(text).map_err(|error| ConfigError::Damaged {
            path: self.path.clone(),
            place: error
                .location()
                .map(|at| format!(" at line {}, column {}", at.line(), at.column()))
                .unwrap_or_default(),
        })
    }

    /// Reads, changes and writes it with no other `drover` in between.
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

/// Replaces a file at once by one that only its owner may read.
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
    /// Whether an address is the server's, as it was typed or as it says itself.
    pub(crate) fn serves(&self, server: &ServerUrl) -> bool {
        self.server == *server || self.announced.as_ref() == Some(server)
    }
}

impl Config {
    /// The context of that name.
    pub(crate) fn context(&self, name: &str) -> Option<&Context> {
        self.contexts.iter().find(|context| context.name == name)
    }

    /// The context that counts: the named one, else the current one.
    pub(crate) fn chosen(&self, name: Option<&str>) -> Result<Option<&Context>, ConfigError> {
        match name {
            Some(name) => self
                .context(name)
                .map(Some)
                .ok_or_else(|| ConfigError::NoContext(name.to_owned())),
            None => Ok(self.current.as_deref().and_then(|name| self.context(name))),
        }
    }

    /// The context for a server's address: one that was logged in to at it, else one that
    /// announced it; of several the current one, else the first.
    pub(crate) fn of_server(&self, server: &ServerUrl) -> Option<&Context> {
        let current = self.current.as_deref().and_then(|name| self.context(name));
        let ordered = || current.into_iter().chain(&self.contexts);
        ordered()
            .find(|context| context.server == *server)
            .or_else(|| ordered().find(|context| context.serves(server)))
    }

    /// Puts a context in the place of the one of its name, or at the end, and makes it current.
    pub(crate) fn remember(&mut self, context: Context) {
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

    /// Drops a context; none is current afterwards if it was.
    pub(crate) fn forget(&mut self, name: &str) -> Result<(), ConfigError> {
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

    /// Makes a context current.
    pub(crate) fn choose(&mut self, name: &str) -> Result<(), ConfigError> {
        if self.context(name).is_none() {
            return Err(ConfigError::NoContext(name.to_owned()));
        }
        self.current = Some(name.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
