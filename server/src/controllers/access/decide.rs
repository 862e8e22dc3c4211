//! From people to objects. Pure.

use std::collections::BTreeSet;

use drover_access::names::{EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID, GroupName, UserName};
use drover_api::ids::UserUid;
use drover_api::kinds::User;
use k8s_openapi::api::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use thiserror::Error;

use super::{CHUNK, CHUNKS, PART_LABEL, administrators_name, user_lane_name};
use crate::registration::manifest::{account, labels, role_ref};

/// More names than the chunks hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{names} names have access, more than the {most} that this version applies to a cluster", most = CHUNK * CHUNKS)]
pub struct TooMany {
    /// How many have.
    pub names: usize,
}

/// The names that have a binding in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct People {
    /// Users bound to `cluster-admin`.
    pub administrators: BTreeSet<UserName>,
    /// Groups that requests may carry.
    pub groups: BTreeSet<GroupName>,
}

impl People {
    /// Those who may use every cluster: enabled administrators who are not being deleted.
    pub fn of<'a>(users: impl IntoIterator<Item = &'a User>) -> Self {
        let administrators = users
            .into_iter()
            .filter(|user| {
                user.spec.administrator
                    && user.spec.enabled
                    && user.metadata.deletion_timestamp.is_none()
            })
            .filter_map(|user| Some(UserName::of(&UserUid::new(user.uid()?))))
            .collect();
        Self {
            administrators,
            groups: BTreeSet::new(),
        }
    }
}

/// What must be in a cluster; objects with [`PART_LABEL`] that are not in here must go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Names that the user lane may take.
    pub roles: Vec<ClusterRole>,
    /// The user lane's roles, and the administrators' rights.
    pub bindings: Vec<ClusterRoleBinding>,
}

/// Decides what must be in a cluster for these people.
pub fn decide(people: &People) -> Result<Wanted, TooMany> {
    let users: Vec<&str> = people.administrators.iter().map(UserName::as_str).collect();
    let groups: Vec<&str> = people.groups.iter().map(GroupName::as_str).collect();
    let most = users.len().max(groups.len());
    if most > CHUNK * CHUNKS {
        return Err(TooMany { names: most });
    }
    let mut wanted = Wanted::default();
    for n in 0..most.div_ceil(CHUNK) {
        let (users, groups) = (chunk(&users, n), chunk(&groups, n));
        wanted.roles.push(user_lane_role(n, users, groups));
        wanted.bindings.push(ClusterRoleBinding {
            metadata: meta(&user_lane_name(n), "user-lane"),
            role_ref: role_ref("ClusterRole", &user_lane_name(n)),
            subjects: Some(vec![account("drover-user")]),
        });
        if !users.is_empty() {
            wanted.bindings.push(administrators(n, users));
        }
    }
    Ok(wanted)
}

fn chunk<'a, 'b>(names: &'b [&'a str], n: usize) -> &'b [&'a str] {
    names.chunks(CHUNK).nth(n).unwrap_or_default()
}

fn user_lane_role(n: usize, users: &[&str], groups: &[&str]) -> ClusterRole {
    let mut rules = Vec::new();
    if !users.is_empty() {
        rules.push(impersonate("", &["users"], users));
    }
    if !groups.is_empty() {
        rules.push(impersonate("", &["groups"], groups));
    }
    // Their values are for people's eyes and decide nothing; a token's id is new each time.
    let extras = [EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID].map(|key| format!("userextras/{key}"));
    rules.push(impersonate(
        "authentication.k8s.io",
        &extras.each_ref().map(String::as_str),
        &[],
    ));
    ClusterRole {
        metadata: meta(&user_lane_name(n), "user-lane"),
        rules: Some(rules),
        aggregation_rule: None::<AggregationRule>,
    }
}

/// An empty `names` allows every name.
fn impersonate(group: &str, resources: &[&str], names: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        resource_names: (!names.is_empty()).then(|| owned(names)),
        verbs: vec!["impersonate".to_owned()],
        ..Default::default()
    }
}

fn administrators(n: usize, users: &[&str]) -> ClusterRoleBinding {
    let subject = |name: &&str| Subject {
        api_group: Some("rbac.authorization.k8s.io".to_owned()),
        kind: "User".to_owned(),
        name: (*name).to_owned(),
        ..Default::default()
    };
    ClusterRoleBinding {
        metadata: meta(&administrators_name(n), "administrators"),
        role_ref: role_ref("ClusterRole", "cluster-admin"),
        subjects: Some(users.iter().map(subject).collect()),
    }
}

fn meta(name: &str, part: &str) -> ObjectMeta {
    let mut labels = labels();
    labels.insert(PART_LABEL.to_owned(), part.to_owned());
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(labels),
        ..Default::default()
    }
}

/// The names of present objects that are not wanted.
pub fn surplus<'a>(
    present: impl IntoIterator<Item = &'a str>,
    wanted: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let wanted: BTreeSet<&str> = wanted.into_iter().collect();
    let mut surplus: Vec<String> = present
        .into_iter()
        .filter(|name| !wanted.contains(name))
        .map(str::to_owned)
        .collect();
    surplus.sort_unstable();
    surplus
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::UserSpec;

    use super::*;

    fn user(uid: &str, administrator: bool, enabled: bool) -> User {
        let spec = UserSpec {
            display_name: None,
            enabled,
            administrator,
            must_change_password: false,
        };
        let mut user = User::new("name", spec);
        user.metadata.uid = Some(uid.to_owned());
        user
    }

    fn people(count: usize) -> People {
        let administrators = (0..count)
            .map(|n| UserName::of(&UserUid::new(format!("{n:05}"))))
            .collect();
        People {
            administrators,
            groups: BTreeSet::new(),
        }
    }

    fn names(rule: &PolicyRule) -> &[String] {
        rule.resource_names.as_deref().unwrap_or_default()
    }

    #[test]
    fn only_enabled_administrators_have_access() {
        let mut leaving = user("d", true, true);
        leaving.metadata.deletion_timestamp = Some(
            k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH),
        );
        let all = [
            user("a", true, true),
            user("b", true, false),
            user("c", false, true),
            leaving,
        ];
        let people = People::of(&all);
        let seen: Vec<_> = people.administrators.iter().map(UserName::as_str).collect();
        assert_eq!(seen, ["drover:user:a"]);
    }

    #[test]
    fn nobody_means_no_objects() {
        assert_eq!(decide(&People::default()), Ok(Wanted::default()));
    }

    #[test]
    fn the_user_lane_may_take_exactly_the_names_that_have_access() {
        let mut people = people(2);
        people.groups.extend(GroupName::of("github", "7"));
        let wanted = decide(&people).unwrap();
        let rules = wanted.roles[0].rules.as_deref().unwrap();
        assert_eq!(names(&rules[0]), ["drover:user:00000", "drover:user:00001"]);
        assert_eq!(names(&rules[1]), ["drover:github:7"]);
        for rule in rules {
            assert_eq!(rule.verbs, ["impersonate"]);
            let open = rule.resource_names.is_none();
            let extras = rule
                .resources
                .iter()
                .flatten()
                .all(|r| r.starts_with("userextras/"));
            assert_eq!(open, extras, "{rule:?}");
        }
    }

    #[test]
    fn many_people_are_cut_into_chunks_and_too_many_are_refused() {
        for (count, chunks) in [(1, 1), (CHUNK, 1), (CHUNK + 1, 2), (CHUNK * CHUNKS, CHUNKS)] {
            let wanted = decide(&people(count)).unwrap();
            assert_eq!(wanted.roles.len(), chunks, "{count}");
            assert_eq!(wanted.bindings.len(), 2 * chunks, "{count}");
            let bound: usize = wanted
                .bindings
                .iter()
                .filter(|binding| binding.role_ref.name == "cluster-admin")
                .map(|binding| binding.subjects.as_ref().unwrap().len())
                .sum();
            assert_eq!(bound, count);
        }
        assert_eq!(
            decide(&people(CHUNK * CHUNKS + 1)),
            Err(TooMany {
                names: CHUNK * CHUNKS + 1
            })
        );
    }

    #[test]
    fn what_is_no_longer_wanted_is_surplus() {
        assert_eq!(
            surplus(["drover-user-1", "drover-user-0", "x"], ["drover-user-0"]),
            ["drover-user-1", "x"]
        );
    }
}
