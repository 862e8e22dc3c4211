//! Implements `drover cluster import`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use drover_api::cluster_state::HOSTS_HUB;
use drover_api::rest::{ClusterCreate, ClusterView, Import, ImportRequest};
use drover_api::shell;
use jiff::Timestamp;

use super::values::chart_values;
use super::view::{is_ready, progress};
use crate::args::ClusterImport;
use crate::client::Client;
use crate::failure::Failure;
use crate::platform::CLOSES_OUTPUT;
use crate::table::until;
use crate::terminal::{finish_output, notice, output_is_terminal, print};
use crate::wait::{Progress, wait_for};

/// Creates the Cluster if it does not exist, and prints the manifest that registers the cluster.
pub(super) async fn import(client: &Client, args: &ClusterImport) -> Result<(), Failure> {
    if args.wait && !CLOSES_OUTPUT && !output_is_terminal() {
        return Err(Failure::Usage(
            "cannot use --wait in a pipe on Windows: kubectl and drover would wait for each \
             other. Write the manifest to a file, apply the file, and run `drover cluster get \
             NAME`"
                .to_owned(),
        ));
    }
    ensure(client, args).await?;
    let request = ImportRequest {
        ttl_seconds: args.ttl.map(|ttl| ttl.0.as_secs()),
    };
    let path = ["v1", "clusters", args.name.as_str(), "import"];
    let import: Import = client.post(&path, &request).await?;
    let end = until(import.expires_at, Timestamp::now());
    if args.curl {
        print(&curl_lines(&import))?;
        notice(&format!(
            "Run both lines on a machine whose kubectl uses the cluster {:?}. The token expires {end}.",
            args.name
        ));
    } else if args.values {
        let values = chart_values(import.manifest.expose());
        print(&values.map_err(|error| Failure::Other(error.to_string()))?)?;
        notice(&format!(
            "The values register the cluster once. Their token expires {end}."
        ));
    } else {
        print(import.manifest.expose())?;
        notice(&format!(
            "The manifest registers the cluster once. Its token expires {end}."
        ));
    }
    if args.wait {
        // kubectl applies a manifest from a pipe only after the end of the pipe.
        finish_output()?;
        wait_until_ready(client, args).await?;
    }
    Ok(())
}

async fn ensure(client: &Client, args: &ClusterImport) -> Result<(), Failure> {
    let create = ClusterCreate {
        name: args.name.clone(),
        description: args.description.clone(),
        labels: args.labels.iter().cloned().collect::<BTreeMap<_, _>>(),
    };
    match client
        .post::<ClusterView>(&["v1", "clusters"], &create)
        .await
    {
        Ok(_) => {
            notice(&format!("Created the cluster {:?}.", args.name));
            Ok(())
        }
        Err(error) if error.refusal().is_some_and(|r| r.reason == "AlreadyExists") => {
            if args.description.is_some() || !args.labels.is_empty() {
                notice(&format!(
                    "The cluster {:?} exists. --description and --label have no effect.",
                    args.name
                ));
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns two shell commands. The first command stores the token in a variable. The second command
/// downloads the manifest and reads the token from the variable, because a URL must not contain a
/// token.
fn curl_lines(import: &Import) -> String {
    let token = shell::quoted(import.registration_token.expose());
    format!(
        "export DROVER_IMPORT_TOKEN={token}\n{}\n",
        import.curl.trim_end()
    )
}

async fn wait_until_ready(client: &Client, args: &ClusterImport) -> Result<(), Failure> {
    let hosts_hub = AtomicBool::new(false);
    let poll = || async {
        let path = ["v1", "clusters", args.name.as_str()];
        let cluster: ClusterView = client.get(&path).await?;
        hosts_hub.store(cluster.hosts_hub, Ordering::Relaxed);
        Ok(if is_ready(&cluster) {
            Progress::Done
        } else {
            Progress::Pending(progress(&cluster))
        })
    };
    wait_for(args.timeout.0, poll).await?;
    notice(&format!("The cluster {:?} is ready.", args.name));
    if hosts_hub.into_inner() {
        notice(&format!("Warning: {HOSTS_HUB}"));
    }
    Ok(())
}
