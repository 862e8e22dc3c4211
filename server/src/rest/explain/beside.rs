//! What the cluster's own bindings allow people of Drover, beside their roles.

use std::collections::BTreeMap;
use std::time::Duration;

use drover_access::grants::{Grants, Subject as Person, Who};
use drover_access::permit::Target;
use drover_access::roles::Rights;
use drover_api::agent::Lane;
use drover_api::ids::ClusterUid;
use drover_api::rest::{Through, ThroughView};
use drover_rbac::Asked;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};

use crate::controllers::access::foreign::{Foreign, Gives, person};
use crate::controllers::objects::call;
use crate::tunnels::Tunnels;

/// Longest for the cluster to answer in all.
const PATIENCE: Duration = Duration::from_secs(5);
/// ClusterRoles that are read at most; of others the answer says that they may allow it.
const MOST_ROLES: usize = 50;

/// What is asked, of the cluster itself.
pub(super) struct Beside<'a> {
    pub(super) tunnels: &'a Tunnels,
    pub(super) grants: &'a Grants,
    pub(super) cluster: &'a ClusterUid,
    pub(super) verb: &'a str,
    pub(super) asked: Asked<'a>,
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
    /// The bindings that allow it, or may, to whoever is `meant`; or why that is not known.
    pub(super) async fn ask(
        &self,
        meant: impl Fn(&str) -> bool,
    ) -> Result<Vec<ThroughView>, String> {
        if !self.tunnels.is_connected(self.cluster) {
            return Err("no agent of the cluster is connected".to_owned());
        }
        let client = self.tunnels.client(self.cluster, Lane::Controller);
        match tokio::time::timeout(PATIENCE, self.look(&client, meant)).await {
            Ok(Ok(views)) => Ok(views),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("it gave no answer within {} s", PATIENCE.as_secs())),
        }
    }

    async fn look(
        &self,
        client: &Client,
        meant: impl Fn(&str) -> bool,
    ) -> Result<Vec<ThroughView>, crate::controllers::objects::ApplyError> {
        let foreign = Foreign::read(client).await?;
        let mut found = Vec::new();
        for binding in &foreign.everywhere {
            self.add(&mut found, binding, "ClusterRoleBinding", &meant);
        }
        for binding in &foreign.within {
            // Without a namespace, all of them are asked about, which no single one can give.
            if binding.namespace().as_deref() == self.namespace && self.namespace.is_some() {
                self.add(&mut found, binding, "RoleBinding", &meant);
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
        Ok(views)
    }

    fn add<K: Gives>(
        &self,
        found: &mut Vec<Found>,
        binding: &K,
        kind: &'static str,
        meant: impl Fn(&str) -> bool,
    ) {
        let people = binding.subjects().iter().filter_map(person);
        let people = people.filter(|subject| meant(subject.as_str()) && self.gets_in(subject));
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

    /// Without any role in the cluster, nobody comes as far as its own bindings.
    fn gets_in(&self, subject: &Person) -> bool {
        let target = Target::Cluster(self.cluster.clone());
        match subject {
            Person::User(user) => self.grants.may_enter(Who { user, groups: &[] }, &target),
            Person::Group(group) => {
                let groups = std::slice::from_ref(group);
                !self.grants.groups_at(groups, &target).is_empty()
            }
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

/// A ClusterRole's rules; the server's account may list them, and reads one by its name so.
async fn read(
    client: &Client,
    name: &str,
) -> Result<Option<Rights>, crate::controllers::objects::ApplyError> {
    let api: Api<ClusterRole> = Api::all(client.clone());
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let what = format!("read the ClusterRole {name}");
    let found = call(what, api.list(&params)).await?.items.pop();
    Ok(found.map(|role| Rights::of(&role.rules.unwrap_or_default())))
}

fn view(found: Found, through: Through) -> ThroughView {
    ThroughView {
        subject: found.subject.to_string(),
        user: None,
        role: format!("{} of the cluster", found.role),
        binding_kind: found.kind.to_owned(),
        binding: found.binding,
        through,
        cluster_role: Some(found.role),
    }
}
