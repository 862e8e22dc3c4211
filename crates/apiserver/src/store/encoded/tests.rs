use serde_json::{Value, json};

use super::*;
use crate::store::{Change, Store, StoreOptions};

fn form(drops_head: bool) -> ItemForm {
    ItemForm {
        head: br#"{"apiVersion":"v1","kind":"Thing","#.to_vec(),
        drops_head,
    }
}

fn open(list_bytes: usize) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        list_bytes,
        ..StoreOptions::default()
    };
    let store = Store::open(&folder.path().join("hub.db"), options).unwrap();
    (folder, store)
}

fn text(name: &str, length: usize) -> String {
    let text = "x".repeat(length);
    format!(
        r#"{{"apiVersion":"v1","kind":"Thing","metadata":{{"name":"{name}"}},"text":"{text}"}}"#
    )
}

async fn create(store: &Store, kind: &str, name: &str, length: usize) {
    let key = format!("/core/{kind}/ns/{name}");
    let change = Change::create(key, text(name, length));
    store.commit(change).await.unwrap();
}

fn items(page: &EncodedPage) -> Vec<Value> {
    let text = page.chunks.concat();
    assert_eq!(text.len(), page.length);
    let text = [b"[", text.as_slice(), b"]"].concat();
    serde_json::from_slice(&text).unwrap()
}

async fn encoded(store: &Store, list: List) -> EncodedPage {
    let page = store.list_encoded(list, form(false)).await.unwrap();
    page.expect("all objects have the form")
}

#[tokio::test]
async fn encoded_list_has_the_objects_of_the_list() {
    let (_folder, store) = open(16 << 20);
    for (number, length) in [0, 70_000, 10, 65_536, 30_000, 40_000, 300_000, 1]
        .iter()
        .enumerate()
    {
        create(&store, "things", &format!("n{number}"), *length).await;
    }
    let whole = List::all("/core/things/");
    let page = List {
        after: Some("/core/things/ns/n1".to_owned()),
        limit: Some(3),
        ..whole.clone()
    };
    let start = store.revision();
    create(&store, "things", "n9", 1).await;
    let past = List {
        at: At::Exact(start),
        ..whole.clone()
    };
    for list in [whole, page, past] {
        let expected = store.list(list.clone()).await.unwrap();
        let found = encoded(&store, list.clone()).await;
        let objects = expected.items.iter().map(|item| item.object().unwrap());
        let objects: Vec<Value> = objects.collect();
        assert_eq!(items(&found), objects, "{list:?}");
        assert_eq!(
            (found.revision, found.remaining),
            (expected.revision, expected.remaining)
        );
        let last = expected.items.last().map(|item| Arc::clone(&item.key));
        assert_eq!(found.last, last);
        let headless = store.list_encoded(list, form(true)).await.unwrap();
        let without_head = objects.into_iter().map(|mut object| {
            let fields = object.as_object_mut().unwrap();
            fields.retain(|name, _| !["apiVersion", "kind"].contains(&name.as_str()));
            object
        });
        let without_head: Vec<Value> = without_head.collect();
        assert_eq!(items(&headless.unwrap()), without_head);
    }
}

#[tokio::test]
async fn list_with_an_object_of_another_form_is_not_encoded() {
    let (_folder, store) = open(16 << 20);
    create(&store, "things", "a", 1).await;
    let old = json!({"apiVersion": "v1alpha1", "kind": "Thing", "metadata": {}}).to_string();
    let change = Change::create("/core/things/ns/b", old);
    store.commit(change).await.unwrap();
    let list = List::all("/core/things/");
    assert!(
        store
            .list_encoded(list, form(false))
            .await
            .unwrap()
            .is_none()
    );
    let empty = encoded(&store, List::all("/core/others/")).await;
    assert!(empty.chunks.is_empty() && empty.last.is_none());
}

#[tokio::test]
async fn list_in_memory_is_read_again_after_a_change_below_its_prefix() {
    let (_folder, store) = open(16 << 20);
    for number in 0..4 {
        create(
            &store,
            "things",
            &format!("n{number}"),
            SHARED_FROM_BYTES / 3,
        )
        .await;
    }
    let list = List::all("/core/things/ns/");
    let first = encoded(&store, list.clone()).await;
    create(&store, "others", "a", 1).await;
    create(&store, "things2", "a", 1).await;
    let second = encoded(&store, list.clone()).await;
    assert!(Arc::ptr_eq(&first.chunks, &second.chunks));
    assert_eq!(second.revision, store.revision());
    // Lists of a different form or range are read from the database.
    let page = List {
        limit: Some(2),
        ..list.clone()
    };
    assert_eq!(items(&encoded(&store, page).await).len(), 2);
    create(&store, "things", "n9", 1).await;
    let third = encoded(&store, list.clone()).await;
    assert_eq!(items(&third).len(), 5);
    let key = "/core/things/ns/n9";
    let there = store.get(key).await.unwrap().unwrap();
    store
        .commit(Change::delete(key, there.revision))
        .await
        .unwrap();
    assert_eq!(items(&encoded(&store, list).await), items(&first));
}

#[tokio::test]
async fn lists_in_memory_stay_within_the_limit() {
    let (_folder, store) = open(2 * SHARED_FROM_BYTES + 4096);
    for kind in ["a", "b", "c"] {
        create(&store, kind, "n", SHARED_FROM_BYTES).await;
    }
    create(&store, "large", "n", 3 * SHARED_FROM_BYTES).await;
    create(&store, "small", "n", 1).await;
    let lists = &store.inner.lists;
    let mut kept = Vec::new();
    for kind in ["a", "b", "large", "small", "c"] {
        encoded(&store, List::all(format!("/core/{kind}/"))).await;
        let shared = lists.shared.lock();
        let bytes: usize = shared.lists.iter().map(|one| one.page.length).sum();
        assert!(bytes <= lists.max_bytes);
        kept = shared.lists.iter().map(|one| one.prefix.clone()).collect();
    }
    kept.sort_unstable();
    assert_eq!(kept, ["/core/b/", "/core/c/"]);
    for list in &mut lists.shared.lock().lists {
        list.used = list.used.checked_sub(SHARED_FOR).unwrap();
    }
    assert!(!lists.drop_unused());
    assert!(lists.shared.lock().lists.is_empty());
}
