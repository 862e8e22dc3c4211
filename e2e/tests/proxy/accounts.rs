//! Tests of Kubernetes service accounts of the hub that send requests through Drover, as GitOps
//! agents do.

use drover_e2e::{CommandLine, World};

use crate::revocation::Watch;
use crate::wire::Request;

const NAMESPACE: &str = "accounts";

/// Creates a service account, and returns a token of the service account. A role binding of the
/// account allows reading ConfigMaps. A role binding of its group allows reading Leases.
async fn account(world: &World, name: &str) -> String {
    let account = format!("--serviceaccount={NAMESPACE}:{name}");
    let group = format!("--group=system:serviceaccounts:{NAMESPACE}");
    let read = "--verb=get,list,watch";
    for words in [
        vec!["create", "namespace", NAMESPACE],
        vec!["create", "configmap", "first"],
        vec![
            "create",
            "role",
            "configmaps",
            read,
            "--resource=configmaps",
        ],
        vec![
            "create",
            "role",
            "leases",
            read,
            "--resource=leases.coordination.k8s.io",
        ],
        vec!["create", "rolebinding", "leases", "--role=leases", &group],
        vec!["create", "serviceaccount", name],
        vec!["create", "rolebinding", name, "--role=configmaps", &account],
    ] {
        // Only the first service account has to create the namespace and the roles.
        let words = [&words[..], &["--namespace", NAMESPACE]].concat();
        let created = world.hub.command_line().output(words).await.unwrap();
        assert!(
            created.status.success() || created.stderr.contains("already exists"),
            "{created:?}"
        );
    }
    let words = ["create", "token", name, "--namespace", NAMESPACE];
    let token = world.hub.kubectl(words).await.unwrap().stdout;
    token.trim().to_owned()
}

/// Returns a kubectl command with a kubeconfig that contains `token` and Drover's URL of `cluster`.
fn kubectl(world: &World, cluster: &str, token: &str) -> CommandLine {
    let text = std::fs::read_to_string(world.kubeconfig()).unwrap();
    let own = crate::wire::token(world);
    let text = text
        .replace(&own, token)
        .replace("/k8s/clusters/east", &format!("/k8s/clusters/{cluster}"));
    let folder = world.scratch("accounts").unwrap();
    let mut files = (0..).map(|number| folder.join(format!("{cluster}-{number}.yaml")));
    let file = files.find(|file| !file.exists()).unwrap();
    std::fs::write(&file, text).unwrap();
    world.admin.kubectl_with(&file)
}

pub(crate) async fn roles_of_a_hub_service_account_apply_only_on_the_hub(world: &mut World) {
    let token = account(world, "puller").await;
    let name = format!("system:serviceaccount:{NAMESPACE}:puller");
    let local = kubectl(world, "local", &token);
    let whoami = [
        "auth",
        "whoami",
        "-o",
        "jsonpath={.status.userInfo.username}",
    ];
    assert_eq!(local.run(whoami).await.unwrap().stdout, name);
    let get = |kind: &'static str| ["get", kind, "--namespace", NAMESPACE];
    let configmaps = local.run(get("configmaps")).await.unwrap().stdout;
    assert!(configmaps.contains("first"), "{configmaps}");
    local.run(get("leases")).await.unwrap();
    let refused = local.output(get("secrets")).await.unwrap();
    assert!(refused.stderr.contains(&name), "{refused:?}");
    assert!(refused.stderr.contains("cannot list"), "{refused:?}");

    let words = ["get", "configmaps", "--as=admin", "--namespace", NAMESPACE];
    let refused = local.output(words).await.unwrap();
    assert!(
        refused
            .stderr
            .contains("your roles do not allow you to impersonate users"),
        "{refused:?}"
    );
    for cluster in ["east", "nowhere"] {
        let elsewhere = kubectl(world, cluster, &token);
        let refused = elsewhere
            .output(["get", "--raw=/api/v1/namespaces"])
            .await
            .unwrap();
        let reported = "can access only the hub";
        assert!(refused.stderr.contains(reported), "{refused:?}");
    }
    let words = [
        "create",
        "token",
        "puller",
        "--audience=elsewhere",
        "-n",
        NAMESPACE,
    ];
    let for_another = world.hub.kubectl(words).await.unwrap().stdout;
    let refused = kubectl(world, "local", for_another.trim());
    let refused = refused.output(["get", "--raw=/api"]).await.unwrap();
    assert!(
        refused.stderr.contains("kubectl create token"),
        "{refused:?}"
    );

    let bearer = format!("Authorization: Bearer {token}");
    for path in ["/v1/clusters", "/v1/me", "/metrics"] {
        let answer = Request::get(path).line(&bearer).send(world).await;
        assert_eq!(answer.code, 401, "{path}: {answer:?}");
    }
    let records = world.server.audit().unwrap();
    let of_account = records.iter().filter(|record| record["user"] == *name);
    let mut clusters: Vec<_> = of_account.map(|record| record["cluster"].clone()).collect();
    clusters.dedup();
    assert_eq!(clusters, ["local", "east", "nowhere"]);
    assert!(
        !serde_json::to_string(&records).unwrap().contains(&token),
        "the audit log must not contain the token"
    );
}

pub(crate) async fn deletion_of_a_hub_service_account_closes_its_watch(world: &mut World) {
    let (token, other) = (
        account(world, "leaver").await,
        account(world, "stayer").await,
    );
    let (leaver, stayer) = (
        kubectl(world, "local", &token),
        kubectl(world, "local", &other),
    );
    let place = (NAMESPACE, "first");
    let watch = Watch::of(world, "leaver", leaver, place).await;
    let staying = Watch::of(world, "stayer", stayer, place).await;
    let words = [
        "delete",
        "serviceaccount",
        "leaver",
        "--namespace",
        NAMESPACE,
    ];
    world.hub.kubectl(words).await.unwrap();
    watch.ends().await;
    staying.goes_on();
}
