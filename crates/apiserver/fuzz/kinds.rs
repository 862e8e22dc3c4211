//! Properties of schemas, tables and quantities for arbitrary bytes. The fuzzer and `cargo test`
//! check these properties.

use drover_apiserver::crd;
use drover_apiserver::resource::Resource;
use drover_apiserver::table;
use drover_quantity::Quantity;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Checks that the canonical form of a quantity is stable and has the same amount as the quantity.
/// Checks that adding zero does not change a quantity.
pub(crate) fn quantity(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(written) = Quantity::canonical(text) else {
        return;
    };
    assert_eq!(Quantity::canonical(&written).as_ref(), Ok(&written));
    if let (Ok(read), Ok(again)) = (Quantity::parse(text.trim()), Quantity::parse(&written)) {
        assert_eq!(
            read.nano(),
            again.nano(),
            "the canonical form {written:?} has another amount than {text:?}"
        );
        let bounds = read.milli() * 1_000_000 - read.nano();
        assert!((-999_999..=999_999).contains(&bounds), "{text:?}");
        let sum = Quantity::default().saturating_add(again);
        assert_eq!(sum.nano(), read.nano(), "{text:?}");
        assert!(read.saturating_sub(read).is_zero());
    }
}

fn definition(version: Value) -> Vec<Resource> {
    let mut version = version;
    version["name"] = "v1".into();
    version["served"] = true.into();
    version["storage"] = true.into();
    let crd = json!({"spec": {
        "group": "example.com", "scope": "Namespaced", "versions": [version],
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget",
                  "listKind": "WidgetList"},
    }});
    crd::resources(&crd).unwrap_or_default()
}

/// Checks that evaluation of a printer column's JSONPath does not panic. The input is the path, and
/// an object on the next line.
pub(crate) fn column(data: &[u8]) {
    let Some((path, object)) = std::str::from_utf8(data)
        .ok()
        .and_then(|text| text.split_once('\n'))
    else {
        return;
    };
    let Ok(object) = serde_json::from_str::<Value>(object) else {
        return;
    };
    for kind in ["string", "integer", "number", "boolean", "date"] {
        let version = json!({"additionalPrinterColumns": [
            {"name": "C", "type": kind, "jsonPath": path},
        ]});
        for resource in definition(version) {
            let cells = table::cells(&resource, &object, Timestamp::UNIX_EPOCH);
            assert_eq!(cells.len(), table::columns(&resource).len());
        }
    }
}

/// Checks that pruning and defaulting are idempotent, and that no schema or object causes a panic.
/// The input is a JSON list of schema and object.
pub(crate) fn schema(data: &[u8]) {
    let Ok(Value::Array(case)) = serde_json::from_slice(data) else {
        return;
    };
    let [schema, object] = case.as_slice() else {
        return;
    };
    for resource in definition(json!({"schema": {"openAPIV3Schema": schema}})) {
        let mut object = object.clone();
        if resource.read(&mut object).is_err() {
            continue;
        }
        resource.fill(&mut object);
        let mut again = object.clone();
        if resource.read(&mut again).is_ok() {
            resource.fill(&mut again);
            assert_eq!(again, object);
        }
        let faults = resource.validate_create(&object);
        assert_eq!(resource.validate_create(&object), faults);
    }
}
