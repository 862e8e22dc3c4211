//! What the cluster's own bindings allow people of Drover, beside their roles.

use std::collections::BTreeMap;
use std::time::Duration;

use drover_access::grants::{Downstream, Subject as Person};
use drover_access::roles::Rights;
use drover_api::agent::Lane;
use drover_api::ids::ClusterUid;
use drover_api::rest::{Through, ThroughView};
use drover_rbac::RuleTarget;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};

use drover_agent_gateway::tunnels::Tunnels;
use drover_apply::unmanaged::{RoleBindingLike, UnmanagedBindings, person};
use drover_apply::{ApplyError, call};
use drover_http_edge::concurrency::{ConcurrencyGuard, ConcurrencyLimiter, LimitReached};

/// Longest for the cluster to answer in all.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// ClusterRoles that are read at most; of others the answer says that they may allow it.
const MOST_ROLES: usize = 50;

/// People who ask clusters at once: each answer may be long.
const AT_ONCE: usize = 4;

/// Room for those who ask; clones share it.
#[derive(Clone, Debug)]
pub struct Asking(ConcurrencyLimiter);

impl Default for Asking {
    fn default() -> Self {
        Self(ConcurrencyLimiter::of(AT_ONCE))
    }
}

impl Asking {
    /// Room for the person of this UID, or why there is none now.
    pub(super) fn room(&self, who: &str) -> Result<ConcurrencyGuard, &'static str> {
        self.0.take(who).map_err(|why| match why {
            LimitReached::SameUser => {
                "a cluster is being asked for you already; wait for that, or try again"
            }
            LimitReached::AllUsers => "others ask clusters now; try again",
        })
    }
}

/// What is asked, of the cluster itself.
pub(super) struct Beside<'a> {
    pub(super) asking: &'a Asking,
    /// UID of whoever asks.
    pub(super) asker: &'a str,
    pub(super) tunnels: &'a Tunnels,
    /// Who comes as far as the cluster's own bindings: without any role there, nobody does.
    pub(super) inside: &'a Downstream,
    pub(super) cluster: &'a ClusterUid,
    pub(super) verb: &'a str,
    pub(super) asked: RuleTarget<'a>,
    pub(super) namespace: Option<&'a str>,
}

/// A binding that names somebody who is asked about.
struct Found {
    subject: Person,
    kind: &'static str,
    binding: String,
    role_kind: String,
    role: String,
}

impl Beside<'_> {
    /// The bindings that allow it, or may, to whoever is `meant`; and why others are not known.
    pub(super) async fn ask(
        &self,
        meant: impl Fn(&str) -> bool,
    ) -> (Vec<ThroughView>, Option<String>) {
        let unknown = |why: String| (Vec::new(), Some(why));
        if !self.tunnels.is_connected(self.cluster) {
            return unknown("no agent of the cluster is connected".to_owned());
        }
        let _room = match self.asking.room(self.asker) {
            Ok(room) => room,
            Err(why) => return unknown(why.to_owned()),
        };
        let client = self.tunnels.client(self.cluster, Lane::Controller);
        match tokio::time::timeout(PATIENCE, self.look(&client, meant)).await {
            Ok(Ok((views, false))) => (views, None),
            Ok(Ok((views, true))) => (views, Some("there are very many of them".to_owned())),
            Ok(Err(error)) => unknown(error.to_string()),
            Err(_) => unknown(format!(
                "it gave no response within {} s",
                PATIENCE.as_secs()
            )),
        }
    }

    async fn look(
        &self,
        client: &Client,
        meant: impl Fn(&str) -> bool,
    ) -> Result<(Vec<ThroughView>, bool), ApplyError> {
        let named = |person: &Person| meant(person.as_str()) && self.gets_in(person);
        let foreign = UnmanagedBindings::read(client, named).await?;
        let mut found = Vec::new();
        for binding in &foreign.everywhere {
            add(&mut found, binding, "ClusterRoleBinding", named);
        }
        for binding in &foreign.within {
            // Without a namespace, all of them are asked about, which no single one can give.
            if binding.namespace().as_deref() == self.namespace && self.namespace.is_some() {
                add(&mut found, binding, "RoleBinding", named);
            }
        }
        let mut roles = BTreeMap::new();
        let mut views = Vec::new();
        for one in found {
            let through = if one.role_kind == "ClusterRole" {
                if !roles.contains_key(&one.role) && roles.len() < MOST_ROLES {
                    roles.insert(one.role.clone(), read(client, &one.role).await?);
                }
                self.through(roles.get(&one.role))
            } else {
                // The server's account in the cluster reads no Roles.
                Some(Through::Perhaps)
            };
            views.extend(through.map(|through| view(one, through)));
        }
        Ok((views, foreign.more))
    }

    fn gets_in(&self, person: &Person) -> bool {
        match person {
            Person::User(user) => self.inside.users.contains(user),
            Person::Group(group) => self.inside.groups.contains(group),
        }
    }

    /// `None` if the role does not allow it.
    fn through(&self, role: Option<&Option<Rights>>) -> Option<Through> {
        let Some(role) = role else {
            return Some(Through::Perhaps);
        };
        let rules = &role.as_ref()?.rules;
        let allows = rules.iter().any(|rule| rule.allows(self.verb, self.asked));
        allows.then_some(Through::Rule)
    }
}

fn add<K: RoleBindingLike>(
    found: &mut Vec<Found>,
    binding: &K,
    kind: &'static str,
    named: impl Fn(&Person) -> bool,
) {
    let people = binding.subjects().iter().filter_map(person).filter(named);
    let name = match binding.namespace() {
        Some(namespace) => format!("{namespace}/{}", binding.name_any()),
        None => binding.name_any(),
    };
    found.extend(people.map(|subject| Found {
        subject,
        kind,
        binding: name.clone(),
        role_kind: binding.role().kind.clone(),
        role: binding.role().name.clone(),
    }));
}

/// A ClusterRole's rules; the server's account may list them, and reads one by its name so.
async fn read(client: &Client, name: &str) -> Result<Option<Rights>, ApplyError> {
    let api: Api<ClusterRole> = Api::all(client.clone());
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let what = format!("read the ClusterRole {name}");
    let found = call(what, api.list(&params)).await?.items;
    // A name may be such that it selects another.
    let found = found.into_iter().find(|role| role.name_any() == name);
    Ok(found.map(|role| Rights::of(&role.rules.unwrap_or_default())))
}

fn view(found: Found, through: Through) -> ThroughView {
    ThroughView {
        subject: found.subject.to_string(),
        user: None,
        role: found.role.clone(),
        binding_kind: found.kind.to_owned(),
        binding: found.binding,
        through,
        cluster_role: Some(found.role),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_asks_one_cluster_at_a_time_and_leaves_room_for_others() {
        let asking = Asking::default();
        let ann = asking.room("ann").unwrap();
        let told = asking.room("ann").unwrap_err();
        assert!(told.contains("for you already"), "{told}");
        let others = ["b", "c", "d"].map(|who| asking.room(who));
        assert!(others.iter().all(Result::is_ok));
        let told = asking.room("eve").unwrap_err();
        assert!(told.starts_with("others ask"), "{told}");
        drop(ann);
        assert!(asking.room("eve").is_ok());
    }
}
