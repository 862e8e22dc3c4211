//! Identifiers that must not be mixed up.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! uid {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the UID that the hub's API gave an object.
            pub fn new(uid: impl Into<String>) -> Self {
                Self(uid.into())
            }

            /// The UID as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

uid! {
    /// UID of a Cluster object: what tokens, permits, agent keys and tunnels hold.
    ClusterUid
}
uid! {
    /// UID of a User object: what tokens and impersonated names hold.
    UserUid
}
uid! {
    /// UID of a Project object: what bindings hold.
    ProjectUid
}
uid! {
    /// UID of a RoleTemplate or GlobalRole object: what bindings hold.
    RoleUid
}
uid! {
    /// UID of an AuthProvider object: what bindings of its groups hold.
    ProviderUid
}
