//! Records acknowledged changes, and changes in progress at the crash.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use drover_apiserver::store::{Change, CommitError, List, Page, Store};
use fault_vfs::Random;

/// Number of concurrent writers, each with its own objects.
pub(crate) const WRITERS: u64 = 8;

/// Objects per writer.
const OBJECTS: u64 = 6;

/// Records the possible states of each object.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    objects: BTreeMap<String, Entry>,
    /// The highest revision that the store has returned to any caller.
    pub(crate) highest_seen: u64,
    /// The number of acknowledged changes.
    pub(crate) acknowledged: u64,
}

#[derive(Debug, Default, Clone)]
struct Entry {
    /// The acknowledged revision and value of the object.
    known: Option<(u64, String)>,
    /// The change of the object that is in progress.
    pending: Option<PendingChange>,
}

#[derive(Debug, Clone, PartialEq)]
enum PendingChange {
    Value(String),
    Nothing,
}

impl Ledger {
    /// Records that a change starts.
    pub(crate) fn begin(&mut self, key: &str, value: Option<String>) {
        self.objects.entry(key.to_owned()).or_default().pending =
            Some(value.map_or(PendingChange::Nothing, PendingChange::Value));
    }

    /// Records that the change is acknowledged.
    pub(crate) fn acknowledge(&mut self, key: &str, revision: u64) {
        let entry = self.objects.get_mut(key).unwrap();
        entry.known = match entry.pending.take() {
            Some(PendingChange::Value(value)) => Some((revision, value)),
            Some(PendingChange::Nothing) => None,
            None => panic!("an unknown change of {key} was acknowledged"),
        };
        assert!(revision > 0);
        self.highest_seen = self.highest_seen.max(revision);
        self.acknowledged += 1;
    }

    /// Records that the change was rejected.
    pub(crate) fn refuse(&mut self, key: &str) {
        self.objects.get_mut(key).unwrap().pending = None;
    }

    /// Returns the acknowledged state of an object that has no change in progress.
    fn known(&self, key: &str) -> Option<(u64, String)> {
        self.objects.get(key)?.known.clone()
    }

    /// Verifies that each object has an acknowledged or possible state, and records this state.
    pub(crate) fn verify(&mut self, store: &Store, page: &Page) {
        assert!(
            store.revision() >= self.highest_seen,
            "the revision decreased from {} to {}",
            self.highest_seen,
            store.revision()
        );
        self.highest_seen = store.revision();
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
            let change = there.as_ref().map_or(PendingChange::Nothing, |(_, value)| {
                PendingChange::Value(value.clone())
            });
            let known = there == entry.known;
            let created = entry.pending.as_ref() == Some(&change);
            assert!(
                known || created,
                "the store contains {there:?} for {key}, but the ledger contains {entry:?}"
            );
            *entry = Entry {
                known: there,
                pending: None,
            };
        }
        assert!(
            found.is_empty(),
            "the store contains objects that no writer created: {found:?}"
        );
    }
}

/// Verifies the store against a ledger.
pub(crate) async fn verify(ledger: &Mutex<Ledger>, store: &Store) {
    let page = store.list(List::all("/")).await.unwrap();
    ledger.lock().unwrap().verify(store, &page);
}

/// Generates a random change for a writer.
pub(crate) fn choose(ledger: &Ledger, writer: u64, random: &mut Random) -> (Change, String) {
    let number = random.below(OBJECTS);
    let key = format!("/core/things/w{writer}/o{number}");
    // Most values are small, some have many pages.
    let length = if random.below(10) == 0 { 40_000 } else { 200 };
    let length = usize::try_from(random.below(length)).unwrap();
    let text = format!("{:x}", random.number());
    let value = format!(
        r#"{{"metadata":{{"name":"o{number}"}},"spec":"{text}{}"}}"#,
        "x".repeat(length)
    );
    let expected = match ledger.known(&key) {
        None => Change::create(key.clone(), value),
        Some((revision, _)) if random.below(4) == 0 => Change::delete(key.clone(), revision),
        Some((revision, _)) => Change::update(key.clone(), revision, value),
    };
    (expected, key)
}

/// Returns the value of the object after a change.
pub(crate) fn value_of(change: &Change) -> Option<String> {
    match &change.write {
        drover_apiserver::store::Write::Put(value) => {
            Some(String::from_utf8(value.to_vec()).unwrap())
        }
        drover_apiserver::store::Write::Delete => None,
    }
}

/// The reason why a writer ended.
#[derive(Debug)]
pub(crate) enum End {
    /// All changes of the writer succeeded.
    Done,
    /// The store is full.
    Full,
    /// The store returned an error, and the store is not full.
    Broken,
}

/// Runs one writer until an error, or until all its changes succeeded.
pub(crate) async fn write(
    store: &Store,
    ledger: Arc<Mutex<Ledger>>,
    writer: u64,
    mut random: Random,
    changes: u64,
) -> End {
    for _ in 0..changes {
        let (expected, key) = choose(&ledger.lock().unwrap(), writer, &mut random);
        ledger.lock().unwrap().begin(&key, value_of(&expected));
        match store.commit(expected).await {
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

/// Runs all writers.
pub(crate) async fn write_all(
    store: &Store,
    ledger: &Arc<Mutex<Ledger>>,
    random: &mut Random,
    changes: u64,
) -> Vec<End> {
    let writers = (0..WRITERS).map(|writer| {
        let random = Random::new(random.number());
        write(store, Arc::clone(ledger), writer, random, changes)
    });
    futures::future::join_all(writers).await
}
