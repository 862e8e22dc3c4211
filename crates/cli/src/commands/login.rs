//! Implements `drover login`, `logout`, `whoami` and `context`.

mod provider;
mod session;

use std::path::Path;

use drover_api::kinds::TokenPurpose;
use drover_api::rest::{IssuedToken, LoginRequest, PasswordChange, Secret, Version};
use reqwest::Method;

pub(crate) use session::{context, logout, whoami};

use crate::args::{LoginArgs, ServerUrl};
use crate::client::{self, CallError, Client};
use crate::config::{Config, ConfigFile, Context};
use crate::environment::{Environment, authorities_in, trust_of};
use crate::failure::Failure;
use crate::terminal::{ask, ask_new_password, ask_password, confirm, notice, read_password};
use crate::trust::{Authorities, Fingerprint, Trust, TrustError};

/// Logs in to a server, and stores the token in the login file.
pub(crate) async fn login(args: &LoginArgs, environment: &Environment) -> Result<(), Failure> {
    let file = environment.config_file(args.config.as_deref())?;
    let config = file.read()?;
    let (server, known) = target(args, &config)?;
    let name = context_name(args, &server, known, &config, environment)?;
    let ca_file = authority_file(args, environment)?;
    let (trust, client) = establish_trust(args, ca_file, &server, known).await?;
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
    store(&file, context, &client).await
}

fn username(args: &LoginArgs) -> Result<String, Failure> {
    match &args.username {
        Some(name) => Ok(name.clone()),
        None => Ok(ask("User name: ", "the user name", "use --username")?),
    }
}

fn password(args: &LoginArgs) -> Result<Secret, Failure> {
    if args.password_stdin {
        return Ok(read_password("the password")?);
    }
    let instead = "use --password-stdin";
    Ok(ask_password("Password: ", "the password", instead)?)
}

/// Returns the server to log in to, and the stored context of this server, if any. The server is
/// the URL on the command line, or else the server of the selected context.
fn target<'a>(
    args: &LoginArgs,
    config: &'a Config,
) -> Result<(ServerUrl, Option<&'a Context>), Failure> {
    let name = args.context.as_deref();
    if let Some(url) = &args.url {
        let named = name
            .and_then(|name| config.context(name))
            .filter(|context| context.server == *url);
        return Ok((url.clone(), named.or_else(|| config.for_server(url))));
    }
    let context = config.selected(name)?.ok_or_else(|| {
        Failure::Usage("no server is set; run: drover login https://HOST:PORT".to_owned())
    })?;
    Ok((context.server.clone(), Some(context)))
}

/// Returns the name of the context to store. A name from the command line can replace the context
/// of a different server. A name from `$DROVER_CONTEXT` cannot replace the context of a different
/// server.
fn context_name(
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
                "$DROVER_CONTEXT is {name:?}, which is the context of {context_server}; unset \
                 the variable, or set a different context name for {server} with --context NAME",
                context_server = other.server
            )))
        }
        _ => Ok(name.clone()),
    }
}

/// Returns the file of --ca-file, unless --ca-fingerprint is set.
fn authority_file<'a>(
    args: &'a LoginArgs,
    environment: &Environment,
) -> Result<Option<&'a Path>, Failure> {
    match (&args.ca_file, &args.ca_fingerprint) {
        (Some(_), Some(_)) if environment.is_typed("ca-file") => Err(Failure::Usage(
            "cannot use --ca-file and --ca-fingerprint together; remove one of them".to_owned(),
        )),
        (_, Some(_)) => Ok(None),
        (path, None) => Ok(path.as_deref()),
    }
}

/// Stores the login, and then ends the session of the replaced login on the server.
async fn store(file: &ConfigFile, context: Context, client: &Client) -> Result<(), Failure> {
    let message = format!("Logged in to {} as {}.", context.server, context.username);
    let server = context.server.clone();
    let old = file.change(|config| {
        let old = config.context(&context.name).cloned();
        config.insert(context);
        Ok(old)
    })?;
    if let Some(token) = old
        .filter(|old| old.server == server)
        .and_then(|old| old.token)
    {
        // Ignore errors: the old login may have expired, and the new one is valid.
        let ended = client.with_token(token);
        drop(
            ended
                .command(Method::POST, &["v1", "logout"], None::<&()>)
                .await,
        );
    }
    notice(&message);
    Ok(())
}

/// Determines the certificate authorities to trust, in the order that [`crate::trust`] documents.
async fn establish_trust(
    args: &LoginArgs,
    ca_file: Option<&Path>,
    server: &ServerUrl,
    known: Option<&Context>,
) -> Result<(Trust, Client), Failure> {
    let timeout = args.request_timeout.0;
    if let Some(path) = ca_file {
        let trust = Trust::Authorities(authorities_in(path)?);
        return check(server, trust, args, |server, reason| {
            TrustError::NotSigned { server, reason }
        })
        .await;
    }
    if let Some(text) = &args.ca_fingerprint {
        let expected = Fingerprint::parse(text)?;
        let presented = client::presented_certificates(server, timeout).await?;
        let authorities = presented.with_fingerprint(expected, &server.to_string())?;
        let trust = Trust::Authorities(authorities);
        return check(server, trust, args, |server, reason| {
            TrustError::NotSigned { server, reason }
        })
        .await;
    }
    if let Some(known) = known.filter(|known| known.certificate_authority.is_some()) {
        return check(server, trust_of(known)?, args, |server, reason| {
            TrustError::AuthorityChanged { server, reason }
        })
        .await;
    }
    match connect(server, &Trust::SystemRoots, args).await {
        Ok(client) => Ok((Trust::SystemRoots, client)),
        Err(CallError::Untrusted { .. }) => {
            let trust = Trust::Authorities(confirm_authority(server, args).await?);
            check(server, trust, args, |server, reason| {
                TrustError::NotSigned { server, reason }
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
    match connect(server, &trust, args).await {
        Ok(client) => Ok((trust, client)),
        Err(CallError::Untrusted { server, reason }) => Err(refuse(server, reason).into()),
        Err(error) => Err(error.into()),
    }
}

/// Requests the version over a verified connection. The client sends secrets only after this
/// request.
async fn connect(server: &ServerUrl, trust: &Trust, args: &LoginArgs) -> Result<Client, CallError> {
    let client = Client::new(server.clone(), trust, None, args.request_timeout.0)?;
    client.get::<Version>(&["v1", "version"]).await?;
    Ok(client)
}

/// Shows the certificate authority that the server presents, and asks for confirmation.
async fn confirm_authority(server: &ServerUrl, args: &LoginArgs) -> Result<Authorities, Failure> {
    let presented = client::presented_certificates(server, args.request_timeout.0).await?;
    let (authorities, subject, fingerprint) = presented.authority(&server.to_string())?;
    notice(&format!(
        "This machine does not trust the certificate authority of {server}:\n  \
         {}\n  {fingerprint}\n\
         Compare the fingerprint with the fingerprint that the server printed at its start.",
        crate::table::printable(&subject)
    ));
    confirm(
        "Trust this certificate authority?",
        "confirmation of the certificate authority",
        "use --ca-fingerprint or --ca-file",
    )?;
    Ok(authorities)
}

/// Logs in with a password. Changes the password if the server requires a password change.
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
        notice("You must change the password.");
        ask_new_password("use --new-password-stdin")?
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

/// Changes the password of the logged-in user.
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
