//! The admission policy of node reports: a node agent writes only the ConfigMap with the name of its node.
//!
//! Without the policy, a node agent on a worker could change the reports of control-plane nodes, and the
//! ConfigMap with the certificate authority that the pods of node agents trust.

use drover_api::group::{NODE_AGENT_NAMESPACE, NODE_REPORT_POLICY};
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec,
    ValidatingAdmissionPolicySpec, Validation,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::{ManifestError, Stream, cluster_meta};

/// Extra with the name of the node of a pod's token (KEP-4193, Kubernetes 1.30).
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// Label with the name of a namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

pub(super) fn write(stream: &mut Stream) -> Result<(), ManifestError> {
    stream.object("ValidatingAdmissionPolicy", &policy())?;
    let binding = ValidatingAdmissionPolicyBinding {
        metadata: cluster_meta(NODE_REPORT_POLICY),
        spec: ValidatingAdmissionPolicyBindingSpec {
            policy_name: NODE_REPORT_POLICY.to_owned(),
            validation_actions: vec!["Deny".to_owned()],
            ..Default::default()
        },
    };
    stream.object("ValidatingAdmissionPolicyBinding", &binding)
}

fn policy() -> ValidatingAdmissionPolicy {
    let list = |text: &str| Some(vec![text.to_owned()]);
    let rule = NamedRuleWithOperations {
        api_groups: list(""),
        api_versions: list("v1"),
        operations: Some(["CREATE", "UPDATE", "DELETE"].map(str::to_owned).to_vec()),
        resources: list("configmaps"),
        ..Default::default()
    };
    let accounts = format!("system:serviceaccount:{NODE_AGENT_NAMESPACE}:");
    ValidatingAdmissionPolicy {
        metadata: cluster_meta(NODE_REPORT_POLICY),
        spec: Some(ValidatingAdmissionPolicySpec {
            failure_policy: Some("Fail".to_owned()),
            match_constraints: Some(MatchResources {
                namespace_selector: Some(LabelSelector {
                    match_labels: Some(
                        [(NAMESPACE_NAME.to_owned(), NODE_AGENT_NAMESPACE.to_owned())].into(),
                    ),
                    ..Default::default()
                }),
                resource_rules: Some(vec![rule]),
                ..Default::default()
            }),
            match_conditions: Some(vec![MatchCondition {
                name: "node-agents".to_owned(),
                expression: format!("request.userInfo.username.startsWith('{accounts}')"),
            }]),
            validations: Some(vec![Validation {
                expression: format!(
                    "'{NODE_NAME}' in request.userInfo.extra && \
                     request.userInfo.extra['{NODE_NAME}'].exists(node, node == request.name)"
                ),
                message: Some(
                    "a node agent can write only the ConfigMap with the name of its node"
                        .to_owned(),
                ),
                ..Default::default()
            }]),
            ..Default::default()
        }),
        ..Default::default()
    }
}
