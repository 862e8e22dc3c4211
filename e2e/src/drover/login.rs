//! Logs in as the first administrator of a server.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use super::{DroverError, prepare};
use crate::kubectl::CommandLine;
use crate::wait::eventually;

/// Timeout until the server has written the first password. The timeout includes the duration until
/// the Lease of a killed server expires.
const FIRST_PASSWORD_TIMEOUT: Duration = Duration::from_mins(1);

/// Logs in as the first administrator at `url`, and returns the password.
///
/// Uses the password stored in `folder`. If `folder` contains no password, changes the initial
/// password, which the server has written to `folder`.
pub(super) async fn log_in(
    folder: &Path,
    url: &str,
    trust: [&str; 2],
    command: &CommandLine,
) -> Result<String, DroverError> {
    let kept = folder.join("password");
    let words = ["login", url, "--username", "admin", "--password-stdin"];
    let arguments = || words.into_iter().chain(trust);
    let with = |stdin: String| command.clone().with_stdin(stdin);
    if let Ok(password) = fs::read_to_string(&kept) {
        with(format!("{password}\n")).run(arguments()).await?;
        return Ok(password);
    }
    let first = folder.join("first-password");
    // The server creates its first administrator after it becomes leader, shortly after it is
    // ready.
    let first = eventually("the first password", FIRST_PASSWORD_TIMEOUT, async || {
        let text = fs::read_to_string(&first).map_err(|error| error.to_string())?;
        // The file is created before the password is written.
        let whole = text.ends_with('\n').then(|| text.trim().to_owned());
        whole.ok_or_else(|| "the password file is incomplete".to_owned())
    })
    .await?;
    // Stored before the change, so that a crash does not lock the administrator out.
    let next = folder.join("admin-password.next");
    let password = match fs::read_to_string(&next) {
        Ok(password) => password,
        Err(_) => new_password()?,
    };
    keep_secret(&next, &password)?;
    let change = arguments().chain(["--new-password-stdin"]);
    if let Err(error) = with(format!("{first}\n{password}\n")).run(change).await {
        let again = with(format!("{password}\n"));
        again.run(arguments()).await.map_err(|_| error)?;
    }
    fs::rename(&next, &kept).map_err(prepare(&kept))?;
    Ok(password)
}

fn new_password() -> Result<String, DroverError> {
    let mut bytes = [0_u8; 15];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| DroverError::Unreadable {
        subject: "the system's randomness",
        text: String::new(),
    })?;
    Ok(base64::Engine::encode(
        &base64::engine::general_purpose::URL_SAFE_NO_PAD,
        bytes,
    ))
}

fn keep_secret(path: &Path, text: &str) -> Result<(), DroverError> {
    let opened = fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(prepare(path))
}
