//! Tests of `drover` with a pseudo-terminal as standard input.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::time::timeout;

use super::program::{Drover, PATIENCE};
use super::stub::{PASSWORD, Stub};

/// Opens a pseudo-terminal. Returns the end for the test, and the terminal for the program.
fn pair() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let program = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    (File::from(person), program)
}

/// Reads the output until the program prints the question.
async fn wait_for(err: &mut ChildStderr, question: &str, stderr: &mut String) {
    let mut buffer = [0; 1024];
    while !stderr.contains(question) {
        let read = timeout(PATIENCE, err.read(&mut buffer)).await;
        let read = read.expect("the program asks before the timeout").unwrap();
        assert!(
            read > 0,
            "the program ended without asking {question:?}: {stderr}"
        );
        stderr.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_authority_is_confirmed_once_and_passwords_are_not_echoed() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    stub.world.lock().must_change = true;
    let (mut person, program) = pair();
    let mut command = drover.command(&["login", &stub.url]);
    command.stdin(Stdio::from(program)).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut err = child.stderr.take().unwrap();
    let mut stderr = String::new();
    for (question, answer) in [
        ("Trust this certificate authority?", "y"),
        ("User name:", "alice"),
        ("Password: ", PASSWORD),
        ("New password", "a much better one"),
        ("Repeat the new password", "a much better one"),
    ] {
        wait_for(&mut err, question, &mut stderr).await;
        person.write_all(format!("{answer}\n").as_bytes()).unwrap();
    }
    wait_for(&mut err, "Logged in", &mut stderr).await;
    assert!(
        timeout(PATIENCE, child.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
    assert!(
        stderr.contains(&stub.fingerprint) && stderr.contains("stub authority"),
        "{stderr}"
    );
    let mut screen = Vec::new();
    // Reading a pseudo-terminal fails after the other side is closed.
    let _end = person.read_to_end(&mut screen);
    let screen = String::from_utf8_lossy(&screen);
    assert!(
        screen.contains("alice"),
        "the terminal must echo input that is not secret: {screen:?}"
    );
    for secret in [PASSWORD, "better"] {
        assert!(
            !screen.contains(secret) && !stderr.contains(secret),
            "{screen:?} {stderr:?}"
        );
    }
    drover.run(&["whoami"]).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn cli_sends_no_request_after_the_user_declines_the_certificate_authority() {
    let (stub, drover) = (Stub::start().await, Drover::new());
    let (mut person, program) = pair();
    let mut command = drover.command(&["login", &stub.url]);
    command.stdin(Stdio::from(program)).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut err = child.stderr.take().unwrap();
    let mut stderr = String::new();
    wait_for(&mut err, "Trust this certificate authority?", &mut stderr).await;
    person.write_all(b"\n").unwrap();
    let status = timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(stub.seen().is_empty() && !drover.config().exists());
}
