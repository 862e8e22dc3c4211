//! Properties that must be true for all roles and bindings.

use drover_api::group::GROUP;
use drover_api::kinds::RoleTemplateSpec;
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use serde_json::{Value, json};

use super::world::{TestUser, World, cluster, project, rule, user};
use crate::admission::roles::{HubRoles, UserWithGroups, WriterRights};
use crate::admission::{Operation, Write, admit_by_roles};
use crate::grants::{Grants, Scope};
use crate::roles::Scoped;

const VERBS: [&str; 3] = ["get", "update", "*"];
const RESOURCES: [&str; 3] = ["pods", "secrets", "*"];
const PEOPLE: [&str; 3] = ["ann", "bob", "eve"];

/// A random role: its rules, and the indices of the inherited roles.
type RandomRole = (Vec<(usize, usize)>, Vec<usize>);

fn random_role(before: usize) -> impl Strategy<Value = RandomRole> {
    let rules = prop::collection::vec((0..VERBS.len(), 0..RESOURCES.len()), 0..3);
    let inherits = subsequence((0..before).collect::<Vec<_>>(), 0..=before);
    (rules, inherits)
}

/// A role of a subject in a scope.
#[derive(Clone, Debug)]
struct Bound {
    who: Index,
    role: Index,
    scope: Index,
}

fn bound() -> impl Strategy<Value = Bound> {
    let parts = (any::<Index>(), any::<Index>(), any::<Index>());
    parts.prop_map(|(user, role, scope)| Bound {
        who: user,
        role,
        scope,
    })
}

fn scopes() -> Vec<Scope> {
    vec![
        Scope::Cluster(cluster("a")),
        Scope::Cluster(cluster("b")),
        Scope::EveryCluster,
        project("a", "p"),
        project("b", "q"),
        Scope::Hub,
    ]
}

/// Creates roles from random rules: `c0…` for clusters, `p0…` for projects, and the global roles
/// `g0…`. A global role grants the cluster role of the same number in every cluster.
fn roles(random_role: &[RandomRole]) -> World {
    let mut world = World::new()
        .project("p", "a", &["shop"])
        .project("q", "b", &["bank"]);
    for (n, (rules, inherits)) in random_role.iter().enumerate() {
        let rules: Vec<_> = rules
            .iter()
            .map(|&(verb, resource)| rule("", RESOURCES[resource], VERBS[verb]))
            .collect();
        let inherited = |letter: &str| -> Vec<String> {
            inherits.iter().map(|n| format!("{letter}{n}")).collect()
        };
        world = world
            .role_of_all(&format!("c{n}"), &rules, &inherited("c"), false)
            .role_of_all(&format!("p{n}"), &rules, &inherited("p"), true)
            .global_role(&format!("g{n}"), &[], &[&format!("c{n}")]);
    }
    world
}

fn bind(world: World, name: &str, user: &TestUser, role: usize, scope: &Scope) -> World {
    match scope {
        Scope::Hub | Scope::EveryCluster => world.global(name, &format!("g{role}"), user),
        Scope::Cluster(uid) => world.in_cluster(name, &format!("c{role}"), uid.as_str(), user),
        Scope::Project(_, uid) => world.in_project(name, &format!("p{role}"), uid.as_str(), user),
    }
}

fn role_at(world: &World, role: usize, scope: &Scope) -> Scoped {
    let letter = if matches!(scope, Scope::Project(..)) {
        "p"
    } else {
        "c"
    };
    world.scoped(&format!("{letter}{role}"))
}

/// Checks in several scopes that the first user has all permissions of the second user.
fn covers(grants: &Grants, first: &TestUser, second: &TestUser) -> Result<(), TestCaseError> {
    for scope in scopes() {
        let (owned, theirs) = (
            grants.rights_in(first.rights_holder(), &scope),
            grants.rights_in(second.rights_holder(), &scope),
        );
        let lacking = owned.missing(&theirs);
        prop_assert!(lacking.is_none(), "{scope:?}: {lacking:?}");
    }
    Ok(())
}

proptest! {
    /// Checks that a user whose roles come from a granting user has at most the permissions of the
    /// granting user.
    #[test]
    fn granted_roles_contain_no_permissions_that_the_granting_user_lacks(
        random_role in (random_role(0), random_role(1), random_role(2)),
        bindings in prop::collection::vec(bound(), 0..6),
        gifts in prop::collection::vec(bound(), 1..6),
    ) {
        let random_role = [random_role.0, random_role.1, random_role.2];
        let scopes = scopes();
        let mut world = roles(&random_role);
        for (n, bound) in bindings.iter().enumerate() {
            let caller = user(PEOPLE[bound.who.index(PEOPLE.len())]);
            let (role, scope) = (bound.role.index(random_role.len()), bound.scope.get(&scopes));
            world = bind(world, &format!("b{n}"), &caller, role, scope);
        }
        let (giver, nobody) = (user("ann"), user("joe"));
        for (n, gift) in gifts.iter().enumerate() {
            let (role, scope) = (gift.role.index(random_role.len()), gift.scope.get(&scopes));
            let scope = if *scope == Scope::Hub { &Scope::EveryCluster } else { scope };
            let scoped = role_at(&world, role, scope);
            if world.gather().may_grant(giver.rights_holder(), &scoped, scope).is_ok() {
                world = bind(world, &format!("g{n}"), &nobody, role, scope);
            }
        }
        covers(&world.gather(), &giver, &nobody)?;
    }

    /// Checks that a write of a role adds only permissions that the writer has.
    #[test]
    fn role_update_adds_only_permissions_that_the_writer_has(
        random_role in (random_role(0), random_role(1), random_role(2)),
        again in random_role(1),
        bindings in prop::collection::vec(bound(), 0..8),
    ) {
        let mut random_role = [random_role.0, random_role.1, random_role.2];
        let scopes = scopes();
        let build = |random_role: &[RandomRole]| {
            let mut world = bind(roles(random_role), "own", &user("ann"), 2, &Scope::EveryCluster);
            for (n, bound) in bindings.iter().enumerate() {
                let caller = user(PEOPLE[bound.who.index(PEOPLE.len())]);
                let (role, scope) = (bound.role.index(random_role.len()), bound.scope.get(&scopes));
                world = bind(world, &format!("b{n}"), &caller, role, scope);
            }
            world
        };
        let before = build(&random_role);
        random_role[1] = again;
        let after = build(&random_role);
        let writer = user("ann");
        let (old, new) = (before.gather(), after.gather());
        // Both kinds of the role are written.
        let allowed = ["c1", "p1"].iter().all(|role| {
            let (was, is) = (before.scoped(role), after.scoped(role));
            old.may_write_template(writer.rights_holder(), Some(&was), Some(&is)).is_ok()
        });
        if !allowed {
            return Ok(());
        }
        for name in PEOPLE {
            for scope in &scopes {
                let somebody = user(name);
                let mut covered = old.rights_in(somebody.rights_holder(), scope);
                covered.extend(&old.rights_in(writer.rights_holder(), &Scope::EveryCluster));
                let lacking = covered.missing(&new.rights_in(somebody.rights_holder(), scope));
                prop_assert!(lacking.is_none(), "{name} {scope:?}: {lacking:?}");
            }
        }
    }
}

/// An action of the attacker or of an administrator.
#[derive(Clone, Debug)]
enum AttackStep {
    /// Creates or changes a role.
    Write(usize, RandomRole),
    /// Deletes a role.
    Delete(usize),
    /// Binds a role to the attacker's accomplice in one of two clusters.
    Bind(usize, bool),
    /// An administrator restores the original specs of the first three roles.
    Restored,
}

fn attempt() -> impl Strategy<Value = AttackStep> {
    let role = 0..5usize;
    let any_said = (
        prop::collection::vec((0..VERBS.len(), 0..RESOURCES.len()), 0..2),
        subsequence((0..5).collect::<Vec<_>>(), 0..=2),
    );
    prop_oneof![
        4 => (role.clone(), any_said).prop_map(|(role, random_role)| AttackStep::Write(role, random_role)),
        1 => role.clone().prop_map(AttackStep::Delete),
        4 => (role, any::<bool>()).prop_map(|(role, a)| AttackStep::Bind(role, a)),
        2 => Just(AttackStep::Restored),
    ]
}

fn spec(random_role: &RandomRole) -> RoleTemplateSpec {
    let rules = random_role.0.iter();
    RoleTemplateSpec {
        rules: rules
            .map(|&(verb, resource)| rule("", RESOURCES[resource], VERBS[verb]))
            .collect(),
        inherits: random_role.1.iter().map(|n| format!("c{n}")).collect(),
        ..Default::default()
    }
}

/// Reports whether the attacker may perform a write.
fn admitted(
    world: &World,
    resource: &str,
    name: &str,
    old: Option<&Value>,
    new: Option<&Value>,
) -> bool {
    let (facts, grants) = (world.facts(), world.gather());
    let whole = |spec: &Value| json!({"metadata": {"name": name}, "spec": spec});
    let (old, new) = (old.map(whole), new.map(whole));
    let write = Write {
        writer: "drover:user:ann",
        groups: &[],
        operation: match (&old, &new) {
            (None, _) => Operation::Create,
            (_, None) => Operation::Delete,
            _ => Operation::Update,
        },
        group: GROUP,
        resource,
        subresource: "",
        namespace: "",
        name,
        object: new.as_ref(),
        old: old.as_ref(),
    };
    let hub_roles = HubRoles {
        facts: &facts,
        grants: &grants,
    };
    let ann = user("ann");
    let ann = WriterRights::User(UserWithGroups {
        user: ann.rights_holder().user.clone(),
        groups: Vec::new(),
    });
    admit_by_roles(&write, &ann, None, hub_roles).is_ok()
}

fn try_one(
    mut world: World,
    number: usize,
    attempt: &AttackStep,
    kept: &[RoleTemplateSpec],
) -> World {
    let value = |spec: &RoleTemplateSpec| serde_json::to_value(spec).unwrap();
    match attempt {
        AttackStep::Restored => {
            for (n, spec) in kept.iter().enumerate() {
                world.set_template(&format!("c{n}"), Some(spec.clone()));
            }
        }
        AttackStep::Write(role, random_role) => {
            let (name, new) = (format!("c{role}"), spec(random_role));
            let old = world.template_of(&name).map(value);
            if admitted(
                &world,
                "roletemplates",
                &name,
                old.as_ref(),
                Some(&value(&new)),
            ) {
                world.set_template(&name, Some(new));
            }
        }
        AttackStep::Delete(role) => {
            let name = format!("c{role}");
            let old = world.template_of(&name).map(value);
            if old.is_some() && admitted(&world, "roletemplates", &name, old.as_ref(), None) {
                world.set_template(&name, None);
            }
        }
        AttackStep::Bind(role, in_a) => {
            let (role, at) = (format!("c{role}"), if *in_a { "a" } else { "b" });
            let random_role = json!({
                "cluster": {"name": at}, "role": {"name": role}, "subject": {"user": {"name": "joe"}},
            });
            let resource = "clusterroletemplatebindings";
            if admitted(&world, resource, "gift", None, Some(&random_role)) {
                world = world.in_cluster(&format!("gift{number}"), &role, at, &user("joe"));
            }
        }
    }
    world
}

proptest! {
    /// Checks all sequences of writes and restorations of roles. The accomplice must receive only
    /// permissions that the attacker had.
    #[test]
    fn attacker_gains_no_permissions_with_any_sequence_of_writes(
        random_role in (random_role(0), random_role(1), random_role(2)),
        bindings in prop::collection::vec(bound(), 0..4),
        everywhere in 0..3usize,
        attempts in prop::collection::vec(attempt(), 1..14),
    ) {
        let random_role = [random_role.0, random_role.1, random_role.2];
        let kept: Vec<RoleTemplateSpec> = random_role.iter().map(spec).collect();
        let scopes = scopes();
        let mut world = bind(roles(&random_role), "own", &user("ann"), everywhere, &Scope::EveryCluster);
        for (n, bound) in bindings.iter().enumerate() {
            let caller = user(PEOPLE[bound.who.index(PEOPLE.len())]);
            let (role, scope) = (bound.role.index(random_role.len()), bound.scope.get(&scopes));
            world = bind(world, &format!("b{n}"), &caller, role, scope);
        }
        let before = world.gather();
        for (n, attempt) in attempts.iter().enumerate() {
            world = try_one(world, n, attempt, &kept);
        }
        let after = try_one(world, attempts.len(), &AttackStep::Restored, &kept).gather();
        for scope in [Scope::Cluster(cluster("a")), Scope::Cluster(cluster("b"))] {
            let had = before.rights_in(user("ann").rights_holder(), &scope);
            let lacking = had.missing(&after.rights_in(user("joe").rights_holder(), &scope));
            prop_assert!(lacking.is_none(), "{scope:?}: {lacking:?}");
        }
    }
}
