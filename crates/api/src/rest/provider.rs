//! Identity providers, for administrators.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use super::Secret;

wire! {
    /// An identity provider, for administrators.
    AuthProviderView {
        /// Its name.
        name: String,
        /// UID of the object.
        uid: String,
        /// The object's spec, without where its secret is.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
        /// Whether it has a secret.
        has_secret: bool,
        /// Version of the object; sent with a change, that is refused if there was another since.
        resource_version: String,
        /// When it was made.
        created_at: Timestamp,
        /// When the provider last answered; exact to some minutes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_answer_at: Option<Timestamp>,
        /// Ready.
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
        conditions: Vec<Condition>,
    }
}
wire! {
    /// A wish for an identity provider.
    #[serde(deny_unknown_fields)]
    AuthProviderCreate {
        /// Its name, which becomes a part of its groups' names and cannot change.
        name: String,
        /// The object's spec, without `clientSecret` and `bindPassword`.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
        /// The client's secret, or the bind password; a public client of OpenID Connect has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<Secret>,
    }
}
wire! {
    /// What an identity provider shall be from now on.
    #[serde(deny_unknown_fields)]
    AuthProviderUpdate {
        /// The object's whole spec, without `clientSecret` and `bindPassword`.
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        spec: serde_json::Value,
        /// The new secret; the one that there is stays if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<Secret>,
        /// Version that the change is made from; any if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource_version: Option<String>,
    }
}
wire! {
    /// What else is tried with an identity provider.
    #[derive(Default)]
    #[serde(deny_unknown_fields)]
    ProviderTest {
        /// Somebody's login at a directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<String>,
        /// Their password.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<Secret>,
    }
}
wire! {
    /// What a trial of an identity provider showed.
    ProviderTrial {
        /// Whether people could sign in.
        works: bool,
        /// What was tried, in this order.
        checks: Vec<ProviderCheck>,
    }
}
wire! {
    /// One thing that was tried.
    ProviderCheck {
        /// What.
        what: String,
        /// Whether it works.
        works: bool,
        /// What was found, or what is wrong.
        found: String,
    }
}
