//! What the kernel says about a process.

use std::fs;
use std::io;
use std::time::Duration;

/// Why a process could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    /// The kernel's file could not be read.
    #[error("read /proc/{id}/{file}")]
    Read {
        id: u32,
        file: &'static str,
        source: io::Error,
    },
    /// The file does not hold what it should.
    #[error("/proc/{id}/{file} lacks {what}")]
    Lacks {
        id: u32,
        file: &'static str,
        what: &'static str,
    },
}

fn read(id: u32, file: &'static str) -> Result<String, ProcessError> {
    fs::read_to_string(format!("/proc/{id}/{file}")).map_err(|source| ProcessError::Read {
        id,
        file,
        source,
    })
}

/// The memory that a process holds, in KiB (`VmRSS`).
pub(crate) fn rss_kib(id: u32) -> Result<f64, ProcessError> {
    read(id, "status")?
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|value| value.trim().strip_suffix(" kB"))
        .and_then(|number| number.trim().parse().ok())
        .ok_or(ProcessError::Lacks {
            id,
            file: "status",
            what: "VmRSS",
        })
}

/// The CPU time that a process has used, all its threads together, to 10 ms.
pub(crate) fn cpu(id: u32) -> Result<Duration, ProcessError> {
    let lacks = || ProcessError::Lacks {
        id,
        file: "stat",
        what: "utime and stime",
    };
    let text = read(id, "stat")?;
    // The name, in parentheses, may itself contain spaces.
    let fields: Vec<&str> = text
        .rsplit_once(')')
        .ok_or_else(lacks)?
        .1
        .split_whitespace()
        .collect();
    let ticks = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<u64>().ok())
    };
    let used = ticks(11)
        .zip(ticks(12))
        .map(|(user, system)| user + system)
        .ok_or_else(lacks)?;
    // The unit of these fields is 1/100 s on every architecture that Linux has.
    Ok(Duration::from_millis(used * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_and_time_are_seen() {
        let id = std::process::id();
        assert!(rss_kib(id).unwrap() > 100.0);
        let start = cpu(id).unwrap();
        let mut sum = 0_u64;
        while cpu(id).unwrap() < start + Duration::from_millis(30) {
            sum = sum.wrapping_add((0..100_000_u64).fold(sum, u64::wrapping_add));
        }
        assert!(sum != 1);
    }
}
