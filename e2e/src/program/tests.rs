//! Tests of starting, pausing, restarting and stopping programs.

use super::*;

const SOON: Duration = Duration::from_secs(20);

fn shell(logs: &Path, script: &str) -> Running {
    Program::new("shell", "sh", logs)
        .args(["-c", script])
        .start()
        .unwrap()
}

#[test]
fn log_tail_returns_the_last_lines() {
    assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc\n");
    assert_eq!(last_lines("a\nb", 5), "a\nb");
    assert_eq!(last_lines("", 5), "");
}

#[tokio::test]
async fn error_of_an_ended_program_contains_its_log() {
    let logs = tempfile::tempdir().unwrap();
    let mut running = shell(logs.path(), "echo something broke; exit 3");
    let error = running.wait_for_log("ready", SOON).await.unwrap_err();
    assert!(error.to_string().contains("something broke"), "{error}");
    assert!(error.to_string().contains('3'), "{error}");
}

#[tokio::test]
async fn process_ends_when_its_program_handle_is_dropped() {
    let logs = tempfile::tempdir().unwrap();
    let mut running = shell(logs.path(), "echo up; exec sleep 600");
    running.wait_for_log("up", SOON).await.unwrap();
    let process = PathBuf::from(format!("/proc/{}", running.id()));
    assert!(process.exists());
    drop(running);
    assert!(!process.exists());
}

#[tokio::test]
async fn restarted_program_has_a_new_process_id_and_appends_to_the_same_log() {
    let logs = tempfile::tempdir().unwrap();
    let mut running = shell(logs.path(), "echo up $$; exec sleep 600");
    running.wait_for_log("up", SOON).await.unwrap();
    let first = running.id();
    running.restart().unwrap();
    assert_ne!(running.id(), first);
    let second = format!("up {}", running.id());
    running.wait_for_log(&second, SOON).await.unwrap();
    assert!(running.log().contains(&format!("up {first}")));
}

#[tokio::test]
async fn paused_program_continues_when_resumed() {
    let logs = tempfile::tempdir().unwrap();
    let mut running = shell(
        logs.path(),
        "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done",
    );
    running.wait_for_log("up", SOON).await.unwrap();
    running.pause().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", running.id())).unwrap();
    assert!(stat.contains(") T "), "the program is not stopped: {stat}");
    running.signal(Signal::TERM).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!running.log().contains("asked"));
    running.resume().unwrap();
    let error = running.wait_for_log("never", SOON).await.unwrap_err();
    assert!(error.to_string().contains("asked"), "{error}");
}
