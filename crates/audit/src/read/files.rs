//! Reads the files of the log backwards.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};
use drover_api::rest::{AuditList, AuditSource};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::super::numbered;
use super::{FilePosition, Page, PageRequest, Position, ReadAuditError, SearchStep, oldest_time};

/// Maximum number of bytes read for one page. The page contains only matches within these bytes.
const PAGE_BYTES: usize = 8 * 1024 * 1024;
/// Number of bytes per read.
const BLOCK: usize = 64 * 1024;
/// Maximum length of a parsed line, in bytes. Longer lines are skipped. Records are much shorter.
const LINE: usize = 64 * 1024;

/// The log's current file and the number of rotated files.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    path: PathBuf,
    keep: u32,
}

/// A file of the log and its state at the time when it was opened.
struct Log {
    file: File,
    path: PathBuf,
    fingerprint: u64,
    first_line: Vec<u8>,
    bytes: u64,
}

/// The kind of file at one of the log's paths.
enum PathContent {
    /// A regular file with at least one line.
    Log(Log),
    /// No file, or an empty file.
    Nothing,
    /// A directory, a pipe or a special file, which a different program created.
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

    /// Reads a page in order of time, newest record first.
    pub(super) fn read(&self, page_request: &PageRequest) -> Result<AuditList, ReadAuditError> {
        let Opened { logs, no_files } = self.open()?;
        let oldest = logs.last().and_then(|log| oldest_time(&log.first_line));
        let (from, mut end) = match page_request.after {
            None => (0, None),
            Some(Position::File(after)) => {
                let found = logs.iter().position(|log| log.fingerprint == after.file);
                let found = found.filter(|index| after.before <= logs[*index].bytes);
                (found.ok_or(ReadAuditError::Gone)?, Some(after.before))
            }
            Some(Position::Memory { .. }) => return Err(ReadAuditError::Gone),
        };
        let (mut page, mut budget) = (Page::new(page_request), PAGE_BYTES);
        if page_request.after.is_none() {
            page.unreadable += no_files;
        }
        let mut next = None;
        for (index, log) in logs.iter().enumerate().skip(from) {
            let end = end.take().unwrap_or(log.bytes);
            let (older, before) =
                read_back(log, end, &mut page, &mut budget).map_err(|error| log.failed(error))?;
            match older {
                SearchStep::Continue => {}
                SearchStep::EndPage => {
                    let last = before == 0 && index + 1 == logs.len();
                    next = (!last).then_some(Position::File(FilePosition {
                        file: log.fingerprint,
                        before,
                    }));
                    break;
                }
                SearchStep::End => break,
            }
        }
        Ok(page.done(AuditSource::File, oldest, next))
    }

    /// Opens every file with at least one line.
    ///
    /// The writer can rotate the log concurrently. A file can then move to the next path before
    /// this function opens that path, and the function opens the file twice. The function skips no
    /// file, because the rotation moves the oldest file first.
    fn open(&self) -> Result<Opened, ReadAuditError> {
        let mut logs: Vec<Log> = Vec::new();
        let mut no_files = 0;
        for number in 0..=self.keep {
            let path = match number {
                0 => self.path.clone(),
                number => numbered(&self.path, number),
            };
            let named =
                PathContent::open(&path).map_err(|source| ReadAuditError::File { path, source })?;
            match named {
                PathContent::Log(new)
                    if logs.iter().all(|log| log.fingerprint != new.fingerprint) =>
                {
                    logs.push(new);
                }
                PathContent::Log(_) | PathContent::Nothing => {}
                PathContent::NoFile => no_files += 1,
            }
        }
        Ok(Opened { logs, no_files })
    }
}

impl PathContent {
    fn open(path: &Path) -> io::Result<Self> {
        // Without `O_NONBLOCK`, opening a pipe blocks until another process writes to it.
        let at_once = OFlags::NONBLOCK.bits().cast_signed();
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(at_once)
            .open(path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Nothing),
            // The file is a socket.
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

/// Reads lines from a position towards the beginning. Returns the position at which the function
/// stopped.
fn read_back(
    log: &Log,
    end: u64,
    page: &mut Page<'_>,
    budget: &mut usize,
) -> io::Result<(SearchStep, u64)> {
    let mut back = Backwards::new(log, end);
    loop {
        let line = back.line();
        // The bytes before this position are older.
        let before = back.start + back.held.len() as u64;
        match line {
            Some(line) => match page.take(&line) {
                SearchStep::Continue => {}
                older => return Ok((older, before)),
            },
            None if back.start == 0 => return Ok((SearchStep::Continue, 0)),
            None if *budget == 0 => return Ok((SearchStep::EndPage, before)),
            None => {
                *budget = budget.saturating_sub(back.read_more()?);
                page.unreadable += u64::from(back.drop_too_long());
            }
        }
    }
}

/// A reader of lines, from the end of a file towards the beginning.
struct Backwards<'a> {
    file: &'a File,
    /// Offset in the file at which `held` begins.
    start: u64,
    held: Vec<u8>,
    /// True if the last line in `held` is incomplete, because the end of the line was not read or
    /// was dropped.
    torn: bool,
}

impl<'a> Backwards<'a> {
    fn new(log: &'a Log, end: u64) -> Self {
        Self {
            file: &log.file,
            start: end,
            held: Vec::new(),
            // The byte after the line shows whether the line is complete.
            torn: true,
        }
    }

    /// Returns the last complete line without its newline. Returns `None` if the beginning of the
    /// line has not been read.
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
        debug_assert_eq!(*end, b'\n', "the buffer ends with a complete line");
        let begin = match lines.iter().rposition(|byte| *byte == b'\n') {
            Some(end_before) => end_before + 1,
            None if self.start == 0 => 0,
            None => return None,
        };
        let line = lines[begin..].to_vec();
        self.held.truncate(begin);
        Some(line)
    }

    /// Reads the previous block. Returns the length of the block in bytes.
    fn read_more(&mut self) -> io::Result<usize> {
        let length = usize::try_from(self.start).unwrap_or(BLOCK).min(BLOCK);
        let mut block = vec![0; length];
        self.start -= length as u64;
        self.file.read_exact_at(&mut block, self.start)?;
        block.append(&mut self.held);
        self.held = block;
        Ok(length)
    }

    /// Drops a line that is longer than [`LINE`].
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
