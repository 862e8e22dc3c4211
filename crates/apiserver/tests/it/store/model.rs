//! Compares the store with a model in memory.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A generated operation, with small numbers for names, texts and revisions.
#[derive(Debug, Clone)]
enum Step {
    Create(u8, u8),
    Update(u8, u8),
    Delete(u8),
    Stale(u8),
    List {
        at: u8,
        after: u8,
        limit: u8,
        namespace: u8,
    },
    Watch(u8),
    Compact(u8),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u8>(), any::<u8>()).prop_map(|(name, text)| Step::Create(name, text)),
        4 => (any::<u8>(), any::<u8>()).prop_map(|(name, text)| Step::Update(name, text)),
        3 => any::<u8>().prop_map(Step::Delete),
        1 => any::<u8>().prop_map(Step::Stale),
        3 => any::<[u8; 4]>().prop_map(|[at, after, limit, namespace]| Step::List {
            at, after, limit, namespace
        }),
        2 => any::<u8>().prop_map(Step::Watch),
        1 => any::<u8>().prop_map(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

type Objects = BTreeMap<String, (u64, Vec<u8>)>;

/// A model of the store with all states since the start.
struct Model {
    states: Vec<(u64, Objects)>,
    floor: u64,
}

/// Maps a number to a key. Some names are prefixes of other names, and one namespace is a prefix of
/// another namespace.
fn name(number: u8) -> String {
    let namespace = ["ns", "ns2", "n"][usize::from(number) % 3];
    let name = ["a", "a-b", "b", "a/", "é"][usize::from(number / 3) % 5];
    format!("/core/things/{namespace}/{name}")
}

fn prefix(number: u8) -> &'static str {
    [
        "/core/things/",
        "/core/things/ns/",
        "/core/things/n/",
        "",
        "/core/things/ns",
        "/x/",
    ][usize::from(number) % 6]
}

fn value(text: u8) -> Vec<u8> {
    // Small values, and values larger than a page.
    let length = if text.is_multiple_of(5) { 9000 } else { 10 };
    object("x", &text.to_string().repeat(length))
}

impl Model {
    fn now(&self) -> &(u64, Objects) {
        self.states.last().unwrap()
    }

    /// Maps a number to an existing revision.
    fn revision(&self, number: u8) -> u64 {
        self.states[usize::from(number) % self.states.len()].0
    }

    fn at(&self, revision: u64) -> &Objects {
        let state = self.states.iter().rev().find(|state| state.0 <= revision);
        &state.unwrap().1
    }

    fn change(&mut self, revision: u64, key: String, value: Option<Vec<u8>>) {
        let mut objects = self.now().1.clone();
        match value {
            Some(value) => objects.insert(key, (revision, value)),
            None => objects.remove(&key),
        };
        assert_eq!(
            revision,
            self.now().0 + 1,
            "a change does not have the next revision"
        );
        self.states.push((revision, objects));
    }

    /// Returns the events that a watch must deliver: key, new value, old value.
    fn expected_events(&self, prefix: &str, revision: u64) -> Vec<ModelEvent> {
        let mut expected_events = Vec::new();
        for pair in self.states.windows(2) {
            let (before, (revision_now, after)) = (&pair[0].1, &pair[1]);
            let keys = before
                .keys()
                .chain(after.keys().filter(|key| !before.contains_key(*key)));
            for key in keys.filter(|key| before.get(*key) != after.get(*key)) {
                if *revision_now > revision && key.starts_with(prefix) {
                    expected_events.push((
                        *revision_now,
                        key.clone(),
                        after.get(key).map(|(_, value)| value.clone()),
                        before.get(key).cloned(),
                    ));
                }
            }
        }
        expected_events
    }
}

type ModelEvent = (u64, String, Option<Vec<u8>>, Option<(u64, Vec<u8>)>);

fn expected_events(event: &Event) -> ModelEvent {
    let (now, before) = match event {
        Event::Put { stored, previous } => (Some(stored.value.to_vec()), previous.as_ref()),
        Event::Delete { stored, .. } => (None, Some(stored)),
    };
    let before = before.map(|stored| (stored.revision, stored.value.to_vec()));
    (event.revision(), event.key().to_string(), now, before)
}

async fn list(store: &Store, model: &Model, at: u8, after: u8, limit: u8, number: u8) {
    let revision = model.revision(at);
    let prefix = prefix(number);
    let list = List {
        prefix: prefix.to_owned(),
        after: after.is_multiple_of(2).then(|| name(after)),
        limit: (!limit.is_multiple_of(3)).then_some(usize::from(limit % 7) + 1),
        at: if at.is_multiple_of(4) {
            At::Latest
        } else {
            At::Exact(revision)
        },
        rest: Rest::Count,
    };
    let (limit, after) = (list.limit.unwrap_or(usize::MAX), list.after.clone());
    let exact = list.at == At::Exact(revision);
    let result = store.list(list).await;
    if exact && revision < model.floor {
        assert!(matches!(result, Err(ListError::Compacted { floor }) if floor == model.floor));
        return;
    }
    let page = result.unwrap();
    let (revision, objects) = if exact {
        (revision, model.at(revision))
    } else {
        (model.now().0, &model.now().1)
    };
    let expected: Vec<_> = objects
        .iter()
        .filter(|(key, _)| {
            key.starts_with(prefix) && after.as_ref().is_none_or(|after| *key > after)
        })
        .map(|(key, (revision, value))| (key.clone(), *revision, value.clone()))
        .collect();
    let shown = expected.len().min(limit);
    let items: Vec<_> = page
        .items
        .iter()
        .map(|stored| {
            (
                stored.key.to_string(),
                stored.revision,
                stored.value.to_vec(),
            )
        })
        .collect();
    assert_eq!(items, expected[..shown]);
    assert_eq!(
        (page.revision, page.remaining),
        (revision, (expected.len() - shown) as u64)
    );
}

async fn watch(store: &Store, model: &Model, number: u8) {
    let (from, prefix) = (model.revision(number), prefix(number / 7));
    let watch = store.watch(prefix, from);
    if from < model.floor {
        assert!(matches!(watch, Err(WatchError::Compacted { floor }) if floor == model.floor));
        return;
    }
    let expected = model.expected_events(prefix, from);
    let mut watch = watch.unwrap();
    let mut seen = Vec::new();
    while seen.len() < expected.len() {
        let batch = next(&mut watch).await.unwrap();
        seen.extend(batch.events.iter().map(|event| expected_events(event)));
    }
    assert_eq!(seen, expected);
}

async fn write(store: &Store, model: &mut Model, step: &Step) {
    let (key, change) = match step {
        Step::Create(number, text) => (name(*number), Change::create(name(*number), value(*text))),
        Step::Update(number, text) => {
            let key = name(*number);
            let revision = model.now().1.get(&key).map_or(7, |there| there.0);
            (key.clone(), Change::update(key, revision, value(*text)))
        }
        Step::Delete(number) => {
            let key = name(*number);
            let revision = model.now().1.get(&key).map_or(7, |there| there.0);
            (key.clone(), Change::delete(key, revision))
        }
        Step::Stale(number) => {
            let key = name(*number);
            let revision = model.now().1.get(&key).map_or(7, |there| there.0 - 1);
            (key.clone(), Change::delete(key, revision))
        }
        _ => return,
    };
    let there = model.now().1.get(&key).cloned();
    let written = match (&change.write, step) {
        (drover_apiserver::store::Write::Put(value), _) => Some(value.to_vec()),
        _ => None,
    };
    let right = match step {
        Step::Create(..) => there.is_none(),
        Step::Stale(_) => false,
        _ => there.is_some(),
    };
    match store.commit(change).await {
        Ok(revision) if right && there.as_ref().map(|(_, value)| value) == written.as_ref() => {
            assert_eq!(Some(revision), there.map(|there| there.0));
        }
        Ok(revision) => {
            assert!(right, "{step:?} over {there:?}");
            model.change(revision, key, written);
        }
        Err(CommitError::Conflict(found)) => {
            assert!(!right);
            let found = found.map(|stored| (stored.revision, stored.value.to_vec()));
            assert_eq!(found, there);
        }
        Err(other) => panic!("unexpected result: {other:?}"),
    }
}

async fn run(steps: Vec<Step>, options: StoreOptions) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path(), options.clone());
    let start = store.revision();
    let mut model = Model {
        states: vec![(start, Objects::new())],
        floor: start,
    };
    let mut live = store.watch("", start).unwrap();
    let (mut live_from, mut seen) = (start, Vec::new());
    for step in steps {
        write(&store, &mut model, &step).await;
        match step {
            Step::List {
                at,
                after,
                limit,
                namespace,
            } => {
                list(&store, &model, at, after, limit, namespace).await;
            }
            Step::Watch(number) => watch(&store, &model, number).await,
            Step::Compact(number) => {
                let to = model.revision(number);
                model.floor = model.floor.max(to);
                assert_eq!(store.compact(to).await.unwrap(), model.floor);
            }
            Step::Reopen => {
                drop(store);
                while let Ok(batch) = next(&mut live).await {
                    seen.extend(batch.events.iter().map(|event| expected_events(event)));
                }
                assert_eq!(seen, model.expected_events("", live_from));
                store = open(folder.path(), options.clone());
                live_from = store.revision();
                live = store.watch("", live_from).unwrap();
                seen.clear();
            }
            _ => {}
        }
        assert_eq!(store.revision(), model.now().0);
    }
    let report = Store::check(store.path()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!(report.objects, model.now().1.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn store_behavior_matches_the_reference_model(
        steps in prop::collection::vec(step(), 1..80),
        ring_changes in prop_oneof![Just(0_usize), Just(5), Just(10_000)],
    ) {
        let options = StoreOptions { ring_changes, ..StoreOptions::default() };
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(run(steps, options));
    }
}
