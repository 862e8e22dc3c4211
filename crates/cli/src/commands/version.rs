//! `drover version`.

use drover_api::rest::Version;
use serde::Serialize;

use crate::args::{Format, VersionArgs};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::encode;
use crate::table::describe;
use crate::terminal::{notice, print};

/// Both versions; the server's is absent with `--client` and without a login.
#[derive(Debug, Serialize)]
struct Both {
    client: Client,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Version>,
}

#[derive(Debug, Serialize)]
struct Client {
    version: &'static str,
    commit: &'static str,
}

/// Prints the client's version, and the server's if there is one to ask.
pub(crate) async fn run(
    args: &VersionArgs,
    environment: &Environment,
    commit: &'static str,
) -> Result<(), Failure> {
    let mut both = Both {
        client: Client {
            version: env!("CARGO_PKG_VERSION"),
            commit,
        },
        server: None,
    };
    let asked = if args.client {
        Ok(None)
    } else {
        ask(args, environment).await
    };
    let asked = match asked {
        Ok(version) => {
            both.server = version;
            Ok(())
        }
        Err(failure) => Err(failure),
    };
    print(&render(&both, args.output.format)?)?;
    let shared = both
        .server
        .as_ref()
        .and_then(|it| it.shared_address.as_ref());
    if let Some(shared) = shared {
        notice(&format!("Warning: {}", shared.warning()));
    }
    asked
}

async fn ask(args: &VersionArgs, environment: &Environment) -> Result<Option<Version>, Failure> {
    match environment.client(&args.connection) {
        Ok(client) => Ok(Some(client.get(&["v1", "version"]).await?)),
        Err(Failure::NotLoggedIn(why)) => {
            notice(&format!("The server's version is not shown: {why}"));
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

fn render(both: &Both, format: Format) -> Result<String, Failure> {
    if format != Format::Table {
        return Ok(encode(both, format)?);
    }
    let mut fields = vec![("Client", one_line(both.client.version, both.client.commit))];
    if let Some(server) = &both.server {
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
