//! `drover login`, `logout`, `whoami` and `context`.

mod provider;
mod who;

use std::path::Path;

use drover_api::kinds::TokenPurpose;
use drover_api::rest::{IssuedToken, LoginRequest, PasswordChange, Secret, Version};
use reqwest::Method;

pub(crate) use who::{context, logout, whoami};

use crate::args::{LoginArgs, ServerUrl};
use crate::client::{self, CallError, Client};
use crate::config::{Config, ConfigFile, Context};
use crate::environment::{Environment, authorities_in, trust_of};
use crate::failure::Failure;
use crate::terminal::{ask, ask_new_password, ask_password, confirm, notice, read_password};
use crate::trust::{Authorities, Fingerprint, Trust, TrustError};

/// Logs in and remembers it.
pub(crate) async fn login(args: &LoginArgs, environment: &Environment) -> Result<(), Failure> {
    let file = environment.config_file(args.config.as_deref())?;
    let config = file.read()?;
    let (server, known) = target(args, &config)?;
    let name = name_for(args, &server, known, &config, environment)?;
    let ca_file = authority_file(args, environment)?;
    let (trust, client) = believe(args, ca_file, &server, known).await?;
    let issued = match &args.provider {
        Some(provider) => provider::sign_in(args, &client, provider).await?,
        None => sign_in(args, &client, &username(args)?).await?,
    };
    let username = issued.metadata.username.clone();
    let expires_at = issued.metadata.expires_at;
    let context = Context {
        name,
        announced: known
            .and_then(|known| known.announced.clone())
            .filter(|url| *url != server),
        server,
        certificate_authority: match trust {
            Trust::SystemRoots => None,
            Trust::Authorities(authorities) => Some(authorities.to_pem()),
        },
        username,
        token: Some(issued.token),
        expires_at: Some(expires_at),
    };
    remember(&file, context, &client).await
}

fn username(args: &LoginArgs) -> Result<String, Failure> {
    match &args.username {
        Some(name) => Ok(name.clone()),
        None => Ok(ask(
            "User name: ",
            "the user's name",
            "give it with --username",
        )?),
    }
}

fn password(args: &LoginArgs) -> Result<Secret, Failure> {
    if args.password_stdin {
        return Ok(read_password("the password")?);
    }
    let instead = "give it with --password-stdin";
    Ok(ask_password("Password: ", "the password", instead)?)
}

/// The server that was named, or that of the chosen context; and what is known of it.
fn target<'a>(
    args: &LoginArgs,
    config: &'a Config,
) -> Result<(ServerUrl, Option<&'a Context>), Failure> {
    let name = args.context.as_deref();
    if let Some(url) = &args.url {
        let named = name
            .and_then(|name| config.context(name))
            .filter(|context| context.server == *url);
        return Ok((url.clone(), named.or_else(|| config.of_server(url))));
    }
    let context = config.chosen(name)?.ok_or_else(|| {
        Failure::Usage("name the server: drover login https://HOST:PORT".to_owned())
    })?;
    Ok((context.server.clone(), Some(context)))
}

/// The name under which the server is remembered; only a typed one takes another server's place.
fn name_for(
    args: &LoginArgs,
    server: &ServerUrl,
    known: Option<&Context>,
    config: &Config,
    environment: &Environment,
) -> Result<String, Failure> {
    let Some(name) = &args.context else {
        return Ok(known.map_or_else(|| server.authority(), |known| known.name.clone()));
    };
    match config.context(name) {
        Some(other) if other.server != *server && !environment.is_typed("context") => {
            Err(Failure::Usage(format!(
                "$DROVER_CONTEXT is {name:?}, under which {} is remembered; unset it, or give \
                 {server} a name with --context NAME",
                other.server
            )))
        }
        _ => Ok(name.clone()),
    }
}

/// The file of authorities, unless a fingerprint was typed instead.
fn authority_file<'a>(
    args: &'a LoginArgs,
    environment: &Environment,
) -> Result<Option<&'a Path>, Failure> {
    match (&args.ca_file, &args.ca_fingerprint) {
        (Some(_), Some(_)) if environment.is_typed("ca-file") => Err(Failure::Usage(
            "--ca-file and --ca-fingerprint cannot be used together".to_owned(),
        )),
        (_, Some(_)) => Ok(None),
        (path, None) => Ok(path.as_deref()),
    }
}

/// Writes the login down, then ends the one that it replaces.
async fn remember(file: &ConfigFile, context: Context, client: &Client) -> Result<(), Failure> {
    let said = format!("Logged in to {} as {}.", context.server, context.username);
    let server = context.server.clone();
    let old = file.change(|config| {
        let old = config.context(&context.name).cloned();
        config.remember(context);
        Ok(old)
    })?;
    if let Some(token) = old
        .filter(|old| old.server == server)
        .and_then(|old| old.token)
    {
        // It may have ended by itself; the new login stands either way.
        let ended = client.with_token(token);
        drop(
            ended
                .command(Method::POST, &["v1", "logout"], None::<&()>)
                .await,
        );
    }
    notice(&said);
    Ok(())
}

/// Finds out whom to believe, by the order in the documentation of [`crate::trust`].
async fn believe(
    args: &LoginArgs,
    ca_file: Option<&Path>,
    server: &ServerUrl,
    known: Option<&Context>,
) -> Result<(Trust, Client), Failure> {
    let timeout = args.request_timeout.0;
    if let Some(path) = ca_file {
        let trust = Trust::Authorities(authorities_in(path)?);
        return check(server, trust, args, |server, reason| {
            TrustError::NotVouchedFor { server, reason }
        })
        .await;
    }
    if let Some(text) = &args.ca_fingerprint {
        let wanted = Fingerprint::parse(text)?;
        let shown = client::look(server, timeout).await?;
        let authorities = shown.with_fingerprint(wanted, &server.to_string())?;
        let trust = Trust::Authorities(authorities);
        return check(server, trust, args, |server, reason| {
            TrustError::NotVouchedFor { server, reason }
        })
        .await;
    }
    if let Some(known) = known.filter(|known| known.certificate_authority.is_some()) {
        return check(server, trust_of(known)?, args, |server, reason| {
            TrustError::Changed { server, reason }
        })
        .await;
    }
    match try_out(server, &Trust::SystemRoots, args).await {
        Ok(client) => Ok((Trust::SystemRoots, client)),
        Err(CallError::Untrusted { .. }) => {
            let trust = Trust::Authorities(first_use(server, args).await?);
            check(server, trust, args, |server, reason| {
                TrustError::NotVouchedFor { server, reason }
            })
            .await
        }
        Err(error) => Err(error.into()),
    }
}

async fn check(
    server: &ServerUrl,
    trust: Trust,
    args: &LoginArgs,
    refuse: impl FnOnce(String, String) -> TrustError,
) -> Result<(Trust, Client), Failure> {
    match try_out(server, &trust, args).await {
        Ok(client) => Ok((trust, client)),
        Err(CallError::Untrusted { server, reason }) => Err(refuse(server, reason).into()),
        Err(error) => Err(error.into()),
    }
}

/// Asks for the version: no secret has been sent before this has passed.
async fn try_out(server: &ServerUrl, trust: &Trust, args: &LoginArgs) -> Result<Client, CallError> {
    let client = Client::new(server.clone(), trust, None, args.request_timeout.0)?;
    client.get::<Version>(&["v1", "version"]).await?;
    Ok(client)
}

/// Shows the authority that the server shows, and asks.
async fn first_use(server: &ServerUrl, args: &LoginArgs) -> Result<Authorities, Failure> {
    let shown = client::look(server, args.request_timeout.0).await?;
    let (authorities, subject, fingerprint) = shown.authority(&server.to_string())?;
    notice(&format!(
        "This machine does not know the authority that vouches for {server}:\n  \
         {}\n  {fingerprint}\n\
         Compare the fingerprint with the one that the server printed when it started.",
        crate::table::printable(&subject)
    ));
    confirm(
        "Trust it from now on?",
        "trust in the server's authority",
        "name it with --ca-fingerprint or --ca-file",
    )?;
    Ok(authorities)
}

/// Gets a session, by way of a new password if the server demands one.
async fn sign_in(
    args: &LoginArgs,
    client: &Client,
    username: &str,
) -> Result<IssuedToken, Failure> {
    let password = password(args)?;
    let issued = post_login(client, username, password.clone()).await?;
    if issued.metadata.purpose != TokenPurpose::PasswordChange {
        return Ok(issued);
    }
    let new = if args.new_password_stdin {
        read_password("the new password")?
    } else {
        notice("The password must be changed before anything else.");
        ask_new_password("the server demands a new one, give it with --new-password-stdin")?
    };
    change_password(&client.with_token(issued.token), password, new.clone()).await?;
    Ok(post_login(client, username, new).await?)
}

async fn post_login(
    client: &Client,
    username: &str,
    password: Secret,
) -> Result<IssuedToken, CallError> {
    let request = LoginRequest {
        username: username.to_owned(),
        password,
    };
    client.post(&["v1", "login"], &request).await
}

/// Changes the password of whom the client speaks for.
pub(crate) async fn change_password(
    client: &Client,
    current: Secret,
    new: Secret,
) -> Result<(), CallError> {
    let change = PasswordChange { current, new };
    client
        .command(Method::POST, &["v1", "me", "password"], Some(&change))
        .await
}
