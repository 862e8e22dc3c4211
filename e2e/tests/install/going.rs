//! Tests that uninstall and reinstall the charts.

use std::time::Duration;

use drover_e2e::eventually;

use crate::stage::{Installed, NAMESPACE, Tools};

const SOON: Duration = Duration::from_mins(1);
/// The number of kinds in the group `management.drover.dev`.
const DROVER_KINDS: usize = 14;
/// The number of kinds in the group `fleet.cattle.io`.
const FLEET_KINDS: usize = 14;

async fn names(tools: &Tools, name: &str) -> Vec<String> {
    let found = tools.kubectl(&format!("get {name} -o name")).await.unwrap();
    found.lines().map(str::to_owned).collect()
}

async fn assert_no_objects(tools: &Tools, subject: &str) {
    let ours = |name: &String| name.contains("drover");
    eventually(&format!("all {subject} to be deleted"), SOON, async || {
        let remaining = names(tools, subject).await;
        let remaining: Vec<_> = remaining.into_iter().filter(ours).collect();
        if remaining.is_empty() {
            Ok(())
        } else {
            Err(format!("{remaining:?}"))
        }
    })
    .await
    .unwrap();
}

pub(crate) async fn uninstallation_preserves_the_documented_objects_for_a_new_installation(
    installed: &mut Installed,
) {
    // Delete the cluster first. The deletion removes the agent, its namespace and the Helm release
    // in it.
    installed
        .drover("cluster delete east --yes --wait")
        .await
        .unwrap();
    let agents = "namespaces,clusterroles,clusterrolebindings";
    assert_no_objects(&installed.tools_of_east, agents).await;
    installed
        .tools
        .helm(&["uninstall", "drover", "--wait"], NAMESPACE)
        .await
        .unwrap();

    // The steps of docs/install/uninstall.md for permissions on the hub.
    for line in [
        "delete clusterroles,clusterrolebindings --selector=management.drover.dev/hub-access",
        "delete roles,rolebindings --all-namespaces --selector=management.drover.dev/hub-access",
    ] {
        installed.tools.kubectl(line).await.unwrap();
    }
    assert_no_objects(&installed.tools, "clusterroles,clusterrolebindings").await;
    assert_no_objects(&installed.tools, "validatingwebhookconfigurations").await;
    assert_no_objects(&installed.tools, "roles,rolebindings --all-namespaces").await;
    let here = format!("all,ingresses,networkpolicies,pdb,serviceaccounts --namespace={NAMESPACE}");
    assert_no_objects(&installed.tools, &here).await;
    // These objects stay for a new installation.
    let kinds = names(&installed.tools, "crd").await;
    let ending = |end: &str| kinds.iter().filter(|name| name.ends_with(end)).count();
    let groups = [ending(".management.drover.dev"), ending(".fleet.cattle.io")];
    assert_eq!(groups, [DROVER_KINDS, FLEET_KINDS], "{kinds:?}");
    let users = names(&installed.tools, "users.management.drover.dev").await;
    assert!(
        users.iter().any(|name| name.ends_with("/admin")),
        "{users:?}"
    );
    let secrets = names(
        &installed.tools,
        &format!("secrets --namespace={NAMESPACE}"),
    )
    .await;
    let secrets = secrets
        .iter()
        .map(|name| name.trim_start_matches("secret/"));
    let (passwords, others): (Vec<_>, Vec<_>) =
        secrets.partition(|name| name.starts_with("password-"));
    assert!(!passwords.is_empty(), "the password Secrets must remain");
    // Clusters stay registered, each with the claim of its key.
    let others: Vec<_> = others
        .into_iter()
        .filter(|name| !name.starts_with("cluster-key-"))
        .collect();
    let kept = [
        "challenge-key",
        "plan-signing-keys",
        "server-ca",
        "server-serving",
    ];
    assert_eq!(others, kept);

    installed
        .tools
        .install_server(&installed.url)
        .await
        .unwrap();
    eventually("the previous login to work", SOON, async || {
        installed.drover("whoami").await.map(drop)
    })
    .await
    .unwrap();
}
