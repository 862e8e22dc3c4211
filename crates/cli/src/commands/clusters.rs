//! Implements `drover cluster`.

mod endpoint;
mod import;
mod kubeconfig;
mod rotate;
mod values;
mod view;

pub use values::{MissingValues, chart_values};

use drover_api::rest::{ClusterView, Me};
use jiff::Timestamp;
use parking_lot::Mutex;
use reqwest::Method;

use crate::args::{ClusterArgs, ClusterCommand, ClusterDelete, Format};
use crate::client::{CallError, Client};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{list, one};
use crate::terminal::{confirm, notice, print};
use crate::wait::{Progress, wait_for};

/// Runs a subcommand of `drover cluster`.
pub(crate) async fn run(args: &ClusterArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        ClusterCommand::List(output) => {
            let clusters: Vec<ClusterView> = client.list(&["v1", "clusters"]).await?;
            let none = if clusters.is_empty() && matches!(output.format, Format::Table) {
                empty_list(&client).await?
            } else {
                ""
            };
            Ok(print(&list(
                clusters,
                output.format,
                Timestamp::now(),
                none,
            )?)?)
        }
        ClusterCommand::Get(wanted) => {
            let cluster = find(&client, &wanted.name).await?;
            Ok(print(&one(
                &cluster,
                wanted.output.format,
                Timestamp::now(),
            )?)?)
        }
        ClusterCommand::Import(wanted) => import::import(&client, wanted).await,
        ClusterCommand::Kubeconfig(wanted) => {
            kubeconfig::run(&client, wanted, &args.connection, environment).await
        }
        ClusterCommand::Endpoint(wanted) => endpoint::run(&client, wanted).await,
        ClusterCommand::RotateKeys(wanted) => rotate::run(&client, wanted).await,
        ClusterCommand::Delete(wanted) => delete(&client, wanted).await,
    }
}

/// Returns the message that `drover cluster list` prints if no cluster exists.
async fn empty_list(client: &Client) -> Result<&'static str, CallError> {
    let me: Me = client.get(&["v1", "me"]).await?;
    Ok(if me.administrator {
        "No clusters. Import one: drover cluster import NAME | kubectl apply -f -"
    } else {
        "No clusters: you have no role in a cluster. Ask an administrator for a role."
    })
}

async fn find(client: &Client, name: &str) -> Result<ClusterView, CallError> {
    client.get(&["v1", "clusters", name]).await
}

async fn delete(client: &Client, args: &ClusterDelete) -> Result<(), Failure> {
    let name = args.name.as_str();
    if !args.yes {
        confirm(
            &format!("Delete the cluster {name:?} and remove the agent from it?"),
            "confirmation of the deletion",
            "use --yes",
        )?;
    }
    client
        .command(Method::DELETE, &["v1", "clusters", name], None::<&()>)
        .await?;
    if !args.wait {
        notice(&format!("Deleting the cluster {name:?}."));
        return Ok(());
    }
    let incomplete = Mutex::new(None);
    let deleted = wait_for(args.timeout.0, || async {
        match find(client, name).await {
            Ok(cluster) => {
                let cleanup = view::incomplete_cleanup(&cluster);
                *incomplete.lock() = cleanup;
                Ok(Progress::Pending(view::deletion_progress(&cluster)))
            }
            Err(CallError::Refused(refusal)) if refusal.code == 404 => Ok(Progress::Done),
            Err(error) => Err(error),
        }
    });
    deleted.await?;
    if let Some(reason) = incomplete.into_inner() {
        return Err(Failure::Other(format!(
            "deleted the cluster {name:?} from the server, but Drover's objects in the cluster \
             are not completely deleted: {reason}"
        )));
    }
    notice(&format!("Deleted the cluster {name:?}."));
    Ok(())
}
