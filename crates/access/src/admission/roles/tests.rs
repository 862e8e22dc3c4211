mod bindings;
mod projects;
mod templates;

use serde_json::json;

use super::*;
use crate::grants::tests::world::{World, user};

const EVERYBODY: &str = "system:authenticated";

/// Creates three users. `eve` may read pods in every cluster. `ann` may read and change pods in
/// cluster `a`. `bob` has a role in project `p` of cluster `a`.
fn world() -> World {
    let rule = crate::grants::tests::world::rule;
    World::new()
        .cluster_role("reader", &[rule("", "pods", "get")])
        .cluster_role("writer", &[rule("", "pods", "get update")])
        .cluster_role_inheriting("heir", &["reader"])
        .cluster_role_inheriting("broken", &["nothing"])
        .cluster_role_external("insider", "made-here")
        .project_role("worker", &[rule("", "pods", "get")], &[])
        .project_role("boss", &[rule("", "pods", "*")], &[])
        .global_role("roamer", &[], &["reader"])
        .project("p", "a", &["shop"])
        .project("q", "a", &["bank"])
        .global("one", "roamer", &user("eve"))
        .in_cluster("two", "writer", "a", &user("ann"))
        .in_project("three", "worker", "p", &user("bob"))
}

struct Attempt {
    resource: &'static str,
    name: &'static str,
    before: Option<Value>,
    after: Option<Value>,
}

fn attempt(
    resource: &'static str,
    name: &'static str,
    before: Option<Value>,
    after: Option<Value>,
) -> Attempt {
    let whole = |spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    Attempt {
        resource,
        name,
        before: before.map(whole),
        after: after.map(whole),
    }
}

impl Attempt {
    fn labelled(mut self) -> Self {
        for object in [&mut self.before, &mut self.after].into_iter().flatten() {
            object["metadata"]["labels"] = json!({BUILT_IN_LABEL: "true"});
        }
        self
    }

    fn by(&self, world: &World, writer: &str, everything: bool) -> Result<(), String> {
        let (facts, grants) = (world.facts(), world.gather());
        let groups = [EVERYBODY.to_owned()];
        let write = Write {
            writer,
            groups: &groups,
            operation: match (&self.before, &self.after) {
                (None, _) => Operation::Create,
                (_, None) => Operation::Delete,
                _ => Operation::Update,
            },
            group: GROUP,
            resource: self.resource,
            subresource: "",
            namespace: "",
            name: self.name,
            object: self.after.as_ref(),
            old: self.before.as_ref(),
        };
        let giver = match Writer::of(&write) {
            Writer::User(user) => WriterRights::User(UserWithGroups {
                user,
                groups: Vec::new(),
            }),
            Writer::HubUser if everything => WriterRights::HubAdministrator,
            Writer::HubUser | Writer::InvalidUser => WriterRights::OtherUser,
        };
        let hub_roles = HubRoles {
            facts: &facts,
            grants: &grants,
        };
        admit(&write, &giver, hub_roles).map_err(|refusal| refusal.to_string())
    }

    fn as_user(&self, name: &str) -> Result<(), String> {
        self.by(&world(), &format!("drover:user:{name}"), false)
    }
}

fn template(rules: &[&str], inherits: &[&str]) -> Value {
    let rules: Vec<_> = rules
        .iter()
        .map(|verb| json!({"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}))
        .collect();
    json!({"context": "Cluster", "rules": rules, "inherits": inherits})
}

fn in_cluster(role: &str, cluster: &str) -> Value {
    json!({"cluster": {"name": cluster}, "role": {"name": role}, "subject": {"user": {"name": "joe"}}})
}

fn in_project(role: &str, project: &str) -> Value {
    json!({"project": {"name": project}, "role": {"name": role}, "subject": {"user": {"name": "joe"}}})
}

fn global(role: &str) -> Value {
    json!({"role": {"name": role}, "subject": {"group": {"name": "drover:oidc:devs"}}})
}
