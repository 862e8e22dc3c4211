//! Implements `drover project`.

use std::collections::BTreeMap;

use drover_api::kinds::{ProjectNamespace, ProjectQuota};
use drover_api::rest::{ProjectCreate, ProjectPatch, ProjectView};
use jiff::Timestamp;
use reqwest::Method;

use crate::args::{self, ProjectArgs, ProjectCommand, ProjectLimits};
use crate::client::{CallError, Client};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{age, describe, or_dash};
use crate::terminal::{confirm, notice, print};

/// Runs a subcommand of `drover project`.
pub(crate) async fn run(args: &ProjectArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        ProjectCommand::Create(wanted) => create(&client, wanted).await,
        ProjectCommand::List { cluster, output } => {
            let query: Vec<_> = cluster.iter().map(|name| ("cluster", &**name)).collect();
            let path = ["v1", "projects"];
            let projects: Vec<ProjectView> = client.list_with(&path, &query).await?;
            let none = "No projects.";
            let now = Timestamp::now();
            Ok(print(&list(projects, output.format, now, none)?)?)
        }
        ProjectCommand::Get { name, output } => {
            let project = find(&client, name).await?;
            Ok(print(&one(&project, output.format, Timestamp::now())?)?)
        }
        ProjectCommand::Set(wanted) => set(&client, wanted).await,
        ProjectCommand::AddNamespace(wanted) => add(&client, wanted).await,
        ProjectCommand::RemoveNamespace(wanted) => remove(&client, wanted).await,
        ProjectCommand::Delete(wanted) => delete(&client, wanted).await,
    }
}

async fn find(client: &Client, name: &str) -> Result<ProjectView, CallError> {
    client.get(&["v1", "projects", name]).await
}

async fn change(client: &Client, name: &str, patch: &ProjectPatch) -> Result<(), CallError> {
    let route = ["v1", "projects", name];
    let _: ProjectView = client.call(Method::PATCH, &route, patch).await?;
    Ok(())
}

async fn create(client: &Client, args: &args::ProjectCreate) -> Result<(), Failure> {
    let namespace = |adopt| {
        move |name: &String| ProjectNamespace {
            name: name.clone(),
            adopt,
            uid: None,
        }
    };
    let created = args.namespaces.iter().map(namespace(false));
    let adopted = args.adopted.iter().map(namespace(true));
    let request = ProjectCreate {
        name: args.name.clone(),
        cluster: args.cluster.clone(),
        display_name: args.limits.display_name.clone(),
        description: args.limits.description.clone(),
        namespaces: created.chain(adopted).collect(),
        quota: quota(&args.limits),
        container_defaults: None,
        pod_security: args.limits.pod_security,
    };
    let project: ProjectView = client.post(&["v1", "projects"], &request).await?;
    notice(&format!(
        "Created the project {:?} in the cluster {:?}. Add members with: drover access grant",
        project.name, project.cluster
    ));
    Ok(())
}

/// Returns the quotas of the command line, or `None` if the command line sets no quota.
fn quota(limits: &ProjectLimits) -> Option<ProjectQuota> {
    let map = |pairs: &[(String, String)]| -> BTreeMap<String, String> {
        pairs.iter().cloned().collect()
    };
    let quota = ProjectQuota {
        project: map(&limits.quota),
        namespace: map(&limits.namespace_quota),
    };
    (quota != ProjectQuota::default()).then_some(quota)
}

/// Changes the fields that the command line sets. Quotas of other resources stay unchanged.
async fn set(client: &Client, args: &args::ProjectSet) -> Result<(), Failure> {
    let mut patch = no_change();
    patch.display_name.clone_from(&args.limits.display_name);
    patch.description.clone_from(&args.limits.description);
    patch.pod_security = args.limits.pod_security;
    if let Some(given) = quota(&args.limits) {
        let present = find(client, &args.name).await?.quota.unwrap_or_default();
        let ProjectQuota {
            mut project,
            mut namespace,
        } = present;
        project.extend(given.project);
        namespace.extend(given.namespace);
        patch.quota = Some(ProjectQuota { project, namespace });
    }
    if patch == no_change() {
        return Err(Failure::Other(
            "cannot change the project: no flag sets a field; see \"drover project set --help\""
                .to_owned(),
        ));
    }
    change(client, &args.name, &patch).await?;
    notice(&format!("Changed the project {:?}.", args.name));
    Ok(())
}

fn no_change() -> ProjectPatch {
    ProjectPatch {
        generation: None,
        display_name: None,
        description: None,
        namespaces: None,
        quota: None,
        container_defaults: None,
        pod_security: None,
    }
}

async fn add(client: &Client, args: &args::ProjectAddNamespace) -> Result<(), Failure> {
    let mut namespaces = find(client, &args.project).await?.namespaces;
    namespaces.retain(|namespace| namespace.name != args.namespace);
    namespaces.push(ProjectNamespace {
        name: args.namespace.clone(),
        adopt: args.adopt,
        uid: None,
    });
    let patch = ProjectPatch {
        namespaces: Some(namespaces),
        ..no_change()
    };
    change(client, &args.project, &patch).await?;
    notice(&format!(
        "Adding the namespace {1:?} to the project {0:?}. For the progress, run: drover project get {2}",
        args.project,
        args.namespace,
        drover_api::shell::word(&args.project)
    ));
    Ok(())
}

async fn remove(client: &Client, args: &args::ProjectRemoveNamespace) -> Result<(), Failure> {
    let mut namespaces = find(client, &args.project).await?.namespaces;
    let before = namespaces.len();
    namespaces.retain(|namespace| namespace.name != args.namespace);
    if namespaces.len() == before {
        return Err(Failure::Other(format!(
            "the project {project:?} has no namespace {namespace:?}; see \"drover project get\"",
            project = args.project,
            namespace = args.namespace
        )));
    }
    let patch = ProjectPatch {
        namespaces: Some(namespaces),
        ..no_change()
    };
    change(client, &args.project, &patch).await?;
    notice(&format!(
        "Removed the namespace {:?} from the project. It stays in the cluster.",
        args.namespace
    ));
    Ok(())
}

async fn delete(client: &Client, args: &args::ProjectDelete) -> Result<(), Failure> {
    let name = args.name.as_str();
    if !args.yes {
        confirm(
            &format!(
                "Delete the project {name:?}? Its namespaces stay in the cluster; its members lose access."
            ),
            "confirmation of the deletion",
            "use --yes",
        )?;
    }
    let path = ["v1", "projects", name];
    client.command(Method::DELETE, &path, None::<&()>).await?;
    notice(&format!("Deleting the project {name:?}."));
    Ok(())
}

fn ready(project: &ProjectView) -> Option<(&str, &str, &str)> {
    let ready = project.conditions.iter().find(|one| one.type_ == "Ready")?;
    Some((&ready.status, &ready.reason, &ready.message))
}

impl Listed for ProjectView {
    const HEADINGS: &'static [&'static str] = &[
        "NAME",
        "DISPLAY NAME",
        "CLUSTER",
        "NAMESPACES",
        "STATE",
        "AGE",
    ];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let state = match ready(self) {
            _ if self.deleting => "deleting",
            None => "pending",
            Some(("True", ..)) => "ready",
            Some((_, reason, _)) => reason,
        };
        vec![
            self.name.clone(),
            or_dash(self.display_name.as_deref()),
            self.cluster.clone(),
            format!("{}/{}", self.own_namespaces.len(), self.namespaces.len()),
            state.to_owned(),
            age(self.created_at, now),
        ]
    }
}

impl Page for ProjectView {
    fn page(&self, now: Timestamp) -> String {
        let pairs = |map: &BTreeMap<String, String>| {
            let pairs: Vec<_> = map
                .iter()
                .map(|(name, amount)| format!("{name}={amount}"))
                .collect();
            or_dash(Some(&pairs.join(", ")))
        };
        let quota = self.quota.clone().unwrap_or_default();
        let state = ready(self).map_or_else(
            || "pending".to_owned(),
            |(_, reason, message)| format!("{reason}: {message}"),
        );
        let namespaces: Vec<_> = self
            .namespaces
            .iter()
            .map(|namespace| {
                let own = self.own_namespaces.contains(&namespace.name);
                let note = if own { "" } else { " (pending)" };
                format!("{}{note}", namespace.name)
            })
            .collect();
        describe(&[
            ("Name", self.name.clone()),
            ("UID", self.uid.clone()),
            ("Display name", or_dash(self.display_name.as_deref())),
            ("Description", or_dash(self.description.as_deref())),
            ("Cluster", self.cluster.clone()),
            ("Namespaces", or_dash(Some(&namespaces.join(", ")))),
            ("Quota", pairs(&quota.project)),
            ("Quota of each namespace", pairs(&quota.namespace)),
            (
                "Pod security",
                or_dash(
                    self.pod_security
                        .map(|level| format!("{level:?}"))
                        .as_deref(),
                ),
            ),
            ("State", state),
            ("Created", format!("{} ago", age(self.created_at, now))),
        ])
    }
}
