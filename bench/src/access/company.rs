//! The objects of a large company: users in groups, roles, clusters, and bindings of all kinds.

use std::collections::HashMap;

use drover_access::grants::{Facts, ProviderFacts, RightsHolder, RoleFacts, UserFacts};
use drover_access::names::{GroupName, UserName};
use drover_access::permit::Target;
use drover_access::roles::built_in_role_templates;
use drover_api::ids::{ClusterUid, ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{
    BindingSubject, ClusterReference, ClusterRoleTemplateBindingSpec, GroupReference, RoleContext,
    RoleReference, RoleTemplateSpec, UserReference,
};

const CLUSTERS: usize = 200;
const GROUPS: usize = 2_000;
/// Number of groups of each user.
const GROUPS_EACH: usize = 20;
/// One of every `OF_GROUPS` bindings has a group as subject.
const OF_GROUPS: usize = 10;

pub(super) struct Company {
    templates: Vec<(&'static str, RoleTemplateSpec)>,
    bindings: Vec<(String, ClusterRoleTemplateBindingSpec)>,
    clusters: Vec<(String, Target, ClusterUid)>,
    people: Vec<(String, UserName, Vec<GroupName>)>,
}

impl Company {
    pub(super) fn new(users: usize, bindings: usize) -> Self {
        let templates: Vec<_> = built_in_role_templates()
            .into_iter()
            .filter(|role| role.spec.context == RoleContext::Cluster)
            .map(|role| (role.name, role.spec))
            .collect();
        let clusters = (0..CLUSTERS).map(|n| {
            let uid = ClusterUid::new(format!("c-{n}"));
            (format!("cluster-{n}"), Target::Cluster(uid.clone()), uid)
        });
        let people = (0..users).map(|n| {
            let groups =
                (0..GROUPS_EACH).filter_map(|k| group(scattered(n * GROUPS_EACH + k) % GROUPS));
            let user = UserName::of(&UserUid::new(format!("u-{n}")));
            (format!("user-{n}"), user, groups.collect())
        });
        let bindings = (0..bindings).map(|n| {
            let (role, _) = &templates[scattered(n) % templates.len()];
            let cluster = scattered(n + 1) % CLUSTERS;
            let subject = if n % OF_GROUPS == 0 {
                let group = group(scattered(n + 2) % GROUPS);
                BindingSubject {
                    user: None,
                    group: group.map(|name| GroupReference {
                        name: name.to_string(),
                        provider_uid: Some(ProviderUid::new("p")),
                    }),
                }
            } else {
                let user = scattered(n + 2) % users;
                BindingSubject {
                    user: Some(UserReference {
                        name: format!("user-{user}"),
                        uid: Some(UserUid::new(format!("u-{user}"))),
                    }),
                    group: None,
                }
            };
            let spec = ClusterRoleTemplateBindingSpec {
                cluster: ClusterReference {
                    name: format!("cluster-{cluster}"),
                    uid: Some(ClusterUid::new(format!("c-{cluster}"))),
                },
                role: RoleReference {
                    name: (*role).to_owned(),
                    uid: Some(RoleUid::new(*role)),
                },
                subject,
            };
            (format!("binding-{n}"), spec)
        });
        let bindings = bindings.collect();
        Self {
            bindings,
            clusters: clusters.collect(),
            people: people.collect(),
            templates,
        }
    }

    pub(super) fn clusters(&self) -> usize {
        self.clusters.len()
    }

    /// Returns the user and the target of the `n`th decision.
    pub(super) fn request(&self, n: usize) -> (RightsHolder<'_>, &Target) {
        let (_, user, groups) = &self.people[scattered(n) % self.people.len()];
        let (_, target, _) = &self.clusters[scattered(n + 7) % self.clusters.len()];
        (RightsHolder { user, groups }, target)
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        let roles = self.templates.iter();
        let users = self.people.iter().map(|(name, user, groups)| {
            let facts = UserFacts {
                uid: user.uid(),
                enabled: true,
                administrator: false,
                groups: groups.clone(),
            };
            (name.as_str(), facts)
        });
        let bindings = self.bindings.iter();
        let provider = ProviderFacts {
            uid: ProviderUid::new("p"),
            enabled: true,
        };
        Facts {
            role_templates: roles
                .map(|(name, spec)| (*name, RoleFacts { uid: name, spec }))
                .collect(),
            cluster_bindings: bindings.map(|(name, spec)| (name.as_str(), spec)).collect(),
            clusters: self
                .clusters
                .iter()
                .map(|(name, _, uid)| (name.as_str(), uid.clone()))
                .collect(),
            users: users.collect::<HashMap<_, _>>(),
            providers: [("oidc", provider)].into(),
            ..Facts::default()
        }
    }
}

fn group(n: usize) -> Option<GroupName> {
    GroupName::of("oidc", &format!("group-{n}"))
}

/// Returns a deterministic pseudo-random number (SplitMix64).
fn scattered(n: usize) -> usize {
    let mut mixed = (n as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap_or_default()
}
