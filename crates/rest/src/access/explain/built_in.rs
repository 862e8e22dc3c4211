//! Kubernetes' built-in resources, for clusters whose discovery is not available.

use super::resource::Kind;

/// Group, plural, singular and short names, in the order in which Kubernetes v1.36 prefers groups.
/// The list includes `metrics.k8s.io`, which metrics-server serves.
const KINDS: &[(&str, &str, &str, &[&str])] = &[
    ("", "bindings", "binding", &[]),
    ("", "componentstatuses", "componentstatus", &["cs"]),
    ("", "configmaps", "configmap", &["cm"]),
    ("", "endpoints", "endpoints", &["ep"]),
    ("", "events", "event", &["ev"]),
    ("", "limitranges", "limitrange", &["limits"]),
    ("", "namespaces", "namespace", &["ns"]),
    ("", "nodes", "node", &["no"]),
    (
        "",
        "persistentvolumeclaims",
        "persistentvolumeclaim",
        &["pvc"],
    ),
    ("", "persistentvolumes", "persistentvolume", &["pv"]),
    ("", "pods", "pod", &["po"]),
    ("", "podtemplates", "podtemplate", &[]),
    (
        "",
        "replicationcontrollers",
        "replicationcontroller",
        &["rc"],
    ),
    ("", "resourcequotas", "resourcequota", &["quota"]),
    ("", "secrets", "secret", &[]),
    ("", "serviceaccounts", "serviceaccount", &["sa"]),
    ("", "services", "service", &["svc"]),
    ("apiregistration.k8s.io", "apiservices", "apiservice", &[]),
    ("apps", "controllerrevisions", "controllerrevision", &[]),
    ("apps", "daemonsets", "daemonset", &["ds"]),
    ("apps", "deployments", "deployment", &["deploy"]),
    ("apps", "replicasets", "replicaset", &["rs"]),
    ("apps", "statefulsets", "statefulset", &["sts"]),
    ("events.k8s.io", "events", "event", &["ev"]),
    (
        "authentication.k8s.io",
        "selfsubjectreviews",
        "selfsubjectreview",
        &[],
    ),
    ("authentication.k8s.io", "tokenreviews", "tokenreview", &[]),
    (
        AUTHORIZATION,
        "localsubjectaccessreviews",
        "localsubjectaccessreview",
        &[],
    ),
    (
        AUTHORIZATION,
        "selfsubjectaccessreviews",
        "selfsubjectaccessreview",
        &[],
    ),
    (
        AUTHORIZATION,
        "selfsubjectrulesreviews",
        "selfsubjectrulesreview",
        &[],
    ),
    (
        AUTHORIZATION,
        "subjectaccessreviews",
        "subjectaccessreview",
        &[],
    ),
    (
        "autoscaling",
        "horizontalpodautoscalers",
        "horizontalpodautoscaler",
        &["hpa"],
    ),
    ("batch", "cronjobs", "cronjob", &["cj"]),
    ("batch", "jobs", "job", &[]),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        "certificatesigningrequest",
        &["csr"],
    ),
    ("networking.k8s.io", "ingressclasses", "ingressclass", &[]),
    ("networking.k8s.io", "ingresses", "ingress", &["ing"]),
    ("networking.k8s.io", "ipaddresses", "ipaddress", &["ip"]),
    (
        "networking.k8s.io",
        "networkpolicies",
        "networkpolicy",
        &["netpol"],
    ),
    ("networking.k8s.io", "servicecidrs", "servicecidr", &[]),
    (
        "policy",
        "poddisruptionbudgets",
        "poddisruptionbudget",
        &["pdb"],
    ),
    (RBAC, "clusterrolebindings", "clusterrolebinding", &[]),
    (RBAC, "clusterroles", "clusterrole", &[]),
    (RBAC, "rolebindings", "rolebinding", &[]),
    (RBAC, "roles", "role", &[]),
    ("storage.k8s.io", "csidrivers", "csidriver", &[]),
    ("storage.k8s.io", "csinodes", "csinode", &[]),
    (
        "storage.k8s.io",
        "csistoragecapacities",
        "csistoragecapacity",
        &[],
    ),
    ("storage.k8s.io", "storageclasses", "storageclass", &["sc"]),
    (
        "storage.k8s.io",
        "volumeattachments",
        "volumeattachment",
        &[],
    ),
    (
        "storage.k8s.io",
        "volumeattributesclasses",
        "volumeattributesclass",
        &["vac"],
    ),
    (
        ADMISSION,
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicy",
        &[],
    ),
    (
        ADMISSION,
        "mutatingadmissionpolicybindings",
        "mutatingadmissionpolicybinding",
        &[],
    ),
    (
        ADMISSION,
        "mutatingwebhookconfigurations",
        "mutatingwebhookconfiguration",
        &[],
    ),
    (
        ADMISSION,
        "validatingadmissionpolicies",
        "validatingadmissionpolicy",
        &[],
    ),
    (
        ADMISSION,
        "validatingadmissionpolicybindings",
        "validatingadmissionpolicybinding",
        &[],
    ),
    (
        ADMISSION,
        "validatingwebhookconfigurations",
        "validatingwebhookconfiguration",
        &[],
    ),
    (
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "customresourcedefinition",
        &["crd", "crds"],
    ),
    (
        "scheduling.k8s.io",
        "priorityclasses",
        "priorityclass",
        &["pc"],
    ),
    ("coordination.k8s.io", "leases", "lease", &[]),
    ("node.k8s.io", "runtimeclasses", "runtimeclass", &[]),
    ("discovery.k8s.io", "endpointslices", "endpointslice", &[]),
    (FLOW_CONTROL, "flowschemas", "flowschema", &[]),
    (
        FLOW_CONTROL,
        "prioritylevelconfigurations",
        "prioritylevelconfiguration",
        &[],
    ),
    ("resource.k8s.io", "deviceclasses", "deviceclass", &[]),
    ("resource.k8s.io", "resourceclaims", "resourceclaim", &[]),
    (
        "resource.k8s.io",
        "resourceclaimtemplates",
        "resourceclaimtemplate",
        &[],
    ),
    ("resource.k8s.io", "resourceslices", "resourceslice", &[]),
    ("metrics.k8s.io", "nodes", "node", &[]),
    ("metrics.k8s.io", "pods", "pod", &[]),
];

const ADMISSION: &str = "admissionregistration.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// API group and plural name of resources that exist only in RBAC rules, for impersonation and
/// certificate signers.
const RULE_ONLY_KINDS: [(&str, &str); 5] = [
    ("", "groups"),
    ("", "users"),
    ("authentication.k8s.io", "uids"),
    ("authentication.k8s.io", "userextras"),
    ("certificates.k8s.io", "signers"),
];

/// Returns Kubernetes' built-in resources, including resources that exist only in RBAC rules.
pub(super) fn kinds() -> Vec<Kind> {
    let served = KINDS.iter().map(|(group, plural, singular, short)| Kind {
        group: (*group).to_owned(),
        versions: vec!["v1".to_owned()],
        plural: (*plural).to_owned(),
        singular: (*singular).to_owned(),
        short: short.iter().map(|&short| short.to_owned()).collect(),
        subresources: None,
    });
    served.chain(rule_only_kinds()).collect()
}

/// Returns the resources that exist only in RBAC rules.
pub(super) fn rule_only_kinds() -> impl Iterator<Item = Kind> {
    RULE_ONLY_KINDS.into_iter().map(|(group, plural)| Kind {
        group: group.to_owned(),
        plural: plural.to_owned(),
        singular: plural.to_owned(),
        ..Kind::default()
    })
}
