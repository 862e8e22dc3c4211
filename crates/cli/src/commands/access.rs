//! `drover access`.

use drover_api::rest::{
    Explanation, List, MemberCreate, MemberIdentity, MemberView, PersonView, RoleView, Through,
    ThroughView,
};
use jiff::Timestamp;
use reqwest::Method;

use crate::args::{
    AccessArgs, AccessCommand, AccessExplain, AccessGrant, AccessPlace, AccessRevoke,
};
use crate::client::Client;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{age, or_nothing, printable};
use crate::terminal::{notice, print};

/// Does what was asked with roles.
pub(crate) async fn run(args: &AccessArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        AccessCommand::Roles(output) => {
            let roles: Vec<RoleView> = client.list(&["v1", "roles"]).await?;
            let none = "There are no roles.";
            Ok(print(&list(roles, output.format, Timestamp::now(), none)?)?)
        }
        AccessCommand::List { place, output } => {
            let members: Vec<MemberView> = client.list(&members(place)).await?;
            let none = "Nobody has a role here but those who have one everywhere.";
            let now = Timestamp::now();
            Ok(print(&list(members, output.format, now, none)?)?)
        }
        AccessCommand::People {
            name,
            place,
            output,
        } => {
            let places = [("cluster", &place.cluster), ("project", &place.project)];
            let said = places.iter();
            let said = said.filter_map(|(key, value)| Some((*key, value.as_deref()?)));
            let query: Vec<_> = said.chain([("name", name.as_str())]).collect();
            let path = ["v1", "access", "people"];
            let found: List<PersonView> = client.get_with(&path, &query).await?;
            let none = "Nobody goes by that name; people of a provider are known once they have signed in.";
            let now = Timestamp::now();
            Ok(print(&list(found.items, output.format, now, none)?)?)
        }
        AccessCommand::Grant(wanted) => grant(&client, wanted).await,
        AccessCommand::Revoke(wanted) => revoke(&client, wanted).await,
        AccessCommand::Explain(wanted) => explain(&client, wanted).await,
    }
}

/// The list of members of a place; one of the three is there.
fn members(place: &AccessPlace) -> Vec<&str> {
    match (&place.cluster, &place.project) {
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
    let member: MemberView = client.post(&members(&args.place), &request).await?;
    notice(&format!(
        "{} has the role {:?} now; \"drover access revoke {}\" takes it away.",
        printable(&whom(&member)),
        member.role,
        drover_api::shell::word(&member.id)
    ));
    Ok(())
}

async fn revoke(client: &Client, args: &AccessRevoke) -> Result<(), Failure> {
    let mut path = members(&args.place);
    path.push(&args.id);
    client.command(Method::DELETE, &path, None::<&()>).await?;
    notice("The role is taken away; what it opened ends within seconds.");
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
    let given = optional.iter();
    query.extend(given.filter_map(|(name, value)| Some((*name, (*value)?))));
    let path = ["v1", "access", "explain"];
    let found: Explanation = client.get_with(&path, &query).await?;
    Ok(print(&one(&found, args.output.format, Timestamp::now())?)?)
}

fn subject(member: &MemberView) -> String {
    let user = member.user.clone();
    user.or_else(|| member.group.clone()).unwrap_or_default()
}

/// The same, and of a person whom a provider knows, as whom.
fn whom(member: &MemberView) -> String {
    if member.identities.is_empty() {
        return subject(member);
    }
    format!("{} ({})", subject(member), known_as(&member.identities))
}

/// `corp: ann@example.com`, for each provider.
fn known_as(identities: &[MemberIdentity]) -> String {
    let each = identities.iter();
    let each = each.map(|one| format!("{}: {}", one.provider, one.login));
    each.collect::<Vec<_>>().join(", ")
}

impl Listed for PersonView {
    const HEADINGS: &'static [&'static str] = &["NAME", "CALLED", "LOGIN"];

    fn cells(&self, _now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            or_nothing(self.display_name.as_deref()),
            or_nothing(Some(&known_as(&self.identities))),
        ]
    }
}

impl Listed for MemberView {
    const HEADINGS: &'static [&'static str] =
        &["ID", "WHO", "NAME", "LOGIN", "ROLE", "STATE", "AGE"];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let ready = self.conditions.iter().find(|one| one.type_ == "Ready");
        let state = ready.map_or("pending", |ready| {
            if ready.status == "True" {
                "given"
            } else {
                ready.reason.as_str()
            }
        });
        vec![
            self.id.clone(),
            subject(self),
            or_nothing(self.display_name.as_deref()),
            or_nothing(Some(&known_as(&self.identities))),
            self.role.clone(),
            state.to_owned(),
            age(self.created_at, now),
        ]
    }
}

fn through(one: &ThroughView) -> String {
    let role = one.cluster_role.as_deref().unwrap_or_default();
    match one.through {
        Through::Rule => "its own rules".to_owned(),
        Through::Known => format!("the ClusterRole {role:?}"),
        Through::Perhaps => format!("perhaps the ClusterRole {role:?}: ask the cluster"),
    }
}

/// Which resource the answer is about, if the cluster did not say so.
fn unresolved(answer: &Explanation) -> String {
    let (Some(why), Some(resource)) = (&answer.unresolved, &answer.resource) else {
        return String::new();
    };
    format!(
        "The resource was taken to be {}, as the cluster cannot be asked: {}.\n",
        printable(&resource.qualified()),
        printable(why)
    )
}

/// What is not in the answer, for what cause.
fn unasked(answer: &Explanation) -> String {
    let why = answer.unasked.as_deref().map(printable);
    why.map_or_else(String::new, |why| {
        format!("What the cluster's own bindings allow is not known: {why}.\n")
    })
}

impl Page for Explanation {
    fn page(&self, _now: Timestamp) -> String {
        let who = self.user.as_deref().map(printable);
        if self.through.is_empty() {
            let who = who.map_or_else(
                || "Nobody's role".to_owned(),
                |name| format!("{name:?}: no role"),
            );
            let advice = "ask an owner of the cluster for a role";
            let (unresolved, unasked) = (unresolved(self), unasked(self));
            return format!("{who} allows this here; {advice}.\n{unresolved}{unasked}");
        }
        let mut table = crate::table::Table::new(&["WHO", "ROLE", "THROUGH", "BINDING"]);
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
            text.push_str("and more\n");
        }
        text.push_str(&unresolved(self));
        text.push_str(&unasked(self));
        text
    }
}

#[cfg(test)]
mod tests;
