//! Implements `drover access`.

use drover_api::rest::{
    Explanation, List, MemberCreate, MemberIdentity, MemberView, PermissionOrigin, PersonView,
    RoleView, ThroughView,
};
use jiff::Timestamp;
use reqwest::Method;

use crate::args::{
    AccessArgs, AccessCommand, AccessExplain, AccessGrant, AccessRevoke, AccessScope,
};
use crate::client::Client;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{age, or_dash, printable};
use crate::terminal::{notice, print};

/// Runs a subcommand of `drover access`.
pub(crate) async fn run(args: &AccessArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        AccessCommand::Roles(output) => {
            let roles: Vec<RoleView> = client.list(&["v1", "roles"]).await?;
            let none = "There are no roles.";
            Ok(print(&list(roles, output.format, Timestamp::now(), none)?)?)
        }
        AccessCommand::List { scope, output } => {
            let members: Vec<MemberView> = client.list(&members(scope)).await?;
            let none = "No roles are granted in this scope. Global roles apply here, too: see \"drover access list --global\".";
            let now = Timestamp::now();
            Ok(print(&list(members, output.format, now, none)?)?)
        }
        AccessCommand::People {
            name,
            scope,
            output,
        } => {
            let scopes = [("cluster", &scope.cluster), ("project", &scope.project)];
            let scopes = scopes.iter();
            let scopes = scopes.filter_map(|(key, value)| Some((*key, value.as_deref()?)));
            let query: Vec<_> = scopes.chain([("name", name.as_str())]).collect();
            let path = ["v1", "access", "people"];
            let found: List<PersonView> = client.get_with(&path, &query).await?;
            let none = "No user has this name. The server knows a user of an identity provider after the first login.";
            let now = Timestamp::now();
            Ok(print(&list(found.items, output.format, now, none)?)?)
        }
        AccessCommand::Grant(wanted) => grant(&client, wanted).await,
        AccessCommand::Revoke(wanted) => revoke(&client, wanted).await,
        AccessCommand::Explain(wanted) => explain(&client, wanted).await,
    }
}

/// Returns the REST API path of a scope's members. clap ensures that at most one field of `scope`
/// is set.
fn members(scope: &AccessScope) -> Vec<&str> {
    match (&scope.cluster, &scope.project) {
        (Some(cluster), _) => vec!["v1", "clusters", cluster, "members"],
        (None, Some(project)) => vec!["v1", "projects", project, "members"],
        (None, None) => vec!["v1", "global-members"],
    }
}

async fn grant(client: &Client, args: &AccessGrant) -> Result<(), Failure> {
    let request = MemberCreate {
        role: args.role.clone(),
        user: args.subject.user.clone(),
        group: args.subject.group.clone(),
    };
    let member: MemberView = client.post(&members(&args.scope), &request).await?;
    notice(&format!(
        "Granted the role {1:?} to {0}. To revoke it, run: drover access revoke {2} {3}",
        printable(&subject_with_logins(&member)),
        member.role,
        drover_api::shell::word(&member.id),
        scope_flag(&args.scope)
    ));
    Ok(())
}

/// Returns the command line option that selects a scope.
fn scope_flag(scope: &AccessScope) -> String {
    let flag = |name, value| format!("--{name} {}", drover_api::shell::word(value));
    match (&scope.cluster, &scope.project) {
        (Some(cluster), _) => flag("cluster", cluster),
        (None, Some(project)) => flag("project", project),
        (None, None) => "--global".to_owned(),
    }
}

async fn revoke(client: &Client, args: &AccessRevoke) -> Result<(), Failure> {
    let mut path = members(&args.scope);
    path.push(&args.id);
    client.command(Method::DELETE, &path, None::<&()>).await?;
    notice("Revoked the role. Open requests that it allowed end within seconds.");
    Ok(())
}

async fn explain(client: &Client, args: &AccessExplain) -> Result<(), Failure> {
    let everybody = args.everybody.then_some("*");
    let optional = [
        ("object", args.object.as_deref()),
        ("namespace", args.namespace.as_deref()),
        ("user", everybody.or(args.user.as_deref())),
    ];
    let mut query = vec![
        ("cluster", args.cluster.as_str()),
        ("verb", &args.verb),
        ("group", &args.api_group),
        ("resource", &args.resource),
    ];
    let arguments = optional.iter();
    query.extend(arguments.filter_map(|(name, value)| Some((*name, (*value)?))));
    let path = ["v1", "access", "explain"];
    let found: Explanation = client.get_with(&path, &query).await?;
    Ok(print(&one(&found, args.output.format, Timestamp::now())?)?)
}

fn subject(member: &MemberView) -> String {
    let user = member.user.clone();
    user.or_else(|| member.group.clone()).unwrap_or_default()
}

/// Returns the name of a user or group. Adds the logins of a user at identity providers, if they
/// are known.
fn subject_with_logins(member: &MemberView) -> String {
    if member.identities.is_empty() {
        return subject(member);
    }
    format!("{} ({})", subject(member), known_as(&member.identities))
}

/// Lists the logins in the form `corp: ann@example.com`.
fn known_as(identities: &[MemberIdentity]) -> String {
    let each = identities.iter();
    let each = each.map(|one| format!("{}: {}", one.provider, one.login));
    each.collect::<Vec<_>>().join(", ")
}

impl Listed for PersonView {
    const HEADINGS: &'static [&'static str] = &["NAME", "DISPLAY NAME", "LOGIN"];

    fn cells(&self, _now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            or_dash(self.display_name.as_deref()),
            or_dash(Some(&known_as(&self.identities))),
        ]
    }
}

impl Listed for MemberView {
    const HEADINGS: &'static [&'static str] = &[
        "ID",
        "SUBJECT",
        "DISPLAY NAME",
        "LOGIN",
        "ROLE",
        "STATE",
        "AGE",
    ];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let ready = self.conditions.iter().find(|one| one.type_ == "Ready");
        let state = ready.map_or("pending", |ready| {
            if ready.status == "True" {
                "granted"
            } else {
                ready.reason.as_str()
            }
        });
        vec![
            self.id.clone(),
            subject(self),
            or_dash(self.display_name.as_deref()),
            or_dash(Some(&known_as(&self.identities))),
            self.role.clone(),
            state.to_owned(),
            age(self.created_at, now),
        ]
    }
}

fn through(one: &ThroughView) -> String {
    let role = one.cluster_role.as_deref().unwrap_or_default();
    match one.through {
        PermissionOrigin::Rule => "rules of the role".to_owned(),
        PermissionOrigin::Known => format!("ClusterRole {role:?}"),
        PermissionOrigin::Perhaps => {
            format!("possibly ClusterRole {role:?}, its rules are not known")
        }
    }
}

/// Returns a note with the resource that Drover assumed, because Drover could not list the
/// cluster's resources. Returns an empty string if Drover made no assumption.
fn unresolved(answer: &Explanation) -> String {
    let (Some(reason), Some(resource)) = (&answer.unresolved, &answer.resource) else {
        return String::new();
    };
    format!(
        "Assumed the resource {}, because the cluster cannot be asked: {}.\n",
        printable(&resource.qualified()),
        printable(reason)
    )
}

/// Returns a note with the reason why Drover did not evaluate the cluster's unmanaged RBAC
/// bindings.
fn unasked(answer: &Explanation) -> String {
    let reason = answer.unasked.as_deref().map(printable);
    reason.map_or_else(String::new, |reason| {
        format!("The RBAC bindings of the cluster itself are not evaluated: {reason}.\n")
    })
}

impl Page for Explanation {
    fn page(&self, _now: Timestamp) -> String {
        let user = self.user.as_deref().map(printable);
        if self.through.is_empty() {
            let user = user.map_or_else(
                || "No role allows this.".to_owned(),
                |name| format!("No role of {name:?} allows this."),
            );
            let advice = "Ask an owner of the cluster for a role.";
            let (unresolved, unasked) = (unresolved(self), unasked(self));
            return format!("{user} {advice}\n{unresolved}{unasked}");
        }
        let mut table = crate::table::Table::new(&["SUBJECT", "ROLE", "ALLOWED BY", "BINDING"]);
        for one in &self.through {
            table.row(&[
                one.user.clone().unwrap_or_else(|| one.subject.clone()),
                one.role.clone(),
                through(one),
                format!("{} {}", one.binding_kind, one.binding),
            ]);
        }
        let mut text = table.render();
        if self.more {
            text.push_str("The list is incomplete.\n");
        }
        text.push_str(&unresolved(self));
        text.push_str(&unasked(self));
        text
    }
}

#[cfg(test)]
mod tests;
