//! `drover cluster`.

mod import;
mod kubeconfig;
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
use crate::wait::{Next, wait_for};

/// Does what was asked with clusters.
pub(crate) async fn run(args: &ClusterArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        ClusterCommand::List(output) => {
            let clusters: Vec<ClusterView> = client.list(&["v1", "clusters"]).await?;
            let none = if clusters.is_empty() && matches!(output.format, Format::Table) {
                none(&client).await?
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
        ClusterCommand::Delete(wanted) => delete(&client, wanted).await,
    }
}

/// What to say where no cluster is listed.
async fn none(client: &Client) -> Result<&'static str, CallError> {
    let me: Me = client.get(&["v1", "me"]).await?;
    Ok(if me.administrator {
        "There is no cluster yet; import one: drover cluster import NAME | kubectl apply -f -"
    } else {
        "You have no role in any cluster. Ask an administrator."
    })
}

async fn find(client: &Client, name: &str) -> Result<ClusterView, CallError> {
    client.get(&["v1", "clusters", name]).await
}

async fn delete(client: &Client, args: &ClusterDelete) -> Result<(), Failure> {
    let name = args.name.as_str();
    if !args.yes {
        confirm(
            &format!("Let go of the cluster {name:?} and remove Drover's agent from it?"),
            "consent to the deletion",
            "give it with --yes",
        )?;
    }
    client
        .command(Method::DELETE, &["v1", "clusters", name], None::<&()>)
        .await?;
    if !args.wait {
        notice(&format!("The cluster {name:?} is being let go."));
        return Ok(());
    }
    let left = Mutex::new(None);
    let gone = wait_for(args.timeout.0, || async {
        match find(client, name).await {
            Ok(cluster) => {
                let uncleaned = view::uncleaned(&cluster);
                *left.lock() = uncleaned;
                Ok(Next::Wait(view::leaving(&cluster)))
            }
            Err(CallError::Refused(refusal)) if refusal.code == 404 => Ok(Next::Done),
            Err(error) => Err(error),
        }
    });
    gone.await?;
    if let Some(why) = left.into_inner() {
        return Err(Failure::Other(format!(
            "the cluster {name:?} is gone from the server, but {why}"
        )));
    }
    notice(&format!("The cluster {name:?} is gone."));
    Ok(())
}
