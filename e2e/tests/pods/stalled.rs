//! Tests that stalled log readers do not delay the requests of other clients.
//!
//! In a comparable product, `kubectl logs -f` of a pod with log lines of 8 MB made the cluster
//! unreachable.

use std::time::{Duration, Instant};

use drover_e2e::{Running, World};

const SOON: Duration = Duration::from_mins(1);
/// A shell script that writes 20 lines of 8 MB each. The total of 160 MB does not cause a log
/// rotation on the node.
const LONG_LINES: &str = "for i in $(seq 20); do head -c 8000000 /dev/zero | tr '\\0' x; echo; sleep 0.5; done; sleep 3600";
const READERS: usize = 6;
const OTHERS: usize = 40;
/// Timeout of the requests that run while the log readers are stalled. A usual response is much
/// faster. The server aborts a stalled reader much later.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);
/// Maximum memory, in KiB, that six readers with full flow-control windows may use in the server
/// and the agents.
const HELD_KIB: u64 = 96 * 1024;

pub(crate) async fn stalled_readers_do_not_delay_other_requests(world: &mut World) {
    world.run_pod("long-lines", LONG_LINES).await.unwrap();
    let before = pace(world).await;
    let (server, agents) = memory(world);
    let readers = stalled_readers(world).await;
    // The flow control windows of the stalled readers fill.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let during = pace(world).await;
    let (server_after, agents_after) = memory(world);
    eprintln!(
        "{OTHERS} gets took {before:?} before and {during:?} with {READERS} stalled readers; \
         memory: server {server} to {server_after} KiB, agents {agents} to {agents_after} KiB"
    );
    assert!(
        during < before * 4 + Duration::from_secs(5),
        "stalled readers increased the response time from {before:?} to {during:?}"
    );
    assert!(
        server_after < server + HELD_KIB,
        "the memory of the server grew from {server} to {server_after} KiB"
    );
    assert!(
        agents_after < agents + HELD_KIB,
        "the memory of the agents grew from {agents} to {agents_after} KiB"
    );
    // A reader that resumes gets more data.
    let length = readers[0].log().len();
    readers[0].resume().unwrap();
    drover_e2e::eventually("the resumed reader to get more", SOON, async || {
        let more = std::fs::metadata(readers[0].log_path()).unwrap().len();
        if more > length as u64 + 8_000_000 {
            Ok(())
        } else {
            Err(more)
        }
    })
    .await
    .unwrap();
    drop(readers);
    world
        .direct()
        .run(["delete", "pod", "long-lines", "--now"])
        .await
        .unwrap();
}

/// Starts `kubectl logs -f` processes and pauses each process after its first output.
async fn stalled_readers(world: &World) -> Vec<Running> {
    let logs = world.scratch("stalled").unwrap();
    let mut readers = Vec::new();
    for number in 0..READERS {
        let name = format!("reader-{number}");
        let mut reader = world
            .through()
            .start(&name, ["logs", "-f", "long-lines"], &logs)
            .unwrap();
        reader.wait_for_log("xxxx", SOON).await.unwrap();
        reader.pause().unwrap();
        readers.push(reader);
    }
    readers
}

/// Sends `kubectl get` requests in sequence while the log readers are stalled. Asserts that each
/// response arrives in time, and returns the total duration.
async fn pace(world: &World) -> Duration {
    let begin = Instant::now();
    for number in 0..OTHERS {
        let one = Instant::now();
        let kubectl = world.through().with_limit(ANSWERED_WITHIN * 4);
        kubectl
            .run(["get", "configmaps", "-A", "-o", "json"])
            .await
            .unwrap();
        let took = one.elapsed();
        assert!(took < ANSWERED_WITHIN, "request {number} took {took:?}");
    }
    begin.elapsed()
}

/// Returns the total memory of the server and of both agents in KiB.
fn memory(world: &World) -> (u64, u64) {
    let agents = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let comm = std::fs::read_to_string(entry.path().join("comm")).ok()?;
            let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("VmRSS:"))?;
            let kib = line.split_whitespace().next()?.parse::<u64>().ok()?;
            comm.starts_with("drover-agent").then_some(kib)
        });
    (world.server.resident_kib().unwrap(), agents.sum())
}
