//! The objects that the specification of a pod names.

use serde_json::Value;

use super::Relation;
use crate::kind::Kind;
use crate::object::{Object, Reference, read};

/// Returns the JSON pointer of the pod specification in an object of a kind. Returns `None` for
/// kinds without pods.
pub(crate) fn pointer(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::PODS => Some("/spec"),
        Kind::CRON_JOBS => Some("/spec/jobTemplate/spec/template/spec"),
        Kind::DEPLOYMENTS
        | Kind::STATEFUL_SETS
        | Kind::DAEMON_SETS
        | Kind::REPLICA_SETS
        | Kind::JOBS => Some("/spec/template/spec"),
        _ => None,
    }
}

/// Reports whether objects of a kind are pods, or run pods directly. A CronJob runs Jobs.
pub fn runs_pods(kind: Kind) -> bool {
    kind != Kind::CRON_JOBS && pointer(kind).is_some()
}

/// Returns the objects that the pods of an object use.
pub(super) fn named(kind: Kind, object: &Object) -> Vec<(Relation, Reference)> {
    let Some(spec) = pointer(kind).and_then(|pointer| object.value().pointer(pointer)) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let mut add = |relation, kind: Kind, name: Option<&str>| {
        let reference = name.map(|name| Reference::named(kind, object.namespace(), name));
        all.extend(reference.map(|reference| (relation, reference)));
    };
    for volume in read::list(spec, "/volumes") {
        let of = |pointer| read::text(volume, pointer);
        add(Relation::Mount, Kind::CONFIG_MAPS, of("/configMap/name"));
        add(Relation::Mount, Kind::SECRETS, of("/secret/secretName"));
        add(
            Relation::Mount,
            Kind::VOLUME_CLAIMS,
            of("/persistentVolumeClaim/claimName"),
        );
        for source in read::list(volume, "/projected/sources") {
            add(
                Relation::Mount,
                Kind::CONFIG_MAPS,
                read::text(source, "/configMap/name"),
            );
            add(
                Relation::Mount,
                Kind::SECRETS,
                read::text(source, "/secret/name"),
            );
        }
    }
    for container in containers(spec) {
        let env = read::list(container, "/env").iter();
        let env = env.map(|one| {
            (
                read::at(one, "/valueFrom"),
                "/configMapKeyRef/name",
                "/secretKeyRef/name",
            )
        });
        let env_from = read::list(container, "/envFrom").iter();
        let env_from = env_from.map(|one| (one, "/configMapRef/name", "/secretRef/name"));
        for (source, map, secret) in env.chain(env_from) {
            add(
                Relation::Environment,
                Kind::CONFIG_MAPS,
                read::text(source, map),
            );
            add(
                Relation::Environment,
                Kind::SECRETS,
                read::text(source, secret),
            );
        }
    }
    for secret in read::list(spec, "/imagePullSecrets") {
        add(
            Relation::PullSecret,
            Kind::SECRETS,
            read::text(secret, "/name"),
        );
    }
    let account = read::text(spec, "/serviceAccountName");
    add(Relation::Account, Kind::SERVICE_ACCOUNTS, account);
    if kind == Kind::PODS {
        add(Relation::Node, Kind::NODES, read::text(spec, "/nodeName"));
    }
    all
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["/initContainers", "/containers", "/ephemeralContainers"];
    lists.into_iter().flat_map(|list| read::list(spec, list))
}
