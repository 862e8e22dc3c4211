//! The items of a list as they were before an update.

use std::collections::HashMap;

use serde_json::Value;

use super::ListType;

/// The old items of a list, found by the fields that name them.
pub(crate) struct Former<'a> {
    keys: &'a [String],
    items: HashMap<Vec<Option<&'a Value>>, &'a Value>,
}

impl<'a> Former<'a> {
    /// Those of a list whose items have names; others continue none.
    pub(crate) fn of(list: &'a ListType, old: Option<&'a Value>) -> Self {
        let mut former = Self {
            keys: &[],
            items: HashMap::new(),
        };
        if let (ListType::Map(keys), Some(Value::Array(items))) = (list, old) {
            former.keys = keys;
            for item in items {
                former.items.entry(name(keys, item)).or_insert(item);
            }
        }
        former
    }

    /// The old item that a new one continues.
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
    fn a_new_item_continues_the_first_old_one_of_its_name() {
        let list = ListType::Map(vec!["a".to_owned(), "b".to_owned()]);
        let old = json!([{"a": 1, "v": 1}, {"a": 1, "b": null, "v": 2}, {"a": 1, "v": 3}]);
        let former = Former::of(&list, Some(&old));
        assert_eq!(former.item(&json!({"a": 1})), Some(&old[0]));
        assert_eq!(former.item(&json!({"a": 1, "b": null})), Some(&old[1]));
        assert_eq!(former.item(&json!({"a": 1.5})), None);
        let former = Former::of(&ListType::Set, Some(&old));
        assert_eq!(former.item(&old[0]), None);
    }

    #[test]
    fn very_many_items_are_found_in_one_go() {
        let list = ListType::Map(vec!["a".to_owned()]);
        let old: Value = (0..200_000).map(|number| json!({"a": number})).collect();
        let former = Former::of(&list, Some(&old));
        let all = old.as_array().unwrap();
        assert!(all.iter().rev().all(|item| former.item(item) == Some(item)));
    }
}
