//! Implements `drover bundle diff` and the subcommands of `drover fleet` that render bundles.

#[cfg(target_os = "linux")]
mod changes;
#[cfg(target_os = "linux")]
mod contents;
#[cfg(target_os = "linux")]
mod deployment;
#[cfg(target_os = "linux")]
mod plan;

#[cfg(target_os = "linux")]
pub(super) use self::linux::{bundle_diff, deploy, diff, render, test};
#[cfg(not(target_os = "linux"))]
pub(super) use self::unsupported::{bundle_diff, deploy, diff, render, test};

#[cfg(target_os = "linux")]
mod linux {
    use std::fmt::Write as _;

    use drover_deploy::deployment::{Effect, Preview};
    use serde_json::Value;

    use super::super::documents;
    use super::changes::Counts;
    use super::plan::{Deployment, Plan};
    use super::{changes, contents, deployment};
    use crate::args::{BundleDiff, FleetDeploy, FleetDiff, FleetRender, FleetTest, RenderPlace};
    use crate::client::Client;
    use crate::failure::Failure;
    use crate::table::{Table, one_line, printable, printable_layout};
    use crate::terminal::{notice, print};

    /// Runs `drover fleet deploy`.
    pub(in super::super) async fn deploy(
        args: &FleetDeploy,
        client: impl Fn() -> Result<Client, Failure>,
    ) -> Result<(), Failure> {
        let client = args.cluster.as_ref().map(|_| client()).transpose()?;
        Box::pin(deployment::run(args, client.as_ref())).await
    }

    /// Runs `drover fleet render`.
    pub(in super::super) async fn render(
        args: &FleetRender,
        client: impl Fn() -> Result<Client, Failure>,
    ) -> Result<(), Failure> {
        let client = client_of(&args.place, client)?;
        let plan = Plan::read(&args.folder, client, &args.place.clusters).await?;
        plan.check_selection()?;
        for deployment in plan.deployments() {
            let preview = plan.render(&deployment, &args.place.kube_version).await?;
            print(&rendered(&deployment, &preview))?;
        }
        Ok(())
    }

    fn client_of(
        place: &RenderPlace,
        client: impl Fn() -> Result<Client, Failure>,
    ) -> Result<Option<Client>, Failure> {
        (!place.offline).then(client).transpose()
    }

    /// Returns the objects as YAML documents after a comment with their origin.
    fn rendered(deployment: &Deployment<'_>, preview: &Preview) -> String {
        let objects = preview.definitions.iter().chain(&preview.objects);
        let objects: Vec<Value> = objects
            .chain(&preview.hooks)
            .map(|object| object.0.clone())
            .collect();
        let target = &preview.target;
        let title = format!(
            "{}, release {}/{}",
            deployment.title(),
            target.namespace,
            target.release
        );
        format!("---\n# {}\n{}", one_line(&title), documents(&objects))
    }

    /// Runs `drover fleet test`.
    pub(in super::super) async fn test(
        args: &FleetTest,
        client: impl Fn() -> Result<Client, Failure>,
    ) -> Result<(), Failure> {
        let client = client_of(&args.place, client)?;
        let plan = Plan::read(&args.folder, client, &args.place.clusters).await?;
        plan.check_clusters()?;
        let mut table = Table::new(&["BUNDLE", "CLUSTER", "RESULT", "MESSAGE"]);
        let mut failed = 0;
        for deployment in plan.deployments() {
            let result = plan.render(&deployment, &args.place.kube_version).await;
            let (result, message) = match result {
                Ok(preview) => ("ok", format!("{} objects", preview.objects.len())),
                Err(error) => {
                    failed += 1;
                    ("failed", error.text())
                }
            };
            let (bundle, cluster) = (deployment.bundle_name(), deployment.cluster_name());
            table.row(&[
                bundle.to_owned(),
                cluster.to_owned(),
                result.to_owned(),
                message,
            ]);
        }
        for bundle in plan.unselected() {
            failed += 1;
            let message = "the bundle selects no cluster".to_owned();
            table.row(&[
                bundle.to_owned(),
                "-".to_owned(),
                "failed".to_owned(),
                message,
            ]);
        }
        print(&table.render())?;
        match failed {
            0 => Ok(()),
            count => Err(Failure::Other(format!("{count} tests failed"))),
        }
    }

    /// Runs `drover fleet diff`.
    pub(in super::super) async fn diff(
        args: &FleetDiff,
        client: impl Fn() -> Result<Client, Failure>,
    ) -> Result<(), Failure> {
        let plan = Plan::read(&args.folder, Some(client()?), &args.clusters).await?;
        compare(&plan, args.exit_code).await
    }

    /// Runs `drover bundle diff`.
    pub(in super::super) async fn bundle_diff(
        args: &BundleDiff,
        client: impl Fn() -> Result<Client, Failure>,
    ) -> Result<(), Failure> {
        let client = client()?;
        let bundle = contents::stored_bundle(&client, &args.namespace, &args.name).await?;
        let plan = Plan::of(vec![bundle], &args.namespace, Some(client), &args.clusters).await?;
        compare(&plan, args.exit_code).await
    }

    /// Prints the changes of all deployments. With `exit_code`, changes are an error with the exit code 8.
    async fn compare(plan: &Plan, exit_code: bool) -> Result<(), Failure> {
        plan.check_selection()?;
        let (mut counts, mut failed) = (Counts::default(), 0);
        for deployment in plan.deployments() {
            let changes = match plan.changes(&deployment).await {
                Ok(changes) => changes,
                // A problem of one cluster does not hide the changes in other clusters.
                Err(error) => {
                    failed += 1;
                    notice(&printable(&error.text()));
                    continue;
                }
            };
            let mut text = String::new();
            for change in &changes {
                counts.add(&change.effect);
                if change.effect != Effect::Unchanged {
                    // A write to a String does not fail.
                    let _ = write!(text, "{}", changes::text(change));
                }
            }
            if !text.is_empty() {
                let text = format!("# {}\n{text}", deployment.title());
                print(&printable_layout(&text))?;
            }
        }
        notice(&counts.text());
        if failed > 0 {
            return Err(Failure::Other(format!(
                "cannot compare {failed} deployments; the reasons are above"
            )));
        }
        if counts.rejected > 0 {
            return Err(Failure::Other(format!(
                "the clusters reject {} objects",
                counts.rejected
            )));
        }
        if exit_code && counts.has_changes() {
            return Err(Failure::Differences(
                "the objects in the clusters differ from the bundles".to_owned(),
            ));
        }
        Ok(())
    }
}

/// The process of drover-render has limits of Linux.
#[cfg(not(target_os = "linux"))]
mod unsupported {
    use crate::args::{BundleDiff, FleetDeploy, FleetDiff, FleetRender, FleetTest};
    use crate::client::Client;
    use crate::failure::Failure;

    fn unsupported() -> Result<(), Failure> {
        Err(Failure::Other(
            "this command renders bundles only on Linux; run it in a container or on another machine"
                .to_owned(),
        ))
    }

    macro_rules! commands {
        ($($name:ident: $args:ty),+) => {$(
            pub(in super::super) async fn $name(
                _: &$args,
                _: impl Fn() -> Result<Client, Failure>,
            ) -> Result<(), Failure> {
                unsupported()
            }
        )+};
    }
    commands!(
        deploy: FleetDeploy, render: FleetRender, test: FleetTest, diff: FleetDiff, bundle_diff: BundleDiff
    );
}
