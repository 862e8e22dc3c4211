//! Reads the served versions of a CRD without compiling the CRD's rules.

use serde_json::Value;

use super::read;
use crate::json::{field, flag, list, text};

/// Group, version and plural of all served versions.
pub(crate) fn served_names(crd: &Value) -> impl Iterator<Item = (&str, &str, &str)> {
    let spec = field(crd, "spec");
    let (group, plural) = (text(spec, "group"), text(field(spec, "names"), "plural"));
    list(spec, "versions")
        .iter()
        .filter(|version| flag(version, "served"))
        .map(move |version| (group, text(version, "name"), plural))
}

/// Reports whether [`resources`](super::resources) can convert the CRD.
pub(crate) fn is_readable(crd: &Value) -> bool {
    list(field(crd, "spec"), "versions")
        .iter()
        .filter(|version| flag(version, "served"))
        .map(|version| field(field(version, "schema"), "openAPIV3Schema"))
        .all(|schema| read(schema).is_ok())
}
