//! The thread that starts every child process.
//!
//! The kernel sends the parent-death signal to a child when the *thread* that started the child
//! ends. Threads of tests and runtimes can end earlier than the child. The spawner thread runs
//! until the process ends.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};

type Request = (Command, SyncSender<io::Result<Child>>);

/// Starts `command` on the spawner thread.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Sender<Request>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts programs has ended");
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
