//! ConfigMaps and Secrets.

use serde_json::Value;

use super::{KindFacts, yes};
use crate::messages::t;
use crate::object::overview::{FactTable, FactValue, Facts};
use crate::object::secret::decoded_size;
use crate::object::{Object, read};

/// Returns the facts of a ConfigMap.
pub(super) fn config_map(map: &Object) -> KindFacts {
    let value = map.value();
    let size = |bytes: usize| FactValue::Text(t().facts.bytes(bytes));
    let texts = read::entries(value, "/data")
        .into_iter()
        .map(|(key, text)| {
            [
                FactValue::Codes(vec![key.to_owned()]),
                size(text.len()),
                FactValue::Long(text.into_owned()),
            ]
        });
    let binary = read::entries(value, "/binaryData").into_iter();
    let binary = binary.map(|(key, encoded)| {
        [
            FactValue::Codes(vec![key.to_owned()]),
            size(decoded_size(&encoded)),
            FactValue::Text(t().facts.binary().to_owned()),
        ]
    });
    let columns = [t().facts.key(), t().facts.size(), t().facts.value()];
    let data = FactTable::of(columns, texts.chain(binary)).under(t().facts.data());
    KindFacts::new(None, [immutable(value).under("ConfigMap"), data])
}

/// Returns the facts of a Secret. The page shows the keys in a section with actions.
pub(super) fn secret(secret: &Object) -> KindFacts {
    let value = secret.value();
    let facts = immutable(value).text(t().facts.secret_type(), read::owned(value, "/type"));
    KindFacts::new(None, [facts.under("Secret")])
}

fn immutable(value: &Value) -> Facts {
    Facts::default().text(t().facts.immutable(), yes(value, "/immutable"))
}
