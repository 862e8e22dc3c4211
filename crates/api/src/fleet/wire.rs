//! Declarations of structs whose JSON equals the JSON of Go's `encoding/json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// API group of Fleet.
pub const GROUP: &str = "fleet.cattle.io";
/// Version of all kinds in the API group.
pub const VERSION: &str = "v1alpha1";
/// The `apiVersion` of all kinds in the API group.
pub const API_VERSION: &str = "fleet.cattle.io/v1alpha1";

/// A value that Go's `omitempty` can omit.
pub(super) trait Empty {
    /// Reports whether the JSON of the containing object omits the value.
    fn is_empty(&self) -> bool;
}

impl Empty for String {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl Empty for bool {
    fn is_empty(&self) -> bool {
        !*self
    }
}

impl Empty for i64 {
    fn is_empty(&self) -> bool {
        *self == 0
    }
}

impl<T> Empty for Option<T> {
    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

impl<T> Empty for Vec<T> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl<K, V> Empty for BTreeMap<K, V> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

/// Reads `null` as the default value, as Go does.
pub(super) fn nullable<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Declares structs with Go's JSON. Each struct has up to three groups of fields, in this order:
/// `@inline` has the fields of embedded structs, `@always` has fields without `omitempty`, and the
/// other fields are omitted if they are empty.
macro_rules! go_struct {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(@inline { $($(#[$inline_meta:meta])* $inline:ident: $inline_type:ty),+ $(,)? })?
            $(@always { $($(#[$always_meta:meta])* $always:ident: $always_type:ty),+ $(,)? })?
            $($(#[$field_meta:meta])* $field:ident: $field_type:ty),* $(,)?
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($(
                $(#[$inline_meta])*
                #[serde(flatten)]
                pub $inline: $inline_type,
            )+)?
            $($(
                $(#[$always_meta])*
                #[serde(default, deserialize_with = "crate::fleet::wire::nullable")]
                pub $always: $always_type,
            )+)?
            $(
                $(#[$field_meta])*
                #[serde(
                    default,
                    deserialize_with = "crate::fleet::wire::nullable",
                    skip_serializing_if = "crate::fleet::wire::Empty::is_empty"
                )]
                pub $field: $field_type,
            )*
        }

        impl crate::fleet::wire::Empty for $name {
            fn is_empty(&self) -> bool {
                *self == Self::default()
            }
        }
    )+};
}

/// Declares a kind: the struct of an object, with the traits that typed clients need.
macro_rules! fleet_kind {
    (
        $(#[$meta:meta])*
        pub struct $name:ident = $kind:literal, $plural:literal, $scope:ident {
            $($(#[$field_meta:meta])* $json:literal $field:ident: $field_type:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
        pub struct $name {
            /// Metadata of the object.
            #[serde(default)]
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            $(
                $(#[$field_meta])*
                #[serde(
                    rename = $json,
                    default,
                    deserialize_with = "crate::fleet::wire::nullable"
                )]
                pub $field: $field_type,
            )*
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("apiVersion", crate::fleet::wire::API_VERSION)?;
                map.serialize_entry("kind", $kind)?;
                map.serialize_entry("metadata", &self.metadata)?;
                $(
                    if !crate::fleet::wire::Empty::is_empty(&self.$field) {
                        map.serialize_entry($json, &self.$field)?;
                    }
                )*
                map.end()
            }
        }

        impl k8s_openapi::Resource for $name {
            const API_VERSION: &'static str = crate::fleet::wire::API_VERSION;
            const GROUP: &'static str = crate::fleet::wire::GROUP;
            const KIND: &'static str = $kind;
            const VERSION: &'static str = crate::fleet::wire::VERSION;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = k8s_openapi::$scope;
        }

        impl k8s_openapi::Metadata for $name {
            type Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

            fn metadata(&self) -> &Self::Ty {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut Self::Ty {
                &mut self.metadata
            }
        }
    };
}

pub(super) use {fleet_kind, go_struct};
