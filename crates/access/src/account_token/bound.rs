//! The objects to which a service account's token is bound, from the token's claims.
//!
//! The API server rejects the token after the deletion of any of these objects (KEP-1205,
//! KEP-4193).

use serde_json::Value;

/// Prefix of the claims of tokens that Kubernetes stores in Secrets.
const OF_SECRETS: &str = "kubernetes.io/serviceaccount/";

/// Kind of a bound object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    /// The service account to which the token belongs.
    ServiceAccount,
    /// The Secret that stores the token, or the Secret in the TokenRequest.
    Secret,
    /// The Pod in the TokenRequest.
    Pod,
    /// The Node in the TokenRequest.
    Node,
}

impl BoundKind {
    /// All kinds of objects to which a token can be bound.
    pub const ALL: [Self; 4] = [Self::ServiceAccount, Self::Secret, Self::Pod, Self::Node];
}

/// An object to which a token is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundObject {
    /// Kubernetes kind of the object to which the token is bound.
    pub kind: BoundKind,
    /// Namespace of the object; empty for a Node.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object. `None` for a Secret that stores the token, because the claims of such a
    /// token do not contain the Secret's UID.
    pub uid: Option<String>,
}

/// Returns the objects in the claims. The first object is the service account. The list is empty if
/// a claim is invalid or does not contain the account's UID.
pub(super) fn objects(claims: &Value) -> Vec<BoundObject> {
    let objects = match claims.get("kubernetes.io") {
        Some(subject) => of_request(subject),
        None => of_secret(claims),
    };
    objects.unwrap_or_default()
}

/// Reads the claims of a token from a TokenRequest.
fn of_request(subject: &Value) -> Option<Vec<BoundObject>> {
    let namespace = text(subject, "namespace")?;
    let named = |kind, key: &str, namespace: &str| match subject.get(key) {
        None => Some(None),
        Some(object) => {
            let (name, uid) = (text(object, "name")?, text(object, "uid")?);
            Some(Some(BoundObject {
                kind,
                namespace: namespace.to_owned(),
                name,
                uid: Some(uid),
            }))
        }
    };
    let account = named(BoundKind::ServiceAccount, "serviceaccount", &namespace)??;
    let secret = named(BoundKind::Secret, "secret", &namespace)?;
    let pod = named(BoundKind::Pod, "pod", &namespace)?;
    // With a Pod, the Node is only the Pod's location.
    let node = match &pod {
        Some(_) => None,
        None => named(BoundKind::Node, "node", "")?,
    };
    let bound = [Some(account), secret, pod, node];
    Some(bound.into_iter().flatten().collect())
}

/// Reads the claims of a token that Kubernetes stores in a Secret.
fn of_secret(claims: &Value) -> Option<Vec<BoundObject>> {
    let claim = |name: &str| text(claims, &format!("{OF_SECRETS}{name}"));
    let namespace = claim("namespace")?;
    Some(vec![
        BoundObject {
            kind: BoundKind::ServiceAccount,
            namespace: namespace.clone(),
            name: claim("service-account.name")?,
            uid: Some(claim("service-account.uid")?),
        },
        BoundObject {
            kind: BoundKind::Secret,
            namespace,
            name: claim("secret.name")?,
            uid: None,
        },
    ])
}

/// Returns the text of a claim, or `None` if the text is empty.
fn text(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bound_objects_are_read_from_token_claims() {
        let bound = |kind, namespace: &str, name: &str, uid: Option<&str>| BoundObject {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.map(str::to_owned),
        };
        let account = || bound(BoundKind::ServiceAccount, "apps", "puller", Some("u1"));
        let named = |mut more: Value| {
            more["namespace"] = "apps".into();
            more["serviceaccount"] = json!({"name": "puller", "uid": "u1"});
            json!({"kubernetes.io": more})
        };
        let of_secret = json!({
            "kubernetes.io/serviceaccount/namespace": "apps",
            "kubernetes.io/serviceaccount/secret.name": "puller-token",
            "kubernetes.io/serviceaccount/service-account.name": "puller",
            "kubernetes.io/serviceaccount/service-account.uid": "u1",
        });
        let one = |name: &str| json!({"name": name, "uid": format!("{name}-uid")});
        for (case, claims, expected) in [
            ("an account alone", named(json!({})), vec![account()]),
            (
                "a Secret",
                named(json!({"secret": one("s")})),
                vec![
                    account(),
                    bound(BoundKind::Secret, "apps", "s", Some("s-uid")),
                ],
            ),
            (
                "a Pod and its Node",
                named(json!({"pod": one("p"), "node": one("n")})),
                vec![account(), bound(BoundKind::Pod, "apps", "p", Some("p-uid"))],
            ),
            (
                "a Node",
                named(json!({"node": one("n")})),
                vec![account(), bound(BoundKind::Node, "", "n", Some("n-uid"))],
            ),
            (
                "a token in a Secret",
                of_secret,
                vec![
                    account(),
                    bound(BoundKind::Secret, "apps", "puller-token", None),
                ],
            ),
            (
                "a Pod without UID",
                named(json!({"pod": {"name": "p"}})),
                Vec::new(),
            ),
            (
                "an account without UID",
                json!({"kubernetes.io": {"namespace": "apps", "serviceaccount": {"name": "a"}}}),
                Vec::new(),
            ),
            ("no claims of Kubernetes", json!({}), Vec::new()),
        ] {
            assert_eq!(objects(&claims), expected, "{case}");
        }
    }
}
