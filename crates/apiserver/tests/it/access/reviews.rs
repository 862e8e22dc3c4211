use drover_apiserver::access::{
    Authenticate, Authorizer, Caller, Keys, Rbac, ReviewKind, Reviews, Tokens, TokensOptions,
    issue_requested,
};
use drover_apiserver::status::ApiError;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{granting, with_account};

fn tokens() -> Tokens {
    Tokens::new(
        TokensOptions::default(),
        Keys::generate().unwrap(),
        with_account(),
    )
}

async fn answer(
    authorizer: &dyn Authorizer,
    authenticator: &dyn Authenticate,
    kind: ReviewKind,
    request: Value,
) -> Result<Value, ApiError> {
    let audiences = TokensOptions::default().audiences;
    let reviews = Reviews {
        authorizer,
        authenticator,
        audiences: &audiences,
        now: Timestamp::UNIX_EPOCH,
    };
    let caller = Caller {
        uid: "2".to_owned(),
        ..Caller::user("alice", ["team", "system:authenticated"])
    };
    reviews.answer(kind, &caller, "d", &request).await
}

async fn access(kind: ReviewKind, request: Value) -> Result<Value, ApiError> {
    let pods = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
                      {"nonResourceURLs": ["/x/*"], "verbs": ["get"]}]);
    answer(&granting(&[("alice", pods)]), &tokens(), kind, request).await
}

async fn refusal(kind: ReviewKind, request: Value) -> String {
    let error = access(kind, request).await.unwrap_err();
    error.message
}

const REASON: &str =
    r#"RBAC: allowed by ClusterRoleBinding "alice" of ClusterRole "alice" to User "alice""#;

#[tokio::test]
async fn access_review_returns_decision_and_reason() {
    let requested = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let allowed = access(ReviewKind::SelfSubjectAccess, requested.clone())
        .await
        .unwrap();
    assert_eq!(
        allowed["status"],
        json!({"allowed": true, "reason": REASON})
    );
    assert_eq!(allowed["spec"], requested["spec"]);
    let requested = json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/x/y"}}});
    let allowed = access(ReviewKind::SelfSubjectAccess, requested)
        .await
        .unwrap();
    assert_eq!(allowed["status"]["allowed"], true);
    let requested = json!({"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}});
    let denied = access(ReviewKind::SelfSubjectAccess, requested)
        .await
        .unwrap();
    assert_eq!(denied["status"], json!({"allowed": false}));
}

#[tokio::test]
async fn subject_access_review_evaluates_only_the_groups_in_its_spec() {
    let of = |user: &str| {
        json!({"metadata": {"namespace": "d"}, "spec": {"user": user,
               "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "d"}}})
    };
    let kind = ReviewKind::LocalSubjectAccess;
    assert_eq!(
        access(kind, of("alice")).await.unwrap()["status"]["allowed"],
        true
    );
    assert_eq!(
        access(kind, of("bob")).await.unwrap()["status"]["allowed"],
        false
    );
    let mut plain = of("alice");
    plain["metadata"] = json!({});
    let allowed = access(ReviewKind::SubjectAccess, plain).await.unwrap();
    assert_eq!(allowed["status"]["reason"], REASON);
}

// kube-apiserver v1.36.3 returns these messages for the same requests.

#[tokio::test]
async fn rejections_of_malformed_reviews_match_kube_apiserver() {
    let prefix = ".authorization.k8s.io \"\" is invalid: ";
    assert_eq!(
        refusal(ReviewKind::SubjectAccess, json!({"spec": {}})).await,
        format!(
            "{prefix}[spec.resourceAttributes: Invalid value: null: exactly one of \
             nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid \
             value: \"\": at least one of user or group must be specified]"
        )
    );
    assert_eq!(
        refusal(ReviewKind::SelfSubjectAccess, json!({"spec": {}})).await,
        format!(
            "{prefix}spec.resourceAttributes: Invalid value: null: exactly one of \
             nonResourceAttributes or resourceAttributes must be specified"
        )
    );
    let both = json!({"spec": {"user": "a", "resourceAttributes": {"verb": "get"},
                               "nonResourceAttributes": {"path": "/x"}}});
    assert_eq!(
        refusal(ReviewKind::SubjectAccess, both).await,
        format!(
            "{prefix}spec.nonResourceAttributes: Invalid value: {{\"Path\":\"/x\",\"Verb\":\"\"}}: \
             cannot be specified in combination with resourceAttributes"
        )
    );
    let named = json!({"metadata": {"name": "x"}, "spec": {"resourceAttributes": {}}});
    assert_eq!(
        refusal(ReviewKind::SelfSubjectAccess, named).await,
        format!("{prefix}metadata: Invalid value: {{\"name\":\"x\"}}: must be empty")
    );
}

#[tokio::test]
async fn invalid_selectors_in_reviews_are_rejected() {
    let requested = json!({"spec": {"user": "a", "resourceAttributes": {
        "verb": "get", "fieldSelector": {},
        "labelSelector": {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In"}]},
    }}});
    let path = "spec.resourceAttributes";
    assert_eq!(
        refusal(ReviewKind::SubjectAccess, requested).await,
        format!(
            ".authorization.k8s.io \"\" is invalid: [{path}.fieldSelector.requirements: Required \
             value: when {path}.fieldSelector is specified, requirements or rawSelector is \
             required, {path}.labelSelector.rawSelector: Invalid value: \"a=b\": may not specified \
             at the same time as requirements, {path}.labelSelector.requirements[0].values: \
             Required value: must be specified when `operator` is 'In' or 'NotIn']"
        )
    );
}

#[tokio::test]
async fn unsupported_selectors_in_reviews_are_ignored_and_reported() {
    let path = "spec.resourceAttributes";
    let known = json!({"key": "a", "operator": "In", "values": ["b"]});
    let unknown = json!({"key": "a", "operator": "Bad"});
    let cases = [
        (json!({"labelSelector": {"requirements": [known]}}), None),
        (
            json!({"labelSelector": {"requirements": [known, unknown]}}),
            Some(format!(
                "{path}.labelSelector partially ignored due to parse error"
            )),
        ),
        (
            json!({"fieldSelector": {"requirements": [unknown]}, "labelSelector": {"rawSelector": "=="}}),
            Some(format!(
                "{path}.fieldSelector ignored due to parse error; {path}.labelSelector ignored \
                 due to parse error"
            )),
        ),
    ];
    for (requested, expected) in cases {
        let request = json!({"spec": {"resourceAttributes": requested}});
        let answer = access(ReviewKind::SelfSubjectAccess, request)
            .await
            .unwrap();
        assert_eq!(
            answer["status"]["evaluationError"].as_str(),
            expected.as_deref()
        );
    }
}

#[tokio::test]
async fn local_access_review_of_path_or_different_namespace_is_rejected() {
    let prefix = ".authorization.k8s.io \"\" is invalid: ";
    let path = json!({"spec": {"user": "a",
                               "nonResourceAttributes": {"path": "/api", "verb": "get"}}});
    assert_eq!(
        refusal(ReviewKind::LocalSubjectAccess, path).await,
        format!(
            "{prefix}spec.nonResourceAttributes: Invalid value: \
             {{\"Path\":\"/api\",\"Verb\":\"get\"}}: disallowed on this kind of request"
        )
    );
    let elsewhere = json!({"metadata": {"namespace": "d"},
                           "spec": {"user": "a", "resourceAttributes": {"verb": "get"}}});
    assert_eq!(
        refusal(ReviewKind::LocalSubjectAccess, elsewhere).await,
        format!(
            "{prefix}spec.resourceAttributes.namespace: Invalid value: \"\": must match \
             metadata.namespace"
        )
    );
}

#[tokio::test]
async fn rules_review_returns_rules_of_the_caller_in_a_namespace() {
    let request = json!({"spec": {"namespace": "d"}});
    let answer = access(ReviewKind::SelfSubjectRules, request).await.unwrap();
    assert_eq!(
        answer["status"],
        json!({
            "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x/*"]}],
            "incomplete": false,
        })
    );
    let nowhere = refusal(ReviewKind::SelfSubjectRules, json!({"spec": {}})).await;
    assert_eq!(nowhere, "no namespace on request");
}

#[tokio::test]
async fn self_subject_review_returns_the_caller() {
    let answer = access(ReviewKind::SelfSubject, json!({})).await.unwrap();
    assert_eq!(
        answer,
        json!({
            "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"creationTimestamp": "1970-01-01T00:00:00Z"},
            "status": {"userInfo": {"username": "alice", "uid": "2",
                                    "groups": ["team", "system:authenticated"]}},
        })
    );
}

#[tokio::test]
async fn token_review_returns_user_or_error() {
    let tokens = tokens();
    let issued = issue_requested(&tokens, "d", "sa", &json!({}))
        .await
        .unwrap();
    let token = issued.object["status"]["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let review = async |spec: Value| {
        let request = json!({ "spec": spec });
        answer(&Rbac::new(), &tokens, ReviewKind::Token, request).await
    };
    let known = review(json!({ "token": token })).await.unwrap();
    assert_eq!(
        known["status"],
        json!({
            "authenticated": true,
            "audiences": ["https://kubernetes.default.svc"],
            "user": {
                "username": "system:serviceaccount:d:sa", "uid": "u-sa",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:d",
                           "system:authenticated"],
                "extra": {"authentication.kubernetes.io/credential-id": [issued.credential_id]},
            },
        })
    );
    let other = review(json!({"token": token, "audiences": ["x"]}))
        .await
        .unwrap();
    assert_eq!(
        other["status"],
        json!({"user": {}, "error": "[invalid bearer token, token audiences \
            [\"https://kubernetes.default.svc\"] is invalid for the target audiences [\"x\"]]"})
    );
    let unknown = review(json!({"token": "nope"})).await.unwrap();
    assert_eq!(
        unknown["status"],
        json!({"user": {}, "error": "invalid bearer token"})
    );
    let error = review(json!({})).await.unwrap_err();
    assert_eq!(
        error.message,
        "token is required for TokenReview in authentication"
    );
}
