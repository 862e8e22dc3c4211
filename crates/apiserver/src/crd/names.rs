//! Determines the accepted names of a CRD. A name is accepted unless a different CRD of the group
//! uses the name.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::json::{field, text, texts};

/// The accepted names of a CRD.
#[derive(Debug, Clone, PartialEq)]
pub struct Names {
    /// `status.acceptedNames`.
    pub accepted: Value,
    /// The condition `NamesAccepted`, without its transition time.
    pub condition: Value,
}

impl Names {
    /// Reports whether all names were accepted.
    pub fn all_accepted(&self) -> bool {
        text(&self.condition, "status") == "True"
    }
}

/// Determines the accepted names of a CRD. A name is accepted unless a different CRD in `others`
/// with the same group uses the name.
pub fn accept<'a>(crd: &Value, others: impl IntoIterator<Item = &'a Value>) -> Names {
    let taken = NamesInUse::by(crd, others);
    let requested = field(field(crd, "spec"), "names");
    let before = field(field(crd, "status"), "acceptedNames");
    let mut accepted = before.as_object().cloned().unwrap_or_default();
    let mut conflict: Option<(&str, String)> = None;
    let mut settle = |name: &str, reason, used: &BTreeSet<String>, accepted: &mut Map<_, _>| {
        let desired = text(requested, name);
        if desired != text(before, name) && used.contains(desired) {
            conflict = Some((reason, in_use(desired)));
        } else {
            accepted.insert(name.to_owned(), desired.into());
        }
    };
    settle("plural", "PluralConflict", &taken.resources, &mut accepted);
    settle(
        "singular",
        "SingularConflict",
        &taken.resources,
        &mut accepted,
    );
    settle("kind", "KindConflict", &taken.kinds, &mut accepted);
    settle("listKind", "ListKindConflict", &taken.kinds, &mut accepted);
    let ours: Vec<&str> = texts(before, "shortNames").collect();
    let refused: Vec<String> = texts(requested, "shortNames")
        .filter(|name| !ours.contains(name) && taken.resources.contains(*name))
        .map(in_use)
        .collect();
    match refused.as_slice() {
        [] => copy(requested, "shortNames", &mut accepted),
        [one] => conflict = conflict.or_else(|| Some(("ShortNamesConflict", one.clone()))),
        many => {
            let all = format!("[{}]", many.join(", "));
            conflict = conflict.or(Some(("ShortNamesConflict", all)));
        }
    }
    copy(requested, "categories", &mut accepted);
    let (status, reason, message) = match conflict {
        None => ("True", "NoConflicts", "no conflicts found".to_owned()),
        Some((reason, message)) => ("False", reason, message),
    };
    Names {
        accepted: Value::Object(accepted),
        condition: json!({
            "type": "NamesAccepted", "status": status, "reason": reason, "message": message,
        }),
    }
}

struct NamesInUse {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl NamesInUse {
    fn by<'a>(crd: &Value, others: impl IntoIterator<Item = &'a Value>) -> Self {
        let group = text(field(crd, "spec"), "group");
        let name = text(field(crd, "metadata"), "name");
        let mut taken = Self {
            resources: BTreeSet::new(),
            kinds: BTreeSet::new(),
        };
        for other in others {
            let is_self = text(field(other, "metadata"), "name") == name;
            if is_self || text(field(other, "spec"), "group") != group {
                continue;
            }
            let names = field(field(other, "status"), "acceptedNames");
            let resources = ["plural", "singular"].map(|name| text(names, name).to_owned());
            taken.resources.extend(resources);
            taken
                .resources
                .extend(texts(names, "shortNames").map(str::to_owned));
            let kinds = ["kind", "listKind"].map(|name| text(names, name).to_owned());
            taken.kinds.extend(kinds);
        }
        // Names that were not accepted are empty.
        taken.resources.remove("");
        taken.kinds.remove("");
        taken
    }
}

fn in_use(name: &str) -> String {
    format!("{name:?} is already in use")
}

fn copy(from: &Value, name: &str, into: &mut Map<String, Value>) {
    match from.get(name) {
        Some(value) if !value.is_null() => into.insert(name.to_owned(), value.clone()),
        _ => into.remove(name),
    };
}
