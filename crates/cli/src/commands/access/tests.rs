use drover_api::kinds::RoleContext;
use drover_api::rest::RoleRights;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::*;
use crate::args::Format;

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn member(id: &str, ready: Option<(&str, &str)>) -> MemberView {
    let created: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
    let condition = |(status, reason): (&str, &str)| Condition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: String::new(),
        last_transition_time: Time(created),
        observed_generation: None,
    };
    MemberView {
        id: id.to_owned(),
        role: "cluster-viewer".to_owned(),
        user: Some("ann".to_owned()),
        display_name: Some("Ann\u{202e}".to_owned()),
        identities: vec![MemberIdentity {
            provider: "corp".to_owned(),
            login: "ann@corp.example".to_owned(),
        }],
        group: None,
        created_at: created,
        conditions: ready.map(condition).into_iter().collect(),
    }
}

#[test]
fn members_and_roles_are_listed_with_their_states() {
    let members = vec![
        member("m-1", None),
        member("m-2", Some(("True", "Given"))),
        MemberView {
            user: None,
            display_name: None,
            identities: Vec::new(),
            group: Some("drover:corp:devs".to_owned()),
            ..member("m-3", Some(("False", "Gone")))
        },
    ];
    let role = RoleView {
        name: "cluster-viewer".to_owned(),
        display_name: Some("Cluster Viewer".to_owned()),
        description: Some("Reads everything in the cluster but Secrets.".to_owned()),
        context: RoleContext::Cluster,
        built_in: true,
        locked: false,
        bound: Some(3),
        rights: RoleRights::default(),
    };
    let members = list(members, Format::Table, now(), "").unwrap();
    let roles = list(vec![role], Format::Table, now(), "").unwrap();
    insta::assert_snapshot!(format!("{members}\n{roles}"));
}

#[test]
fn access_explanation_lists_subject_role_and_binding() {
    let one = ThroughView {
        subject: "drover:user:1".to_owned(),
        user: Some("ann".to_owned()),
        role: "cluster-viewer".to_owned(),
        binding_kind: "ClusterRoleTemplateBinding".to_owned(),
        binding: "m-1".to_owned(),
        through: PermissionOrigin::Known,
        cluster_role: Some("view".to_owned()),
    };
    let group = ThroughView {
        subject: "drover:corp:devs".to_owned(),
        user: None,
        through: PermissionOrigin::Perhaps,
        cluster_role: Some("of-ours".to_owned()),
        ..one.clone()
    };
    let found = |user: Option<&str>, through: Vec<ThroughView>| Explanation {
        user: user.map(str::to_owned),
        resource: None,
        unresolved: None,
        more: through.len() > 1,
        unasked: None,
        through,
    };
    let pages = [
        found(None, vec![one, group]),
        found(Some("bob"), Vec::new()),
        Explanation {
            unasked: Some("no agent of the cluster is connected".to_owned()),
            ..found(None, Vec::new())
        },
    ];
    let pages = pages.map(|page| page.page(now()));
    insta::assert_snapshot!(pages.join("\n"));
}
