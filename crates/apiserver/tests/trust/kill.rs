//! The process is killed, at any moment.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drover_apiserver::store::{OpenError, Store, StoreOptions};
use lost_sync::Chance;

use crate::block_on;
use crate::ledger::{Ledger, WRITERS, choose, value_of, verify};

/// The argument that makes this program the one that is killed.
pub(crate) const WRITE: &str = "--write";

/// Writes and says so, until it is killed.
///
/// Each change is told before it is made and after it is acknowledged, as
/// `begin KEY VALUE`, `delete KEY`, `done KEY REVISION`.
pub(crate) fn write(folder: &Path, seed: u64) {
    let mut chance = Chance::new(seed);
    block_on(async {
        let store = Store::open(&folder.join("store.db"), options()).unwrap();
        // What there is is known from the store: its owner has verified it.
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        adopt(&store, &ledger).await;
        say("ready");
        let writers = (0..WRITERS).map(|writer| {
            let chance = Chance::new(chance.number());
            write_and_say(&store, Arc::clone(&ledger), writer, chance)
        });
        futures::future::join_all(writers).await;
    });
}

fn options() -> StoreOptions {
    StoreOptions {
        history_changes: 200,
        ..StoreOptions::default()
    }
}

async fn adopt(store: &Store, ledger: &Mutex<Ledger>) {
    let all = drover_apiserver::store::List::all("/");
    for stored in store.list(all).await.unwrap().items {
        let value = String::from_utf8(stored.value.to_vec()).unwrap();
        let mut ledger = ledger.lock().unwrap();
        ledger.begin(&stored.key, Some(value));
        ledger.acknowledge(&stored.key, stored.revision);
    }
}

async fn write_and_say(store: &Store, ledger: Arc<Mutex<Ledger>>, writer: u64, mut chance: Chance) {
    loop {
        let (wanted, key) = choose(&ledger.lock().unwrap(), writer, &mut chance);
        let value = value_of(&wanted);
        match &value {
            Some(value) => say(&format!("begin {key} {value}")),
            None => say(&format!("delete {key}")),
        }
        ledger.lock().unwrap().begin(&key, value);
        let revision = store.commit(wanted).await.unwrap();
        ledger.lock().unwrap().acknowledge(&key, revision);
        say(&format!("done {key} {revision}"));
    }
}

/// One line, in one piece, at once.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The reader may be gone.
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

/// Starts the writer, kills it, and looks at what is there, again and again.
pub(crate) fn process_is_killed(chance: &mut Chance, rounds: u64) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Mutex::new(Ledger::default());
    for _ in 0..rounds {
        let lines = run_and_kill(folder.path(), chance);
        for line in &lines {
            note(&mut ledger.lock().unwrap(), line);
        }
        block_on(async {
            let path = folder.path().join("store.db");
            let store = Store::open(&path, options()).expect("a store always opens");
            verify(&ledger, &store).await;
            let problems = Store::check(&path).unwrap().problems;
            assert!(problems.is_empty(), "{problems:?}");
        });
    }
    let acknowledged = ledger.lock().unwrap().acknowledged;
    println!("  {acknowledged} changes acknowledged");
    assert!(acknowledged > rounds, "hardly anything was written");
}

/// What the writer said before it was killed.
fn run_and_kill(folder: &Path, chance: &mut Chance) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([WRITE.as_ref(), folder.as_os_str()])
        .arg(chance.number().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (ready, readied) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut lines = Vec::new();
        let mut line = String::new();
        // A line without an end was not said.
        while out.read_line(&mut line).is_ok() && line.ends_with('\n') {
            if line == "ready\n" {
                ready.send(()).ok();
            }
            lines.push(std::mem::take(&mut line));
        }
        lines
    });
    // Once in a while before it is ready: opening is a moment too.
    if chance.below(4) > 0 {
        readied
            .recv_timeout(Duration::from_mins(1))
            .expect("the writer starts");
        // Nobody else gets at the store meanwhile.
        match Store::open(&folder.join("store.db"), options()) {
            Err(OpenError::Locked { pid, .. }) => assert_eq!(pid, Some(child.id())),
            other => panic!("{other:?}"),
        }
    }
    std::thread::sleep(Duration::from_millis(chance.below(300)));
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

fn note(ledger: &mut Ledger, line: &str) {
    let mut words = line.trim_end().splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some("begin"), Some(key), Some(value)) => ledger.begin(key, Some(value.to_owned())),
        (Some("delete"), Some(key), None) => ledger.begin(key, None),
        (Some("done"), Some(key), Some(revision)) => {
            ledger.acknowledge(key, revision.parse().unwrap());
        }
        _ => {}
    }
}
