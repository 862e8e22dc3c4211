//! Measures the store on a disk: `cargo run --release --example store_bench -- FOLDER`.
#![expect(clippy::print_stdout, reason = "the program prints a table of results")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use drover_apiserver::store::{Change, List, Store, StoreOptions};

/// The size of a stored value, in bytes. A ConfigMap with managed fields has about this size.
const VALUE_BYTES: usize = 1000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let path = Path::new(&folder).join("store-bench.db");
    let store = Store::open(&path, StoreOptions::default())?;
    for writers in [1, 16, 128] {
        let per_writer = 4000 / writers;
        let start = Instant::now();
        let all = (0..writers).map(|writer| write(store.clone(), writer, writers, per_writer));
        let mut took: Vec<Duration> = Vec::new();
        for result in futures::future::join_all(all.map(tokio::spawn)).await {
            took.extend(result??);
        }
        report(
            &format!("create+update c{writers}"),
            &mut took,
            start.elapsed(),
        );
    }
    fill(&store).await?;
    get(&store).await?;
    list(&store).await?;
    compact(&store).await?;
    println!("{:?}", store.figures().await?);
    Ok(())
}

fn value(name: &str, text: usize) -> Vec<u8> {
    let padding = "x".repeat(VALUE_BYTES);
    format!(r#"{{"data":{{"a":"{padding}{text}"}},"metadata":{{"name":"{name}"}}}}"#).into_bytes()
}

/// Measures writes. Half of the writes create objects, and half of the writes update these objects.
async fn write(
    store: Store,
    writer: usize,
    of: usize,
    changes: usize,
) -> Result<Vec<Duration>, String> {
    let mut took = Vec::with_capacity(changes);
    let salt = std::process::id();
    for number in 0..changes / 2 {
        let name = format!("b{salt}-{of}-{writer}-{number}");
        let key = format!("/core/benches/ns/{name}");
        let start = Instant::now();
        let create = Change::create(key.clone(), value(&name, 0));
        let revision = store
            .commit(create)
            .await
            .map_err(|error| error.to_string())?;
        took.push(start.elapsed());
        let start = Instant::now();
        let update = Change::update(key, revision, value(&name, 1));
        store
            .commit(update)
            .await
            .map_err(|error| error.to_string())?;
        took.push(start.elapsed());
    }
    Ok(took)
}

async fn fill(store: &Store) -> Result<(), Box<dyn Error>> {
    let salt = std::process::id();
    let all = (0..10_000).map(|number: u64| {
        // The keys are in random order, as object names are.
        let name = format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let key = format!("/core/lists/ns{salt}/{name}");
        store.commit(Change::create(key, value(&name, 0)))
    });
    for created in futures::future::join_all(all).await {
        created?;
    }
    Ok(())
}

async fn get(store: &Store) -> Result<(), Box<dyn Error>> {
    let salt = std::process::id();
    let mut took = Vec::new();
    let start = Instant::now();
    for number in 0..10_000_u64 {
        let name = format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let start = Instant::now();
        let found = store.get(&format!("/core/lists/ns{salt}/{name}")).await?;
        took.push(start.elapsed());
        assert!(found.is_some());
    }
    report("get c1", &mut took, start.elapsed());
    Ok(())
}

async fn list(store: &Store) -> Result<(), Box<dyn Error>> {
    let prefix = format!("/core/lists/ns{}/", std::process::id());
    let mut took = Vec::new();
    let begin = Instant::now();
    let mut bytes = 0;
    for _ in 0..10 {
        let start = Instant::now();
        let page = store.list(List::all(prefix.clone())).await?;
        let mut out = Vec::with_capacity(page.items.len() * (VALUE_BYTES + 100));
        for stored in &page.items {
            stored.write_json(&mut out);
            out.push(b',');
        }
        bytes = out.len();
        took.push(start.elapsed());
    }
    report(
        &format!("list 10k, {bytes} bytes"),
        &mut took,
        begin.elapsed(),
    );
    Ok(())
}

/// Measures the write latency of one client during a compaction of the whole history.
async fn compact(store: &Store) -> Result<(), Box<dyn Error>> {
    let revision = store.revision();
    let compacting = tokio::spawn({
        let store = store.clone();
        async move { store.compact(revision).await }
    });
    let mut took = Vec::new();
    let begin = Instant::now();
    let mut number = 0;
    while !compacting.is_finished() {
        let name = format!("c{}-{number}", std::process::id());
        number += 1;
        let start = Instant::now();
        let create = Change::create(format!("/core/benches/ns/{name}"), value(&name, 0));
        store.commit(create).await?;
        took.push(start.elapsed());
    }
    compacting.await??;
    report("create c1 while compacting", &mut took, begin.elapsed());
    Ok(())
}

fn report(label: &str, took: &mut [Duration], all: Duration) {
    took.sort_unstable();
    let at = |share: usize| took[(took.len() - 1) * share / 1000].as_secs_f64() * 1e3;
    let rate = f64::from(u32::try_from(took.len()).unwrap_or(u32::MAX)) / all.as_secs_f64();
    println!(
        "{label:30} {rate:9.0}/s  p50 {:7.3} ms  p99 {:7.3} ms  max {:7.3} ms",
        at(500),
        at(990),
        at(1000)
    );
}
