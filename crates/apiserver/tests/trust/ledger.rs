//! What was acknowledged, and what was under way when it all went dark.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use drover_apiserver::store::{Change, CommitError, List, Page, Store};
use lost_sync::Chance;

/// How many write at once, each its own objects.
pub(crate) const WRITERS: u64 = 8;

/// Objects of each writer.
const OBJECTS: u64 = 6;

/// What one may find of each object.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    objects: BTreeMap<String, Entry>,
    /// The highest revision that anybody was told.
    pub(crate) told: u64,
    /// How many changes were acknowledged.
    pub(crate) acknowledged: u64,
}

#[derive(Debug, Default, Clone)]
struct Entry {
    /// Acknowledged: the revision and the value.
    known: Option<(u64, String)>,
    /// Not answered yet: the value it would have.
    under_way: Option<Wish>,
}

#[derive(Debug, Clone, PartialEq)]
enum Wish {
    Value(String),
    Nothing,
}

impl Ledger {
    /// A change is about to be made.
    pub(crate) fn begin(&mut self, key: &str, value: Option<String>) {
        self.objects.entry(key.to_owned()).or_default().under_way =
            Some(value.map_or(Wish::Nothing, Wish::Value));
    }

    /// It is acknowledged.
    pub(crate) fn acknowledge(&mut self, key: &str, revision: u64) {
        let entry = self.objects.get_mut(key).unwrap();
        entry.known = match entry.under_way.take() {
            Some(Wish::Value(value)) => Some((revision, value)),
            Some(Wish::Nothing) => None,
            None => panic!("{key} is acknowledged and was not begun"),
        };
        assert!(revision > 0);
        self.told = self.told.max(revision);
        self.acknowledged += 1;
    }

    /// It was refused for sure.
    pub(crate) fn refuse(&mut self, key: &str) {
        self.objects.get_mut(key).unwrap().under_way = None;
    }

    /// What is known of an object; nothing may be under way.
    fn known(&self, key: &str) -> Option<(u64, String)> {
        self.objects.get(key)?.known.clone()
    }

    /// Compares the store with what it must have; then takes what it has as known.
    pub(crate) fn verify(&mut self, store: &Store, page: &Page) {
        assert!(
            store.revision() >= self.told,
            "the revision went back from {} to {}",
            self.told,
            store.revision()
        );
        self.told = store.revision();
        assert_eq!(page.revision, store.revision());
        let mut found: BTreeMap<String, (u64, String)> = page
            .items
            .iter()
            .map(|stored| {
                let value = String::from_utf8(stored.value.to_vec()).unwrap();
                (stored.key.to_string(), (stored.revision, value))
            })
            .collect();
        for (key, entry) in &mut self.objects {
            let there = found.remove(key);
            let wish = there
                .as_ref()
                .map_or(Wish::Nothing, |(_, value)| Wish::Value(value.clone()));
            let known = there == entry.known;
            let made = entry.under_way.as_ref() == Some(&wish);
            assert!(
                known || made,
                "{key}: {there:?} is there, {entry:?} was acknowledged"
            );
            *entry = Entry {
                known: there,
                under_way: None,
            };
        }
        assert!(found.is_empty(), "nobody wrote {found:?}");
    }
}

/// Compares a store with what a ledger says that it must have.
pub(crate) async fn verify(ledger: &Mutex<Ledger>, store: &Store) {
    let page = store.list(List::all("/")).await.unwrap();
    ledger.lock().unwrap().verify(store, &page);
}

/// A change that some writer may make now.
pub(crate) fn choose(ledger: &Ledger, writer: u64, chance: &mut Chance) -> (Change, String) {
    let number = chance.below(OBJECTS);
    let key = format!("/core/things/w{writer}/o{number}");
    // Mostly small, at times so large that it takes many pages.
    let length = if chance.below(10) == 0 { 40_000 } else { 200 };
    let length = usize::try_from(chance.below(length)).unwrap();
    let text = format!("{:x}", chance.number());
    let value = format!(
        r#"{{"metadata":{{"name":"o{number}"}},"spec":"{text}{}"}}"#,
        "x".repeat(length)
    );
    let wanted = match ledger.known(&key) {
        None => Change::create(key.clone(), value),
        Some((revision, _)) if chance.below(4) == 0 => Change::delete(key.clone(), revision),
        Some((revision, _)) => Change::update(key.clone(), revision, value),
    };
    (wanted, key)
}

/// The value that a change would leave.
pub(crate) fn value_of(change: &Change) -> Option<String> {
    match &change.write {
        drover_apiserver::store::Write::Put(value) => {
            Some(String::from_utf8(value.to_vec()).unwrap())
        }
        drover_apiserver::store::Write::Delete => None,
    }
}

/// How a writer ended.
#[derive(Debug)]
pub(crate) enum End {
    /// It made all its changes.
    Done,
    /// There was no space.
    Full,
    /// The store could not be written.
    Broken,
}

/// One writer: makes changes until it cannot.
pub(crate) async fn write(
    store: &Store,
    ledger: Arc<Mutex<Ledger>>,
    writer: u64,
    mut chance: Chance,
    changes: u64,
) -> End {
    for _ in 0..changes {
        let (wanted, key) = choose(&ledger.lock().unwrap(), writer, &mut chance);
        ledger.lock().unwrap().begin(&key, value_of(&wanted));
        match store.commit(wanted).await {
            Ok(revision) => ledger.lock().unwrap().acknowledge(&key, revision),
            Err(CommitError::Full) => {
                ledger.lock().unwrap().refuse(&key);
                return End::Full;
            }
            Err(CommitError::Broken(_) | CommitError::Closed) => return End::Broken,
            Err(other) => panic!("{key}: {other:?}"),
        }
    }
    End::Done
}

/// All writers at once.
pub(crate) async fn write_all(
    store: &Store,
    ledger: &Arc<Mutex<Ledger>>,
    chance: &mut Chance,
    changes: u64,
) -> Vec<End> {
    let writers = (0..WRITERS).map(|writer| {
        let chance = Chance::new(chance.number());
        write(store, Arc::clone(ledger), writer, chance, changes)
    });
    futures::future::join_all(writers).await
}
