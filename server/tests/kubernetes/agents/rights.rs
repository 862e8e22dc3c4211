//! Tests every built-in role on a real cluster. Compares the permissions that the cluster reports
//! with the rules of the role.

use drover_access::roles::{
    Rights, Scoped, built_in_global_roles, built_in_role_templates, resolve,
};
use drover_api::kinds::{RoleContext, RoleTemplateSpec};
use drover_e2e::{ControlPlane, eventually};
use drover_rbac::{Rule, missing};
use k8s_openapi::api::authorization::v1::{SelfSubjectRulesReview, SubjectRulesReviewStatus};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::Api;
use serde_json::json;

use super::members::{OURS, give, take};
use super::rig::{Rig, SOON, start};

/// Returns a user's permissions in a namespace. The cluster reports the permissions through the
/// server. Returns `None` before the cluster contains the user's bindings.
async fn allowed_in(rig: &Rig, user: &str, cluster: &str, namespace: &str) -> Option<Vec<Rule>> {
    let kind = "apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let path = format!("/k8s/clusters/{cluster}/{kind}");
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "spec": { "namespace": namespace },
    });
    let answer = rig.server.post(&path, user, body).await;
    if answer.code != 201 {
        return None;
    }
    let review: SelfSubjectRulesReview = serde_json::from_value(answer.body).unwrap();
    Some(rules(&review.status.unwrap()))
}

async fn allowed(rig: &Rig, user: &str) -> Option<Vec<Rule>> {
    allowed_in(rig, user, "shop", "default").await
}

/// Waits until a user's permissions in a namespace of a cluster equal the expected permissions.
async fn wait_for_rights(
    rig: &Rig,
    (who, cluster, namespace): (&str, &str, &str),
    case: &str,
    expected: &[Rule],
) {
    eventually(case, SOON, async || {
        let has = allowed_in(rig, who, cluster, namespace).await;
        let has = has.unwrap_or_default();
        let (lacks, exceeds) = (missing(&has, expected), missing(expected, &has));
        if lacks.is_empty() && exceeds.is_empty() {
            Ok(())
        } else {
            Err(format!("lacks {lacks:?}, exceeds by {exceeds:?}"))
        }
    })
    .await
    .unwrap();
}

fn rules(status: &SubjectRulesReviewStatus) -> Vec<Rule> {
    let objects = status.resource_rules.iter().map(|rule| Rule {
        verbs: rule.verbs.clone(),
        groups: rule.api_groups.clone().unwrap_or_default(),
        resources: rule.resources.clone().unwrap_or_default(),
        names: rule.resource_names.clone().unwrap_or_default(),
        urls: Vec::new(),
    });
    let paths = status.non_resource_rules.iter().map(|rule| Rule {
        verbs: rule.verbs.clone(),
        urls: rule.non_resource_urls.clone().unwrap_or_default(),
        ..Rule::default()
    });
    objects.chain(paths).collect()
}

/// Returns two lists of rules of a role: the rules for the cluster, and the rules for the
/// namespaces of a project. Both lists include the rules of the external ClusterRoles.
async fn granted(cluster: &ControlPlane, role: &str) -> (Vec<Rule>, Vec<Rule>) {
    let all = built_in_role_templates();
    let find = |name: &str| -> Option<&RoleTemplateSpec> {
        let found = all.iter().find(|one| one.name == name);
        found.map(|one| &one.spec)
    };
    let rights: Scoped = resolve(role, find).unwrap().unwrap();
    let whole = async |rights: Rights| {
        let rights = rights.downstream();
        let mut rules = rights.rules;
        for name in rights.external {
            let own = Api::<ClusterRole>::all(cluster.client());
            let own = own.get(&name).await.unwrap().rules.unwrap_or_default();
            rules.extend(Rights::of(&own).rules);
        }
        rules
    };
    (whole(rights.cluster).await, whole(rights.project).await)
}

#[tokio::test]
async fn each_default_cluster_role_grants_exactly_its_rules() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    let bob = rig.server.user(&rig.admin, "bob").await;
    // This role grants no permissions in the cluster. The remaining permissions belong to every
    // authenticated user.
    let id = give(&rig, &rig.admin, "cluster-members-view", "bob").await;
    let default_rules = eventually("the cluster to know bob", SOON, async || {
        allowed(&rig, &bob).await.ok_or("not yet")
    });
    let default_rules = default_rules.await.unwrap();
    let everything = drover_rbac::everything();
    assert!(!missing(&default_rules, &everything).is_empty());
    for role in built_in_role_templates() {
        if role.spec.context != RoleContext::Cluster || role.name == "cluster-members-view" {
            continue;
        }
        let granted_roles = give(&rig, &rig.admin, role.name, "bob").await;
        let (mut expected, _) = granted(&cluster, role.name).await;
        expected.extend(default_rules.iter().cloned());
        wait_for_rights(&rig, (&bob, "shop", "default"), role.name, &expected).await;
        take(&rig, &rig.admin, &granted_roles).await;
    }
    take(&rig, &rig.admin, &id).await;
    let label = "management.drover.dev/access=role";
    eventually(
        "the objects of bob's roles to be deleted",
        SOON,
        async || {
            let kinds = "clusterroles,clusterrolebindings,rolebindings";
            let remaining = cluster.kubectl(["get", kinds, "-A", "-l", label, "-o", "name"]);
            let remaining = remaining.await.map_err(|error| error.to_string())?.stdout;
            remaining.trim().is_empty().then_some(()).ok_or(remaining)
        },
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn each_default_project_role_grants_its_rules_only_in_its_project() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    let bob = rig.server.user(&rig.admin, "bob").await;
    for (project, namespace) in [("web", "front"), ("bank", "vault")] {
        let body = json!({
            "name": project, "cluster": "shop", "namespaces": [{ "name": namespace }],
        });
        let created = rig.server.post("/v1/projects", &rig.admin, body).await;
        created.expect(201);
    }
    // This role grants no permissions in the cluster. The remaining permissions belong to every
    // authenticated user.
    give(&rig, &rig.admin, "cluster-members-view", "bob").await;
    let default_rules = eventually("the cluster to know bob", SOON, async || {
        allowed(&rig, &bob).await.ok_or("not yet")
    });
    let default_rules = default_rules.await.unwrap();
    let members = "/v1/projects/web/members";
    for role in built_in_role_templates() {
        if role.spec.context != RoleContext::Project {
            continue;
        }
        let body = json!({ "role": role.name, "user": "bob" });
        let created = rig.server.post(members, &rig.admin, body).await.expect(201);
        let (in_cluster, in_project) = granted(&cluster, role.name).await;
        let elsewhere = [default_rules.clone(), in_cluster].concat();
        let here = [elsewhere.clone(), in_project].concat();
        let name = role.name;
        wait_for_rights(&rig, (&bob, "shop", "front"), name, &here).await;
        // Check a namespace of another project and a namespace without a project.
        for namespace in ["vault", "default"] {
            wait_for_rights(&rig, (&bob, "shop", namespace), name, &elsewhere).await;
        }
        let path = format!("{members}/{}", created["id"].as_str().unwrap());
        rig.server.delete(&path, &rig.admin).await.expect(204);
        wait_for_rights(&rig, (&bob, "shop", "front"), "it to go", &default_rules).await;
    }
    assert!(allowed_in(&rig, &bob, "local", "default").await.is_none());
}

#[tokio::test]
async fn each_default_global_role_grants_exactly_its_rules_on_the_hub() {
    let (rig, _cluster) = Rig::with_cluster().await;
    let bob = rig.server.user(&rig.admin, "bob").await;
    let bindings = format!("{OURS}/globalrolebindings");
    let bind = async |name: &str, role: &str| {
        let binding = json!({
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "GlobalRoleBinding",
            "metadata": { "name": name },
            "spec": { "role": { "name": role }, "subject": { "user": { "name": "bob" } } },
        });
        rig.server
            .post(&bindings, &rig.admin, binding)
            .await
            .expect(201);
    };
    // This role grants almost no permissions. The remaining permissions belong to every
    // authenticated user.
    bind("bob-imports", "clusters-import").await;
    let own = |name: &str| {
        let all = built_in_global_roles();
        let role = all.into_iter().find(|role| role.name == name).unwrap();
        Rights::of(&role.spec.rules).rules
    };
    let imports = own("clusters-import");
    let known = eventually("the hub to know bob", SOON, async || {
        let has = allowed_in(&rig, &bob, "local", "default").await;
        let has = has.ok_or("not yet")?;
        missing(&has, &imports)
            .is_empty()
            .then_some(has)
            .ok_or("not yet")
    });
    let least = known.await.unwrap();
    // Every user can review only their own permissions and cannot read objects of Drover.
    let drovers = |rule: &Rule| {
        rule.groups
            .iter()
            .any(|group| group == "management.drover.dev" || group == "*")
    };
    let of_drover: Vec<Rule> = least
        .iter()
        .filter(|&rule| drovers(rule))
        .cloned()
        .collect();
    assert!(missing(&imports, &of_drover).is_empty(), "{of_drover:?}");
    for role in built_in_global_roles() {
        if role.name == "clusters-import" {
            continue;
        }
        bind("bob-more", role.name).await;
        let expected = [least.clone(), own(role.name)].concat();
        wait_for_rights(&rig, (&bob, "local", "default"), role.name, &expected).await;
        wait_for_rights(&rig, (&bob, "local", "drover-system"), role.name, &expected).await;
        let path = format!("{bindings}/bob-more");
        rig.server.delete(&path, &rig.admin).await.expect(200);
        wait_for_rights(&rig, (&bob, "local", "default"), "it to go", &least).await;
    }
}
