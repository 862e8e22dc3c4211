//! The access check: the fields of the form, the request, and texts for the result.

use drover_api::rest::{Explanation, PermissionOrigin, ThroughView};

use crate::messages::t;
use crate::shell;
use crate::url::segment;

/// The value of the user field that selects all users.
pub const EVERYBODY: &str = "*";

/// The fields of an access check, as entered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The name of the cluster.
    pub cluster: String,
    /// A verb such as `get`.
    pub verb: String,
    /// A resource in the form of kubectl (`pods`, `pods/log`, `deployments.apps`), or a path such
    /// as `/metrics`.
    pub resource: String,
    /// The name of the object; empty for all objects.
    pub object: String,
    /// The namespace; empty for all namespaces and cluster-scoped objects.
    pub namespace: String,
    /// The user name; empty for the caller, [`EVERYBODY`] for all users.
    pub user: String,
}

impl Question {
    /// Reports whether all required fields are set.
    pub fn is_complete(&self) -> bool {
        let needed = [&self.cluster, &self.verb, &self.resource];
        needed.iter().all(|text| !text.is_empty())
    }

    /// Returns the request path of the access check.
    pub fn path(&self) -> String {
        let parts = [
            ("cluster", self.cluster.as_str()),
            ("verb", &self.verb),
            ("resource", &self.resource),
            ("object", &self.object),
            ("namespace", &self.namespace),
            ("user", &self.user),
        ];
        let filled = parts.iter().filter(|(_, value)| !value.is_empty());
        let query: Vec<_> = filled
            .map(|(name, value)| format!("{name}={}", segment(value)))
            .collect();
        format!("/v1/access/explain?{}", query.join("&"))
    }

    /// Returns the equivalent `drover access explain` command.
    pub fn command(&self) -> String {
        let word = |text: &str, unknown: &str| match text {
            "" => unknown.to_owned(),
            text => shell::word(text),
        };
        let option = |name: &str, text: &str| match text {
            "" => String::new(),
            text => format!(" --{name}={}", shell::word(text)),
        };
        let object = match self.object.as_str() {
            "" => String::new(),
            object => format!(" {}", shell::word(object)),
        };
        let user_argument = match self.user.as_str() {
            EVERYBODY => " --everybody".to_owned(),
            user => option("user", user),
        };
        format!(
            "drover access explain --cluster={} {} {}{}{user_argument}{object}",
            word(&self.cluster, "CLUSTER"),
            word(&self.verb, "VERB"),
            word(&self.resource, "RESOURCE"),
            option("namespace", &self.namespace),
        )
    }
}

/// The result of an access check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessResult {
    /// The request is denied.
    No,
    /// The result is unknown: a ClusterRole in the cluster can allow the request.
    Perhaps,
    /// The request is allowed.
    Yes,
}

/// Returns the result of an access check and the heading of the result.
pub fn access_result(answer: &Explanation) -> (AccessResult, String) {
    let sure = |through: &ThroughView| through.through != PermissionOrigin::Perhaps;
    let access_result = match answer.through.as_slice() {
        [] => AccessResult::No,
        through if through.iter().any(sure) => AccessResult::Yes,
        _ => AccessResult::Perhaps,
    };
    let words = match (&answer.user, access_result) {
        (Some(user), AccessResult::No) => t().access.user_denied(user),
        (Some(user), AccessResult::Perhaps) => t().access.user_unknown(user),
        (Some(user), AccessResult::Yes) => t().access.user_allowed(user),
        (None, AccessResult::No) => t().access.all_denied().to_owned(),
        (None, AccessResult::Perhaps) => t().access.all_unknown().to_owned(),
        (None, AccessResult::Yes) => t().access.all_allowed().to_owned(),
    };
    (access_result, words)
}

/// Returns the resolved resource as text, with the error if the cluster did not resolve the name.
pub fn resource(answer: &Explanation) -> Option<String> {
    let name = answer.resource.as_ref()?.qualified();
    Some(match &answer.unresolved {
        None => t().access.resource_name(&name),
        Some(reason) => t().access.resource_unresolved(&name, reason),
    })
}

/// Returns a text with the cause if the server cannot read the RoleBindings of the cluster.
pub fn unasked(answer: &Explanation) -> Option<String> {
    let reason = answer.unasked.as_deref()?;
    Some(t().access.bindings_unknown(reason))
}

/// Returns the source of the rule: the role itself, or a ClusterRole.
pub fn how(through: &ThroughView) -> String {
    let role = through.cluster_role.as_deref().unwrap_or_default();
    match through.through {
        PermissionOrigin::Rule => t().access.own_rule().to_owned(),
        PermissionOrigin::Known => t().access.cluster_role(role),
        PermissionOrigin::Perhaps => t().access.unknown_cluster_role(role),
    }
}

#[cfg(test)]
mod tests {
    use drover_api::rest::ExplainedResource;

    use super::*;

    fn question(resource: &str, user: &str) -> Question {
        Question {
            cluster: "berlin".to_owned(),
            verb: "get".to_owned(),
            resource: resource.to_owned(),
            object: String::new(),
            namespace: String::new(),
            user: user.to_owned(),
        }
    }

    #[test]
    fn resource_input_accepts_the_kubectl_form() {
        for (typed, resource) in [
            ("pods", "pods"),
            ("deploy", "deploy"),
            ("pods/log", "pods%2Flog"),
            ("deployments.apps/scale", "deployments.apps%2Fscale"),
            ("/metrics.x", "%2Fmetrics.x"),
        ] {
            let expected =
                format!("/v1/access/explain?cluster=berlin&verb=get&resource={resource}");
            assert_eq!(question(typed, "").path(), expected, "{typed}");
        }
    }

    #[test]
    fn explain_cli_command_contains_the_form_values() {
        let requested = Question {
            namespace: "shop".to_owned(),
            ..question("deployments.apps", "ann")
        };
        assert_eq!(
            requested.command(),
            "drover access explain --cluster=berlin get deployments.apps --namespace=shop --user=ann"
        );
        let one = Question {
            object: "store-0".to_owned(),
            ..question("pods", "")
        };
        assert!(one.path().ends_with("&resource=pods&object=store-0"));
        assert_eq!(
            one.command(),
            "drover access explain --cluster=berlin get pods store-0"
        );
        let everybody = question("pods", EVERYBODY).command();
        assert_eq!(
            everybody,
            "drover access explain --cluster=berlin get pods --everybody"
        );
        assert!(!Question::default().is_complete());
    }

    #[test]
    fn explain_result_contains_the_resource_and_the_cluster_error() {
        let mut answer = Explanation {
            user: None,
            resource: Some(ExplainedResource {
                group: "apps".to_owned(),
                resource: "deployments".to_owned(),
                subresource: "scale".to_owned(),
            }),
            unresolved: None,
            through: Vec::new(),
            more: false,
            unasked: None,
        };
        let reported = resource(&answer).unwrap();
        assert_eq!(reported, "Resource: deployments.apps/scale");
        answer.unresolved = Some("no agent of the cluster is connected".to_owned());
        let reported = resource(&answer).unwrap();
        assert!(
            reported.ends_with("no agent of the cluster is connected."),
            "{reported}"
        );
    }

    #[test]
    fn explain_result_is_uncertain_if_the_rules_of_a_cluster_role_are_unknown() {
        let through = |through| ThroughView {
            subject: "drover:user:u1".to_owned(),
            user: Some("ann".to_owned()),
            role: "odd".to_owned(),
            binding_kind: "ClusterRoleTemplateBinding".to_owned(),
            binding: "m-1".to_owned(),
            through,
            cluster_role: Some("made-here".to_owned()),
        };
        let answer = |user: Option<&str>, through: Vec<ThroughView>| Explanation {
            user: user.map(str::to_owned),
            resource: None,
            unresolved: None,
            through,
            more: false,
            unasked: None,
        };
        let perhaps = through(PermissionOrigin::Perhaps);
        assert!(how(&perhaps).contains("in the cluster"));
        let reported = access_result(&answer(Some("ann"), vec![perhaps.clone()]));
        assert_eq!(
            reported,
            (
                AccessResult::Perhaps,
                "ann may be allowed to send this request".to_owned()
            )
        );
        let sure = access_result(&answer(
            Some("ann"),
            vec![perhaps, through(PermissionOrigin::Rule)],
        ));
        assert_eq!(
            sure,
            (
                AccessResult::Yes,
                "ann is allowed to send this request".to_owned()
            )
        );
        let nobody = access_result(&answer(None, Vec::new()));
        assert_eq!(
            nobody,
            (
                AccessResult::No,
                "No user is allowed to send this request".to_owned()
            )
        );
    }
}
