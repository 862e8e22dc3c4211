//! Implements `drover version`.

use drover_api::rest::Version;
use serde::Serialize;

use crate::args::{Format, VersionArgs};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::encode;
use crate::table::describe;
use crate::terminal::{notice, print};

/// The output of `drover version`. `server` is absent if `--client` is set or no login is stored.
#[derive(Debug, Serialize)]
struct Versions {
    client: Client,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Version>,
}

#[derive(Debug, Serialize)]
struct Client {
    version: &'static str,
    commit: &'static str,
}

/// Prints the version of the client, and the version of the server if a server is configured.
pub(crate) async fn run(
    args: &VersionArgs,
    environment: &Environment,
    commit: &'static str,
) -> Result<(), Failure> {
    let mut versions = Versions {
        client: Client {
            version: env!("CARGO_PKG_VERSION"),
            commit,
        },
        server: None,
    };
    let server_version = if args.client {
        Ok(None)
    } else {
        ask(args, environment).await
    };
    let server_version = match server_version {
        Ok(version) => {
            versions.server = version;
            Ok(())
        }
        Err(failure) => Err(failure),
    };
    print(&render(&versions, args.output.format)?)?;
    let shared = versions
        .server
        .as_ref()
        .and_then(|it| it.shared_address.as_ref());
    if let Some(shared) = shared {
        notice(&format!("Warning: {}", shared.warning()));
    }
    server_version
}

async fn ask(args: &VersionArgs, environment: &Environment) -> Result<Option<Version>, Failure> {
    match environment.client(&args.connection) {
        Ok(client) => Ok(Some(client.get(&["v1", "version"]).await?)),
        Err(Failure::NotLoggedIn(why)) => {
            notice(&format!("Cannot show the version of the server: {why}"));
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

fn render(versions: &Versions, format: Format) -> Result<String, Failure> {
    if format != Format::Table {
        return Ok(encode(versions, format)?);
    }
    let mut fields = vec![(
        "Client",
        one_line(versions.client.version, versions.client.commit),
    )];
    if let Some(server) = &versions.server {
        let protocols: Vec<_> = server.protocols.iter().map(u32::to_string).collect();
        fields.push(("Server", one_line(&server.version, &server.commit)));
        fields.push(("Protocols", protocols.join(", ")));
    }
    Ok(describe(&fields))
}

fn one_line(version: &str, commit: &str) -> String {
    if commit == "unknown" {
        version.to_owned()
    } else {
        format!("{version} (commit {commit})")
    }
}
