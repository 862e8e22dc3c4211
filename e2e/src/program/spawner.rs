//! The thread that starts every child.
//!
//! The kernel delivers a child's parent-death signal when the *thread* that started it ends. A
//! test's thread, or one of a runtime's, can end before the child may; this one lives as long as
//! the process.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};

type Request = (Command, SyncSender<io::Result<Child>>);

/// Starts `command` on the thread that never ends.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Sender<Request>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts programs is gone");
    let (answer, answered) = sync_channel(1);
    SPAWNER
        .get_or_init(start)
        .send((command, answer))
        .map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

fn start() -> Sender<Request> {
    let (requests, incoming) = channel::<Request>();
    std::thread::spawn(move || {
        for (mut command, answer) in incoming {
            // The caller waits for the result, so that the channel is open.
            let _ = answer.send(command.spawn());
        }
    });
    requests
}
