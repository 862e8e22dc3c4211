use serde_json::{Value, json};

use super::*;
use crate::admission::{self, AdmissionContext, DEFINITIONS};

const SERVER: &str = "system:serviceaccount:drover-system:drover";
const PEOPLE: [&str; 2] = ["jane", "drover:user:1"];

fn write<'a>(writer: &'a str, operation: Operation, name: &'a str) -> Write<'a> {
    Write {
        writer,
        groups: &[],
        operation,
        group: "",
        resource: "namespaces",
        subresource: "",
        namespace: "",
        name,
        object: None,
        old: None,
    }
}

fn allowed(write: &Write<'_>) -> bool {
    admission::admit(write, AdmissionContext::external(SERVER), None).is_ok()
}

#[test]
fn only_server_can_delete_its_namespace_or_set_its_owner_references() {
    let plain = json!({ "metadata": { "name": "drover-system" } });
    let labelled = json!({ "metadata": { "name": "drover-system", "labels": { "a": "b" } } });
    let owned = json!({ "metadata": {
        "name": "drover-system", "ownerReferences": [{ "kind": "ConfigMap", "uid": "1" }],
    } });
    let change = |writer, to: &Value| {
        let write = Write {
            object: Some(to),
            old: Some(&plain),
            ..write(writer, Operation::Update, "drover-system")
        };
        allowed(&write)
    };
    for writer in PEOPLE {
        let delete = |name| write(writer, Operation::Delete, name);
        assert!(!allowed(&delete("drover-system")), "{writer}");
        assert!(allowed(&delete("drover-system-2")), "{writer}");
        assert!(change(writer, &labelled), "{writer}");
        assert!(!change(writer, &owned), "{writer}");
        // In a collection deletion, only the object has the name.
        let together = Write {
            old: Some(&plain),
            ..delete("")
        };
        assert!(!allowed(&together), "{writer}");
    }
    assert!(allowed(&write(SERVER, Operation::Delete, "drover-system")));
    assert!(change(SERVER, &owned));
}

#[test]
fn only_server_writes_or_deletes_crds_of_drover() {
    for (name, subresource, other) in [
        ("users.management.drover.dev", "", false),
        ("anything.management.drover.dev", "", false),
        ("users.management.drover.dev", "status", false),
        ("users.notmanagement.drover.dev", "", true),
        ("management.drover.dev", "", true),
        ("gitrepos.fleet.cattle.io", "", true),
    ] {
        for operation in [Operation::Create, Operation::Update, Operation::Delete] {
            for (writer, expected) in [(PEOPLE[0], other), (PEOPLE[1], other), (SERVER, true)] {
                let write = Write {
                    group: DEFINITIONS,
                    resource: "customresourcedefinitions",
                    subresource,
                    ..write(writer, operation, name)
                };
                assert_eq!(allowed(&write), expected, "{write:?}");
            }
        }
    }
}
