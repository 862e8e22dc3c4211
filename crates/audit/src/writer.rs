//! The thread that writes the audit log: JSON lines in a file with rotation by size, or on standard
//! output.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::queue::{Line, Queue};
use super::read::Recent;
use super::{Destination, numbered};
use drover_telemetry::Metrics;

/// Initial and maximum delay after a failed write.
const RETRY_DELAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

enum Sink {
    Stdout(io::Stdout),
    File(LogFile),
}

struct LogFile {
    file: File,
    path: PathBuf,
    size: u64,
    max_bytes: u64,
    keep: u32,
}

pub(super) struct Writer {
    sink: Sink,
    queue: Arc<Queue>,
    /// The storage of written lines in memory, if the destination cannot be read.
    recent: Option<Recent>,
    problem: Arc<Mutex<Option<String>>>,
    metrics: Metrics,
}

impl Writer {
    pub(super) fn open(
        destination: &Destination,
        queue: Arc<Queue>,
        problem: Arc<Mutex<Option<String>>>,
        metrics: Metrics,
    ) -> io::Result<Self> {
        let sink = match destination {
            Destination::Stdout => Sink::Stdout(io::stdout()),
            Destination::File {
                path,
                max_bytes,
                keep,
            } => Sink::File(LogFile::open(path, *max_bytes, *keep)?),
        };
        Ok(Self {
            sink,
            queue,
            recent: None,
            problem,
            metrics,
        })
    }

    /// Enables storing the written lines in memory.
    pub(super) fn with_recent(self, recent: Option<Recent>) -> Self {
        Self { recent, ..self }
    }

    pub(super) fn run(mut self) {
        let mut lines = Vec::new();
        while let Some(taken) = self.queue.take() {
            lines.clear();
            for one in &taken {
                line(one, &mut lines);
            }
            self.write(&lines);
            if let Some(recent) = &self.recent {
                recent.keep(&lines);
            }
            self.metrics.audit_records.inc_by(taken.len() as u64);
            self.queue.wrote(taken.len());
        }
    }

    /// Writes all lines. Retries until the write succeeds. While the writes fail, the queue fills
    /// up and the server refuses new requests.
    fn write(&mut self, lines: &[u8]) {
        let mut rest = lines;
        let mut pause = RETRY_DELAY.0;
        while !rest.is_empty() {
            match self.sink.write(rest) {
                Ok(0) => self.failed(&io::ErrorKind::WriteZero.into(), &mut pause),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.failed(&error, &mut pause),
            }
        }
        if let Err(error) = self.sink.end_of_lines() {
            self.failed(&error, &mut pause);
        } else if self.problem.lock().take().is_some() {
            tracing::info!("audit log is writable again");
        }
    }

    fn failed(&mut self, error: &io::Error, pause: &mut Duration) {
        self.metrics.audit_write_errors.inc();
        if self.problem.lock().replace(error.to_string()).is_none() {
            tracing::error!(
                %error,
                "cannot write the audit log; requests are delayed and then refused: free disk \
                 space, or correct the permissions of the log file"
            );
        }
        std::thread::sleep(*pause);
        *pause = (*pause * 2).min(RETRY_DELAY.1);
    }
}

fn line(line: &Line, out: &mut Vec<u8>) {
    let before = out.len();
    if let Err(error) = line.write_json(out) {
        out.truncate(before);
        tracing::error!(%error, "failed to serialize an audit record");
        return;
    }
    out.push(b'\n');
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(log) => {
                let count = log.file.write(bytes)?;
                log.size += count as u64;
                Ok(count)
            }
        }
    }

    fn end_of_lines(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(log) if log.size >= log.max_bytes => log.rotate(),
            Self::File(_) => Ok(()),
        }
    }
}

impl LogFile {
    fn open(path: &Path, max_bytes: u64, keep: u32) -> io::Result<Self> {
        let file = append_to(path)?;
        let size = file.metadata()?.len();
        Ok(Self {
            file,
            path: path.to_owned(),
            size,
            max_bytes,
            keep,
        })
    }

    /// Rotates `log` to `log.1`, `log.1` to `log.2`, and so on. Deletes the oldest file.
    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.keep).rev() {
            rename_if_there(
                &numbered(&self.path, number),
                &numbered(&self.path, number + 1),
            )?;
        }
        if self.keep == 0 {
            std::fs::remove_file(&self.path)?;
        } else {
            rename_if_there(&self.path, &numbered(&self.path, 1))?;
        }
        self.file = append_to(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
