//! Request and response bodies for the administration of identity providers.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use super::Secret;

wire! {
    /// An identity provider with its configuration.
    AuthProviderView {
        /// Name of the AuthProvider object.
        name: String,
        /// UID of the AuthProvider object.
        uid: String,
        /// The spec of the AuthProvider object, without the references to its Secret.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
        /// True if the hub stores a client secret or a bind password for the provider.
        has_secret: bool,
        /// `metadata.resourceVersion` of the object, for [`AuthProviderUpdate`].
        resource_version: String,
        /// Time at which the AuthProvider object was created.
        created_at: Timestamp,
        /// Time of the provider's last response, with an accuracy of a few minutes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_answer_at: Option<Timestamp>,
        /// The condition `Ready` of the provider.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        conditions: Vec<Condition>,
    }
}
wire! {
    /// A request to create an identity provider.
    #[serde(deny_unknown_fields)]
    AuthProviderCreate {
        /// Name of the AuthProvider object. The names of the provider's groups contain this name,
        /// so the name cannot change.
        name: String,
        /// The spec of the AuthProvider object, without `clientSecret` and `bindPassword`.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
        /// The client secret or the bind password. Absent for a public client of OpenID Connect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<Secret>,
    }
}
wire! {
    /// A change of an identity provider.
    #[serde(deny_unknown_fields)]
    AuthProviderUpdate {
        /// The complete new spec, without `clientSecret` and `bindPassword`.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
        /// The new client secret or bind password. If absent, the stored value does not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<Secret>,
        /// The `resourceVersion` that the client has read. If the object's current version is
        /// different, the response is 409. If absent, the server does not compare versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource_version: Option<String>,
    }
}
wire! {
    /// Optional parameters of a connection test.
    #[derive(Default)]
    #[serde(deny_unknown_fields)]
    ProviderTest {
        /// The login name of a user in the directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<String>,
        /// The user's password in the directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<Secret>,
    }
}
wire! {
    /// The result of a connection test of an identity provider.
    ProviderTestResult {
        /// True if the test found no problem that prevents sign-in.
        works: bool,
        /// The steps of the test, in the order of execution.
        checks: Vec<ProviderCheck>,
    }
}
wire! {
    /// One step of a connection test.
    ProviderCheck {
        /// A short description of the step for users.
        what: String,
        /// True if the step succeeded.
        works: bool,
        /// The result of the step, or the problem.
        found: String,
    }
}
