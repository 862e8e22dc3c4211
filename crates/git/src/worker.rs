//! The worker process: serves requests from its standard input, one after the other.

mod checkout;
mod process_limits;

use std::io::{self, BufRead, Read as _, Write};
use std::time::{Duration, Instant};

use crate::error::GitError;
use crate::request::{Reply, Request};
use crate::session::Network;
use crate::transport::{Deadline, Target};
use crate::tree::Sink;

/// The longest request, in bytes.
const MAX_REQUEST: u64 = 4 << 20;
/// The shortest time between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Serves requests until the input ends. Call this function as the only work of a process, outside
/// of an async runtime: it sets the resource limits of the process, and has its own runtime.
pub fn worker_main(input: impl BufRead, output: impl Write) -> io::Result<()> {
    // Without the cache, the memory of the worker does not grow with the repository.
    git2::opts::enable_caching(false);
    let mut input = input;
    let mut replies = Replies {
        output,
        last_progress: Instant::now(),
    };
    let mut network = Network::new()?;
    loop {
        let mut line = Vec::new();
        let read = (&mut input)
            .take(MAX_REQUEST)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let request: Request = serde_json::from_slice(&line)
            // The error of serde_json can contain a part of a secret.
            .map_err(|_| io::Error::other("the request is not valid"))?;
        let reply = process_limits::apply(request.limits())
            .and_then(|()| serve(request, &mut network, &mut replies))
            .unwrap_or_else(|error| Reply::Failed { error });
        replies.send(&reply)?;
    }
}

fn serve(
    request: Request,
    network: &mut Network,
    replies: &mut Replies<impl Write>,
) -> Result<Reply, GitError> {
    let wall_time = request.limits().wall_time;
    let deadline = Deadline {
        at: Instant::now() + wall_time,
        seconds: wall_time.as_secs(),
    };
    match request {
        Request::Resolve {
            source,
            references,
            limits,
        } => {
            let target = Target::new(source)?;
            let mut session = network.open(&target, &limits, deadline)?;
            let commits = session.commits(&references)?;
            Ok(Reply::Resolved { commits })
        }
        Request::Fetch {
            source,
            reference,
            paths,
            cache_dir,
            limits,
        } => {
            let target = Target::new(source)?;
            checkout::run(
                network,
                &target,
                &reference,
                checkout::Settings {
                    paths: &paths,
                    cache_dir: &cache_dir,
                    limits: &limits,
                    deadline,
                },
                replies,
            )
        }
    }
}

/// The standard output.
struct Replies<W> {
    output: W,
    last_progress: Instant,
}

impl<W: Write> Replies<W> {
    fn send(&mut self, reply: &Reply) -> io::Result<()> {
        serde_json::to_writer(&mut self.output, reply)?;
        self.output.write_all(b"\n")?;
        self.output.flush()
    }
}

/// A receiver of the results of a request for files.
trait CheckoutSink: Sink {
    /// Reports the bytes of the pack received so far.
    fn progress(&mut self, received_bytes: u64) -> Result<(), GitError>;
}

fn closed(error: &io::Error) -> GitError {
    GitError::Worker {
        reason: format!("cannot write the result: {error}"),
    }
}

impl<W: Write> Sink for Replies<W> {
    fn file(&mut self, path: &str, content: &[u8]) -> Result<(), GitError> {
        let reply = Reply::File {
            path: path.to_owned(),
            size: content.len() as u64,
        };
        self.send(&reply)
            .and_then(|()| self.output.write_all(content))
            .map_err(|error| closed(&error))
    }

    fn rejected(&mut self, path: &str, error: GitError) -> Result<(), GitError> {
        let reply = Reply::Rejected {
            path: path.to_owned(),
            error,
        };
        self.send(&reply).map_err(|error| closed(&error))
    }
}

impl<W: Write> CheckoutSink for Replies<W> {
    fn progress(&mut self, received_bytes: u64) -> Result<(), GitError> {
        if self.last_progress.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        self.last_progress = Instant::now();
        self.send(&Reply::Progress { received_bytes })
            .map_err(|error| closed(&error))
    }
}
