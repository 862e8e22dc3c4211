//! Reads the log's files backwards.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};
use drover_api::rest::{AuditList, AuditSource};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::super::numbered;
use super::{FilePosition, Older, Page, Position, ReadAuditError, Wanted, kept_since};

/// Bytes that are read for one page; the page holds the matches in these bytes.
const PAGE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes per read.
const BLOCK: usize = 64 * 1024;
/// Longest line that is parsed; records are much shorter.
const LINE: usize = 64 * 1024;

/// The log's current file and the number of rotated files.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    path: PathBuf,
    keep: u32,
}

/// The state of one file when it was opened.
struct Log {
    file: File,
    path: PathBuf,
    fingerprint: u64,
    first_line: Vec<u8>,
    bytes: u64,
}

/// What exists at one of the log's paths.
enum Named {
    /// A file with at least one line.
    Log(Log),
    /// No file, or an empty one.
    Nothing,
    /// A directory, a pipe or the like, which another program created.
    NoFile,
}

/// All log files, newest first.
struct Opened {
    logs: Vec<Log>,
    no_files: u64,
}

impl Files {
    pub(super) fn new(path: PathBuf, keep: u32) -> Self {
        Self { path, keep }
    }

    /// Reads a page, newest record first.
    pub(super) fn read(&self, wanted: &Wanted) -> Result<AuditList, ReadAuditError> {
        let Opened { logs, no_files } = self.open()?;
        let oldest = logs.last().and_then(|log| kept_since(&log.first_line));
        let (from, mut end) = match wanted.after {
            None => (0, None),
            Some(Position::File(after)) => {
                let found = logs.iter().position(|log| log.fingerprint == after.file);
                let found = found.filter(|index| after.before <= logs[*index].bytes);
                (found.ok_or(ReadAuditError::Gone)?, Some(after.before))
            }
            Some(Position::Memory { .. }) => return Err(ReadAuditError::Gone),
        };
        let (mut page, mut budget) = (Page::new(wanted), PAGE_BYTES);
        if wanted.after.is_none() {
            page.unreadable += no_files;
        }
        let mut next = None;
        for (index, log) in logs.iter().enumerate().skip(from) {
            let end = end.take().unwrap_or(log.bytes);
            let (older, before) =
                read_back(log, end, &mut page, &mut budget).map_err(|error| log.failed(error))?;
            match older {
                Older::Wanted => {}
                Older::Later => {
                    let last = before == 0 && index + 1 == logs.len();
                    next = (!last).then_some(Position::File(FilePosition {
                        file: log.fingerprint,
                        before,
                    }));
                    break;
                }
                Older::No => break,
            }
        }
        Ok(page.done(AuditSource::File, oldest, next))
    }

    /// Opens every file with at least one line.
    ///
    /// The log can be rotated meanwhile: a file can move to the next path before that path is
    /// opened, and is then seen twice. No file is skipped, because rotation moves the oldest file
    /// first.
    fn open(&self) -> Result<Opened, ReadAuditError> {
        let mut logs: Vec<Log> = Vec::new();
        let mut no_files = 0;
        for number in 0..=self.keep {
            let path = match number {
                0 => self.path.clone(),
                number => numbered(&self.path, number),
            };
            let named =
                Named::open(&path).map_err(|source| ReadAuditError::File { path, source })?;
            match named {
                Named::Log(new) if logs.iter().all(|log| log.fingerprint != new.fingerprint) => {
                    logs.push(new);
                }
                Named::Log(_) | Named::Nothing => {}
                Named::NoFile => no_files += 1,
            }
        }
        Ok(Opened { logs, no_files })
    }
}

impl Named {
    fn open(path: &Path) -> io::Result<Self> {
        // Without `O_NONBLOCK`, opening a pipe blocks until another process writes to it.
        let at_once = OFlags::NONBLOCK.bits().cast_signed();
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(at_once)
            .open(path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Nothing),
            // The path is a socket.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
                return Ok(Self::NoFile);
            }
            opened => opened?,
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Self::NoFile);
        }
        let bytes = metadata.len();
        let most = usize::try_from(bytes).unwrap_or(LINE).min(LINE);
        let mut first_line = vec![0; most];
        file.read_exact_at(&mut first_line, 0)?;
        match first_line.iter().position(|byte| *byte == b'\n') {
            Some(end) => first_line.truncate(end),
            None if most < LINE => return Ok(Self::Nothing),
            None => {}
        }
        let hash = digest(&SHA256, &first_line);
        let fingerprint = hash.as_ref().iter().take(8);
        let fingerprint = fingerprint.fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        Ok(Self::Log(Log {
            file,
            path: path.to_owned(),
            fingerprint,
            first_line,
            bytes,
        }))
    }
}

impl Log {
    fn failed(&self, source: io::Error) -> ReadAuditError {
        // Another process truncated the file.
        if source.kind() == io::ErrorKind::UnexpectedEof {
            return ReadAuditError::Gone;
        }
        ReadAuditError::File {
            path: self.path.clone(),
            source,
        }
    }
}

/// Reads lines from a position towards the beginning, and returns where it stopped.
fn read_back(
    log: &Log,
    end: u64,
    page: &mut Page<'_>,
    budget: &mut usize,
) -> io::Result<(Older, u64)> {
    let mut back = Backwards::new(log, end);
    loop {
        let line = back.line();
        // The remaining part of the file is older.
        let before = back.start + back.held.len() as u64;
        match line {
            Some(line) => match page.take(&line) {
                Older::Wanted => {}
                older => return Ok((older, before)),
            },
            None if back.start == 0 => return Ok((Older::Wanted, 0)),
            None if *budget == 0 => return Ok((Older::Later, before)),
            None => {
                *budget = budget.saturating_sub(back.read_more()?);
                page.unreadable += u64::from(back.drop_too_long());
            }
        }
    }
}

/// The part of a file that was read and not yet returned.
struct Backwards<'a> {
    file: &'a File,
    /// Where `held` begins in the file.
    start: u64,
    held: Vec<u8>,
    /// The end of the last line in `held` is missing or was dropped.
    torn: bool,
}

impl<'a> Backwards<'a> {
    fn new(log: &'a Log, end: u64) -> Self {
        Self {
            file: &log.file,
            start: end,
            held: Vec::new(),
            // The first byte that is read shows whether the line is complete.
            torn: true,
        }
    }

    /// Returns the last whole line without its newline; `None` if its beginning is not read yet.
    fn line(&mut self) -> Option<Vec<u8>> {
        if self.torn {
            let Some(end) = self.held.iter().rposition(|byte| *byte == b'\n') else {
                self.held.clear();
                return None;
            };
            self.held.truncate(end + 1);
            self.torn = false;
        }
        let (end, lines) = self.held.split_last()?;
        debug_assert_eq!(*end, b'\n', "what is held ends with a line");
        let begin = match lines.iter().rposition(|byte| *byte == b'\n') {
            Some(end_before) => end_before + 1,
            None if self.start == 0 => 0,
            None => return None,
        };
        let line = lines[begin..].to_vec();
        self.held.truncate(begin);
        Some(line)
    }

    /// Reads the previous block and returns its length.
    fn read_more(&mut self) -> io::Result<usize> {
        let length = usize::try_from(self.start).unwrap_or(BLOCK).min(BLOCK);
        let mut block = vec![0; length];
        self.start -= length as u64;
        self.file.read_exact_at(&mut block, self.start)?;
        block.append(&mut self.held);
        self.held = block;
        Ok(length)
    }

    /// Drops a line that is longer than any record.
    fn drop_too_long(&mut self) -> bool {
        let one_line = !self.torn && self.held.iter().rev().skip(1).all(|byte| *byte != b'\n');
        let drop = one_line && self.held.len() > LINE;
        if drop {
            self.held.clear();
            self.torn = true;
        }
        drop
    }
}
