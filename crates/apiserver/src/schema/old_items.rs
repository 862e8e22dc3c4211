//! Matches the list items of an update with the old items.

use std::collections::HashMap;

use serde_json::Value;

use super::ListType;

/// The old items of a list by their key fields.
pub(crate) struct OldItems<'a> {
    keys: &'a [String],
    items: HashMap<Vec<Option<&'a Value>>, &'a Value>,
}

impl<'a> OldItems<'a> {
    /// Indexes the old items by their keys. Items of lists without key fields have no old item.
    pub(crate) fn of(list: &'a ListType, old: Option<&'a Value>) -> Self {
        let mut old_items = Self {
            keys: &[],
            items: HashMap::new(),
        };
        if let (ListType::Map(keys), Some(Value::Array(items))) = (list, old) {
            old_items.keys = keys;
            for item in items {
                old_items.items.entry(name(keys, item)).or_insert(item);
            }
        }
        old_items
    }

    /// Returns the old item with the same key as `new`.
    pub(crate) fn item(&self, new: &Value) -> Option<&'a Value> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(name(self.keys, new).as_slice()).copied()
    }
}

fn name<'v>(keys: &[String], item: &'v Value) -> Vec<Option<&'v Value>> {
    keys.iter().map(|key| item.get(key)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn new_item_correlates_with_first_old_item_of_same_key() {
        let list = ListType::Map(vec!["a".to_owned(), "b".to_owned()]);
        let old = json!([{"a": 1, "v": 1}, {"a": 1, "b": null, "v": 2}, {"a": 1, "v": 3}]);
        let old_items = OldItems::of(&list, Some(&old));
        assert_eq!(old_items.item(&json!({"a": 1})), Some(&old[0]));
        assert_eq!(old_items.item(&json!({"a": 1, "b": null})), Some(&old[1]));
        assert_eq!(old_items.item(&json!({"a": 1.5})), None);
        let old_items = OldItems::of(&ListType::Set, Some(&old));
        assert_eq!(old_items.item(&old[0]), None);
    }

    #[test]
    fn correlation_of_many_list_items_takes_linear_time() {
        let list = ListType::Map(vec!["a".to_owned()]);
        let old: Value = (0..200_000).map(|number| json!({"a": number})).collect();
        let old_items = OldItems::of(&list, Some(&old));
        let all = old.as_array().unwrap();
        assert!(
            all.iter()
                .rev()
                .all(|item| old_items.item(item) == Some(item))
        );
    }
}
