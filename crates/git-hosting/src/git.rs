//! The program git with an environment that contains no setting of the machine or of a user.

use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;

use tokio::process::Command;

/// Folders of programs if the server has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

static SEARCH_PATH: LazyLock<OsString> =
    LazyLock::new(|| std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into()));

/// Returns a command of git in a process group of its own.
///
/// `empty` is an empty folder: git finds no configuration in its home folder, and no hooks.
pub(crate) fn command(folder: &Path, empty: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", &*SEARCH_PATH)
        .env("HOME", empty)
        .env("XDG_CONFIG_HOME", empty)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .current_dir(folder)
        .process_group(0)
        .kill_on_drop(true);
    let empty = empty.to_string_lossy();
    // Settings in the environment take precedence over the configuration of the repository.
    let fixed = [("core.hooksPath", &*empty), ("core.fsmonitor", "false")];
    let all = fixed.iter().chain(settings);
    for (number, (key, value)) in all.clone().enumerate() {
        command
            .env(format!("GIT_CONFIG_KEY_{number}"), key)
            .env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    command.env("GIT_CONFIG_COUNT", all.count().to_string());
    command
}
