//! Implements `drover logout`, `whoami` and `context`.

use drover_api::rest::Me;
use jiff::Timestamp;
use reqwest::Method;
use serde::Serialize;

use crate::args::{ContextArgs, ContextCommand, LogoutArgs, WhoamiArgs};
use crate::client::CallError;
use crate::config::Context;
use crate::environment::{Environment, Target, client_of, selected};
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{DASH, describe, or_dash, until};
use crate::terminal::{notice, print};

/// Ends the session, or all sessions of the user, on the server, and deletes the stored token.
pub(crate) async fn logout(
    LogoutArgs {
        everywhere,
        connection,
    }: &LogoutArgs,
    environment: &Environment,
) -> Result<(), Failure> {
    let Target::Context(name) = environment.target(connection)? else {
        return Err(Failure::Usage(
            "cannot use --server with logout: logout deletes a stored login; use --context"
                .to_owned(),
        ));
    };
    let file = environment.config_file(connection.config.as_deref())?;
    let context = selected(&file.read()?, name)?.clone();
    let ended = match client_of(&context, connection.request_timeout.0) {
        Ok(client) => end(&client, *everywhere).await,
        // Without a token, the command has no session to end and cannot end the other sessions.
        Err(Failure::NotLoggedIn(_)) if !everywhere => Ok(()),
        Err(other) => Err(other),
    };
    file.change(|config| {
        if let Some(kept) = config.contexts.iter_mut().find(|c| c.name == context.name) {
            kept.token = None;
            kept.expires_at = None;
        }
        Ok(())
    })?;
    if ended.is_err() {
        notice(if *everywhere {
            "Deleted the stored login, but ended no other session. Log in and run the command again."
        } else {
            "Deleted the stored login, but the session on the server lasts until it expires."
        });
    }
    ended?;
    notice(&format!("Logged out of {}.", context.server));
    Ok(())
}

async fn end(client: &super::Client, everywhere: bool) -> Result<(), Failure> {
    let (method, path) = if everywhere {
        (Method::DELETE, "sessions")
    } else {
        (Method::POST, "logout")
    };
    let result = client.command(method, &["v1", path], None::<&()>).await;
    match result {
        Err(CallError::Refused(refusal)) if refusal.code == 401 && !everywhere => Ok(()),
        other => Ok(other?),
    }
}

/// The output of `drover whoami`.
#[derive(Debug, Serialize)]
struct Identity {
    server: String,
    #[serde(flatten)]
    me: Me,
}

impl Page for Identity {
    fn page(&self, now: Timestamp) -> String {
        let me = &self.me;
        let role = if me.administrator {
            "administrator"
        } else {
            "user"
        };
        let scope = me.token.cluster.as_ref();
        describe(&[
            ("Server", self.server.clone()),
            ("User", me.username.clone()),
            ("Display name", or_dash(me.display_name.as_deref())),
            ("Role", role.to_owned()),
            ("User in clusters", me.kubernetes_user.clone()),
            ("Token", me.token.id.clone()),
            (
                "Valid for",
                scope.map_or_else(|| "all clusters".to_owned(), |c| c.name.clone()),
            ),
            ("Expires", until(me.token.expires_at, now)),
        ])
    }
}

/// Prints the logged-in user.
pub(crate) async fn whoami(args: &WhoamiArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    let identity = Identity {
        server: client.server().to_string(),
        me: client.get(&["v1", "me"]).await?,
    };
    Ok(print(&one(
        &identity,
        args.output.format,
        Timestamp::now(),
    )?)?)
}

/// The fields of a context that the CLI prints. The CLI does not print the token.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextView {
    name: String,
    current: bool,
    server: String,
    username: String,
    logged_in: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

impl ContextView {
    fn of(context: &Context, current: Option<&str>, now: Timestamp) -> Self {
        Self {
            name: context.name.clone(),
            current: current == Some(context.name.as_str()),
            server: context.server.to_string(),
            username: context.username.clone(),
            logged_in: context.token.is_some() && context.expires_at.is_none_or(|end| end > now),
            expires_at: context.expires_at,
        }
    }
}

impl Listed for ContextView {
    const HEADINGS: &'static [&'static str] =
        &["CURRENT", "NAME", "SERVER", "USER", "LOGIN", "EXPIRES"];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let login = match (self.logged_in, self.expires_at) {
            (true, _) => "logged in",
            (false, Some(_)) => "expired",
            (false, None) => "logged out",
        };
        vec![
            if self.current { "*" } else { "" }.to_owned(),
            self.name.clone(),
            self.server.clone(),
            self.username.clone(),
            login.to_owned(),
            self.expires_at
                .map_or_else(|| DASH.to_owned(), |end| until(end, now)),
        ]
    }
}

/// Runs a subcommand of `drover context`.
pub(crate) fn context(args: &ContextArgs, environment: &Environment) -> Result<(), Failure> {
    let file = environment.config_file(args.config.as_deref())?;
    match &args.command {
        ContextCommand::List(output) => {
            let now = Timestamp::now();
            let config = file.read()?;
            let current = config.current.as_deref();
            let views: Vec<_> = config
                .contexts
                .iter()
                .map(|context| ContextView::of(context, current, now))
                .collect();
            let none = "No contexts. Log in to a server: drover login https://HOST:PORT";
            print(&list(views, output.format, now, none)?)?;
        }
        ContextCommand::Use { name } => {
            file.change(|config| config.select(name))?;
            notice(&format!("Commands now use the context {name:?}."));
        }
        ContextCommand::Delete { name } => {
            file.change(|config| config.remove(name))?;
            notice(&format!("Deleted the context {name:?}."));
        }
    }
    Ok(())
}
