//! Implements `drover cluster kubeconfig`: requests a kubeconfig, and then prints, writes or merges
//! the kubeconfig.

use drover_api::rest::{KubeconfigCredential, KubeconfigRequest, KubeconfigResponse};

use crate::args::{ClusterKubeconfig, Connection, CredentialKind, ServerUrl};
use crate::client::Client;
use crate::environment::{Environment, Target};
use crate::failure::Failure;
use crate::kubeconfig::{
    KubeconfigError, foreign_commands, merge_into, merge_target, parse, servers, write,
};
use crate::terminal::{notice, print};

/// Requests a kubeconfig, and then prints, writes or merges the kubeconfig.
pub(super) async fn run(
    client: &Client,
    args: &ClusterKubeconfig,
    connection: &Connection,
    environment: &Environment,
) -> Result<(), Failure> {
    let credential = match args.credential {
        CredentialKind::Exec if !args.direct => KubeconfigCredential::Exec,
        // kubectl gets exec credentials from the server, so direct access needs tokens.
        CredentialKind::Exec | CredentialKind::Token => KubeconfigCredential::Token,
    };
    let request = KubeconfigRequest {
        clusters: args.names.clone(),
        credential,
        direct: args.direct,
        ttl_seconds: args.ttl.map(|ttl| ttl.0.as_secs()),
    };
    let response: KubeconfigResponse = client.post(&["v1", "kubeconfig"], &request).await?;
    let text = response.kubeconfig.expose();
    let new = parse(text).map_err(KubeconfigError::FromServer)?;
    if let Some(command) = foreign_commands(&new).into_iter().next() {
        return Err(KubeconfigError::ForeignCommand(command).into());
    }
    if args.merge {
        let path = merge_target(
            environment.kubeconfig.as_deref(),
            environment.home.as_deref(),
        )?;
        let names = merge_into(&path, text, args.overwrite)?;
        notice(&format!(
            "Merged into {}: {}. Use a context: kubectl --context NAME",
            path.display(),
            names.join(", ")
        ));
    } else if let Some(path) = &args.output_file {
        write(path, text)?;
        notice(&format!("Created {}.", path.display()));
    } else {
        print(text)?;
    }
    if credential == KubeconfigCredential::Exec {
        for server in servers(&new) {
            announce(&server, connection, environment)?;
        }
    }
    Ok(())
}

/// Stores the server address of the kubeconfig in the context, so that `drover credential` finds the
/// login.
fn announce(
    server: &ServerUrl,
    connection: &Connection,
    environment: &Environment,
) -> Result<(), Failure> {
    let file = environment.config_file(connection.config.as_deref())?;
    let config = file.read()?;
    if config.for_server(server).is_some() {
        return Ok(());
    }
    match environment.target(connection)? {
        Target::Context(name) => {
            let used = config.selected(name)?.map(|context| context.name.clone());
            file.change(|config| {
                let used = config
                    .contexts
                    .iter_mut()
                    .find(|c| Some(&c.name) == used.as_ref());
                if let Some(context) = used {
                    context.announced = Some(server.clone());
                }
                Ok(())
            })?;
        }
        Target::Direct(_) => notice(&format!(
            "kubectl will run drover to get tokens of {server}, but no login for it is stored. \
             Before you use the kubeconfig, run: {}",
            server.login_command()
        )),
    }
    Ok(())
}
