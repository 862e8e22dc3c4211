//! Login with an identity provider: in a browser, or with a password.

use std::process::{Command, Stdio};
use std::time::Duration;

use drover_api::rest::{
    DeviceAnswer, DeviceCode, DevicePoll, IssuedToken, List, ProviderSignIn, ProviderView,
    SignInClient, SignInMethod,
};
use tokio::time::{Instant, sleep};

use super::{password, username};
use crate::args::LoginArgs;
use crate::client::{CallError, Client};
use crate::failure::Failure;
use crate::table::printable;
use crate::terminal::notice;

/// Minimum interval between two requests for the result of the login.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// Logs in with an identity provider.
pub(super) async fn sign_in(
    args: &LoginArgs,
    client: &Client,
    name: &str,
) -> Result<IssuedToken, Failure> {
    let providers: List<ProviderView> = client.get(&["v1", "providers"]).await?;
    let names: Vec<_> = providers.items.iter().map(|one| &*one.name).collect();
    let found = providers.items.iter().find(|one| one.name == name);
    let found = found.ok_or_else(|| Failure::Usage(unknown(name, &names)))?;
    match found.way {
        SignInMethod::Password => with_password(args, client, name).await,
        SignInMethod::Redirect => in_browser(client, &found.display_name).await,
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "the server has no identity providers; remove --provider".to_owned();
    }
    let known = printable(&known.join(", "));
    format!("the server has no identity provider {name:?}; use one of: {known}")
}

async fn with_password(
    args: &LoginArgs,
    client: &Client,
    name: &str,
) -> Result<IssuedToken, Failure> {
    let request = ProviderSignIn {
        by: SignInClient::Program,
        login: Some(username(args)?),
        password: Some(password(args)?),
        return_to: None,
    };
    let path = ["v1", "providers", name, "sign-in"];
    Ok(client.post(&path, &request).await?)
}

/// Shows a code, and waits until a signed-in user confirms the code in a browser.
async fn in_browser(client: &Client, title: &str) -> Result<IssuedToken, Failure> {
    let codes: DeviceCode = client.post(&["v1", "device"], &()).await?;
    let (url, code) = (
        printable(&codes.verification_url),
        printable(&codes.user_code),
    );
    notice(&format!(
        "Open this page in a browser:\n  {url}\nSign in with {} and enter this code:\n  \
         {code}\nOnly enter a code from a login that you started yourself.",
        printable(title)
    ));
    open_browser(&codes.verification_url);
    let life = Duration::from_secs(codes.expires_in_seconds.into());
    let pause = Duration::from_secs(codes.interval_seconds.into()).max(MIN_INTERVAL);
    let poll = DevicePoll {
        device_code: codes.device_code,
    };
    let end = Instant::now() + life;
    while Instant::now() < end {
        sleep(pause).await;
        let answer: Result<DeviceAnswer, CallError> =
            client.post(&["v1", "device", "token"], &poll).await;
        match answer {
            Ok(DeviceAnswer {
                issued: Some(issued),
            }) => return Ok(issued),
            Ok(DeviceAnswer { issued: None }) => {}
            // The connection may recover before the user confirms the code.
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::Other(
        "the code expired without confirmation; run \"drover login\" again".to_owned(),
    ))
}

/// Opens a page in the browser of a desktop session.
fn open_browser(url: &str) {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    // The server chooses the URL, so open only web pages.
    if !has_screen || !url.starts_with("https://") {
        return;
    }
    let mut opener = Command::new("xdg-open");
    opener.arg(url).stdin(Stdio::null());
    // Ignore errors: the command also prints the URL.
    let _ = opener.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
