//! Implements `drover cluster endpoint`.

use std::fmt::Write as _;

use drover_api::endpoint::Distribution;
use drover_api::rest::{EndpointPatch, EndpointView};
use jiff::Timestamp;
use reqwest::Method;

use super::view::push_section;
use crate::args::{DistributionArg, EndpointCommand, EndpointEnable, EndpointSetup};
use crate::client::{CallError, Client};
use crate::failure::Failure;
use crate::output::{Page, one};
use crate::table::{DASH, Table, describe, or_dash};
use crate::terminal::{notice, print};

/// Runs a subcommand of `drover cluster endpoint`.
pub(super) async fn run(client: &Client, command: &EndpointCommand) -> Result<(), Failure> {
    match command {
        EndpointCommand::Get(wanted) => {
            let endpoint = find(client, &wanted.name).await?;
            Ok(print(&one(
                &endpoint,
                wanted.output.format,
                Timestamp::now(),
            )?)?)
        }
        EndpointCommand::Enable(wanted) => enable(client, wanted).await,
        EndpointCommand::Disable(wanted) => {
            let change = EndpointPatch {
                enabled: Some(false),
                ..EndpointPatch::default()
            };
            let _: EndpointView = patch(client, &wanted.name, &change).await?;
            notice(&format!(
                "Disabled the authorized endpoint of {0:?}. The server removes the tokens while the \
                 cluster is connected. Check: drover cluster endpoint get {0}",
                wanted.name
            ));
            Ok(())
        }
        EndpointCommand::Setup(wanted) => setup(client, wanted).await,
    }
}

async fn find(client: &Client, cluster: &str) -> Result<EndpointView, CallError> {
    client.get(&["v1", "clusters", cluster, "endpoint"]).await
}

async fn patch(
    client: &Client,
    cluster: &str,
    change: &EndpointPatch,
) -> Result<EndpointView, CallError> {
    let path = ["v1", "clusters", cluster, "endpoint"];
    client.call(Method::PATCH, &path, change).await
}

async fn enable(client: &Client, args: &EndpointEnable) -> Result<(), Failure> {
    let bundle = args.ca_file.as_ref().map(|path| {
        std::fs::read_to_string(path)
            .map_err(|error| Failure::Other(format!("cannot read {}: {error}", path.display())))
    });
    let offline = args.offline.map(|offline| {
        u32::try_from(offline.0.as_secs())
            .map_err(|_| Failure::Other("--offline must be at most 30d".to_owned()))
    });
    let change = EndpointPatch {
        enabled: Some(true),
        fqdn: args.fqdn.clone(),
        ca_bundle: bundle.transpose()?,
        offline_seconds: offline.transpose()?,
    };
    let _: EndpointView = patch(client, &args.name, &change).await?;
    notice(&format!(
        "Enabled the authorized endpoint of {0:?}. Configure the API servers: drover cluster endpoint \
         setup {0}",
        args.name
    ));
    Ok(())
}

async fn setup(client: &Client, args: &EndpointSetup) -> Result<(), Failure> {
    let endpoint = find(client, &args.name).await?;
    let Some(config) = &endpoint.webhook_config else {
        let reason = if endpoint.enabled {
            "the server has not written the tokens into the cluster yet; check \"drover cluster \
             endpoint get\""
        } else {
            "the endpoint is disabled; run \"drover cluster endpoint enable\""
        };
        return Err(Failure::Other(format!(
            "cannot print the setup steps for {:?}: {reason}",
            args.name
        )));
    };
    if args.file {
        return Ok(print(config)?);
    }
    let distribution = match args.distribution {
        Some(DistributionArg::Kubeadm) => Distribution::Kubeadm,
        Some(DistributionArg::Rke2) => Distribution::Rke2,
        Some(DistributionArg::K3s) => Distribution::K3s,
        None => {
            let cluster = super::find(client, &args.name).await?;
            Distribution::of(cluster.kubernetes_version.as_deref().unwrap_or_default())
        }
    };
    Ok(print(&steps(&args.name, distribution, config))?)
}

/// Returns a duration in the largest unit without a remainder, for example `1d`.
fn duration(seconds: u32) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "m")];
    let whole = units
        .into_iter()
        .find(|(unit, _)| seconds.is_multiple_of(*unit));
    let (unit, name) = whole.unwrap_or((1, "s"));
    format!("{}{name}", seconds / unit)
}

/// Returns the steps that configure the API servers of a distribution.
fn steps(cluster: &str, distribution: Distribution, config: &str) -> String {
    let (file, flags_file) = (distribution.webhook_file(), distribution.flags_file());
    let mut text = format!(
        "# Do these steps on each control-plane node of {cluster} ({name}), one node after the other.\n\
         \n\
         # 1. Write the webhook configuration. It contains no secret.\n\
         cat > {file} <<'EOF'\n{config}EOF\n\n",
        name = distribution.name(),
    );
    let flags = distribution.flags();
    let _ = match distribution {
        Distribution::Kubeadm => write!(
            text,
            "# 2. Add these flags to the command in {flags_file}. The kubelet then restarts the API\n\
             #    server. Add the flags also to apiServer.extraArgs in the ConfigMap kubeadm-config, so\n\
             #    that kubeadm upgrade keeps them.\n{flags}\n"
        ),
        Distribution::Rke2 | Distribution::K3s => write!(
            text,
            "# 2. Set the flags of the API server.\n\
             mkdir -p $(dirname {flags_file})\n\
             cat > {flags_file} <<'EOF'\n{flags}EOF\n\n"
        ),
    };
    if let Some(restart) = distribution.restart() {
        let _ = write!(text, "# 3. Restart the API server.\n{restart}\n\n");
    }
    let _ = writeln!(
        text,
        "# The node agents check each API server every 15 s: drover cluster endpoint get {cluster}"
    );
    text
}

impl Page for EndpointView {
    fn page(&self, _: Timestamp) -> String {
        let state = self.condition.as_ref().map(|found| found.message.clone());
        let enabled = if self.enabled { "yes" } else { "no" };
        let mut text = describe(&[
            ("Enabled", enabled.to_owned()),
            ("State", state.unwrap_or_else(|| DASH.to_owned())),
            ("Load balancer", or_dash(self.fqdn.as_deref())),
            ("Offline limit", duration(self.offline_seconds)),
        ]);
        push_section(&mut text, "API servers", api_servers(self));
        text
    }
}

fn api_servers(endpoint: &EndpointView) -> Option<Table> {
    let mut table = Table::new(&["NODE", "ADDRESS", "CALLS THE WEBHOOK"]);
    for server in &endpoint.api_servers {
        let called = if server.calls_webhook { "yes" } else { "no" };
        table.row(&[
            server.node.clone(),
            server.address.clone(),
            called.to_owned(),
        ]);
    }
    (!endpoint.api_servers.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setup_steps_write_the_webhook_configuration_and_the_flags() {
        for distribution in Distribution::ALL {
            let text = steps("shop", distribution, "kind: Config\n");
            let heredoc = format!(
                "cat > {} <<'EOF'\nkind: Config\nEOF\n",
                distribution.webhook_file()
            );
            assert!(text.contains(&heredoc), "{text}");
            assert!(text.contains(distribution.flags_file()), "{text}");
            let restarts = text.contains("systemctl restart");
            assert_eq!(restarts, distribution != Distribution::Kubeadm, "{text}");
        }
    }
}
