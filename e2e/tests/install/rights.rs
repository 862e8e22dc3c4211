//! The rights that the chart gives the server: each is used, and no other is asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use drover_e2e::{AuditEvent, CommandLine, eventually};
use serde_json::{Value, json};

use crate::stage::{Installed, NAMESPACE};

const ACCOUNT: &str = "system:serviceaccount:drover-system:drover";
const SOON: Duration = Duration::from_mins(1);

/// What no audit log shows, or what takes long to come about.
const UNSEEN: [(&str, &str); 2] = [
    // Looked at within the request that writes the administrators' binding.
    ("clusterroles", "bind"),
    // The same event of the same Cluster again, after a minute.
    ("events", "patch"),
];

/// What the server has not had a reason for yet.
async fn do_the_rest(installed: &Installed) {
    for line in [
        // The binding is there from the chart on, until somebody deletes it.
        "delete clusterrolebinding drover-administrators",
        "create namespace accounts",
        "create serviceaccount puller --namespace accounts",
        "create clusterrolebinding puller --clusterrole=view --serviceaccount=accounts:puller",
    ] {
        installed.tools.kubectl(line).await.unwrap();
    }
    for line in [
        "user create bob --administrator --generate-password",
        "user delete bob --yes",
        "cluster import west",
        "cluster delete west --yes --wait",
        "setting set session-ttl 8h",
    ] {
        installed.drover(line).await.unwrap();
    }
    as_person(installed).await;
    let puller = installed
        .tools
        .kubectl("create token puller --namespace accounts")
        .await;
    let puller = on_the_hub(installed, "puller", &puller.unwrap());
    puller.run(["get", "configmaps"]).await.unwrap();
    // A token that memory does not know is looked for on the hub.
    let unknown = format!("drover_bcdfghjkmnpq_{}", "b".repeat(32));
    let refused = on_the_hub(installed, "unknown", &unknown);
    assert!(
        !refused
            .output(["get", "--raw=/api"])
            .await
            .unwrap()
            .status
            .success()
    );
}

/// Acts as another, and binds roles: they are looked at then.
async fn as_person(installed: &Installed) {
    let made = installed
        .drover("token create --description=hub --output=json")
        .await
        .unwrap();
    let made: Value = serde_json::from_str(&made).unwrap();
    let admin = on_the_hub(installed, "admin", made["token"].as_str().unwrap());
    eventually(
        "the administrator to have rights on the hub again",
        SOON,
        async || admin.run(["get", "nodes"]).await.map(drop),
    )
    .await
    .unwrap();
    let bind = |kind: &str| format!("create rolebinding of-{kind} --{kind}=reader --user=somebody");
    for line in [
        "auth whoami --as=ann".to_owned(),
        "create clusterrole reader --verb=get --resource=configmaps".to_owned(),
        "create role reader --verb=get --resource=configmaps".to_owned(),
        bind("clusterrole"),
        bind("role"),
    ] {
        admin.run(line.split(' ')).await.unwrap();
    }
}

/// kubectl on the cluster `local`, with this token.
fn on_the_hub(installed: &Installed, name: &str, token: &str) -> CommandLine {
    let server = format!("{}/k8s/clusters/local", installed.url);
    // This connection is a tool of the test; other tests are about the server's certificate.
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "local",
        "clusters": [{ "name": "local", "cluster": {
            "server": server, "insecure-skip-tls-verify": true,
        } }],
        "users": [{ "name": name, "user": { "token": token } }],
        "contexts": [{ "name": "local", "context": { "cluster": "local", "user": name } }],
    });
    let file = installed.east.cluster.folder().join(format!("{name}.yaml"));
    std::fs::write(&file, text.to_string()).unwrap();
    installed.admin.kubectl_with(&file)
}

type Right = (String, String);

/// Resource and verb of everything that the chart's roles allow.
async fn granted(installed: &Installed) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for role in [
        format!("role drover --namespace={NAMESPACE}"),
        "role drover-events --namespace=default".to_owned(),
        "clusterrole drover".to_owned(),
    ] {
        let role = installed
            .tools
            .kubectl(&format!("get {role} -o json"))
            .await
            .unwrap();
        let role: Value = serde_json::from_str(&role).unwrap();
        for rule in role["rules"].as_array().unwrap() {
            let texts = |key: &str| {
                let list = rule[key].as_array().unwrap().clone();
                list.into_iter()
                    .map(|text| text.as_str().unwrap().to_owned())
            };
            for resource in texts("resources") {
                rights.extend(texts("verbs").map(|verb| (resource.clone(), verb)));
            }
        }
    }
    rights
}

/// What a request of the server's needed.
fn needed(event: &AuditEvent) -> Vec<Right> {
    let Some(object) = &event.object_ref else {
        return Vec::new();
    };
    if let Some(person) = &event.impersonated_user {
        return impersonated(&person.username, &person.uid, person.extra.keys());
    }
    let resource = match object.subresource.as_str() {
        "" => object.resource.clone(),
        subresource => format!("{}/{subresource}", object.resource),
    };
    let code = event
        .response_status
        .as_ref()
        .map_or(0, |status| status.code);
    // What is applied and was not there is created, by another right.
    let created = event.verb == "patch" && code == 201;
    let also = created.then(|| (resource.clone(), "create".to_owned()));
    also.into_iter()
        .chain([(resource.clone(), event.verb.clone())])
        .collect()
}

fn impersonated<'a>(name: &str, uid: &str, extras: impl Iterator<Item = &'a String>) -> Vec<Right> {
    let account = name.starts_with("system:serviceaccount:");
    let who = if account { "serviceaccounts" } else { "users" };
    let uid = (!uid.is_empty()).then(|| "uids".to_owned());
    let extras = extras.map(|key| format!("userextras/{key}"));
    let all = [who.to_owned()].into_iter().chain(uid).chain(extras);
    all.map(|what| (what, "impersonate".to_owned())).collect()
}

fn of_server(installed: &Installed) -> Vec<AuditEvent> {
    let events = installed.hub.audit_events().unwrap();
    let own = events
        .into_iter()
        .filter(|event| event.user.username == ACCOUNT);
    own.collect()
}

fn forbidden(events: &[AuditEvent]) -> Vec<String> {
    let decision = "authorization.k8s.io/decision";
    let refused = events.iter().filter(|event| {
        let decided = event.annotations.get(decision).map(String::as_str);
        event.impersonated_user.is_none() && decided == Some("forbid")
    });
    refused
        .map(|event| format!("{} {}", event.verb, event.request_uri))
        .collect()
}

pub(crate) async fn the_server_uses_every_right_that_it_has_and_asks_for_no_other(
    installed: &mut Installed,
) {
    // A fresh stage has no user of this name yet.
    drop(
        installed
            .drover("user create ann --generate-password")
            .await,
    );
    do_the_rest(installed).await;
    let granted = granted(installed).await;
    eventually("every right to be used", SOON, async || {
        let used: BTreeSet<Right> = of_server(installed).iter().flat_map(needed).collect();
        let unseen = |right: &&Right| {
            let (resource, verb) = (&*right.0, &*right.1);
            // Only tokens of pods and nodes have these.
            let of_pod = resource.starts_with("userextras/authentication.kubernetes.io/");
            of_pod || UNSEEN.contains(&(resource, verb))
        };
        let idle: Vec<_> = granted
            .difference(&used)
            .filter(|right| !unseen(right))
            .collect();
        if idle.is_empty() {
            Ok(())
        } else {
            Err(format!("{idle:?}"))
        }
    })
    .await
    .unwrap();
    let refused = forbidden(&of_server(installed));
    assert!(refused.is_empty(), "{refused:#?}");
}
