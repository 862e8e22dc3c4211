//! UID types. Each kind has a separate type.

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
            /// Creates the type from the UID of an object on the hub.
            pub fn new(uid: impl Into<String>) -> Self {
                Self(uid.into())
            }

            /// Returns the UID as a string.
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
    /// UID of a Cluster object. Tokens, permits, agent keys and tunnels refer to a Cluster by this
    /// UID.
    ClusterUid
}
uid! {
    /// UID of a User object. Tokens and impersonated names refer to a User by this UID.
    UserUid
}
uid! {
    /// UID of a Project object. Bindings refer to a Project by this UID.
    ProjectUid
}
uid! {
    /// UID of a RoleTemplate or GlobalRole object. Bindings refer to a role by this UID.
    RoleUid
}
uid! {
    /// UID of an AuthProvider object. Bindings of the provider's groups refer to the provider by
    /// this UID.
    ProviderUid
}
