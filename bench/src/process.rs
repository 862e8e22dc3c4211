//! Reads the memory and CPU usage of a process, and stops a process gracefully.

use std::fs;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use drover_e2e::{ProgramError, Running};

/// Timeout of the graceful stop of a program. The server waits up to 15 s for its background tasks.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// The reason why a process cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    /// A file in /proc cannot be read.
    #[error("cannot read /proc/{id}/{file}")]
    Read {
        id: u32,
        file: &'static str,
        source: io::Error,
    },
    /// A required field is missing in a file in /proc.
    #[error("cannot parse /proc/{id}/{file}: the field {field} is missing")]
    Lacks {
        id: u32,
        file: &'static str,
        field: &'static str,
    },
    /// A program cannot be stopped.
    #[error(transparent)]
    Stop(#[from] ProgramError),
    /// A program failed, or did not end before the timeout.
    #[error("{name} did not stop gracefully within {limit} s ({status})", limit = STOP_TIMEOUT.as_secs())]
    NotGraceful { name: String, status: ExitStatus },
}

/// Stops a program gracefully. An instrumented program writes its profile at a graceful end only.
pub(crate) async fn stop(running: &mut Running) -> Result<(), ProcessError> {
    let status = running.terminate(STOP_TIMEOUT).await?;
    if status.success() {
        return Ok(());
    }
    let name = running.name().to_owned();
    Err(ProcessError::NotGraceful { name, status })
}

fn read(id: u32, file: &'static str) -> Result<String, ProcessError> {
    fs::read_to_string(format!("/proc/{id}/{file}")).map_err(|source| ProcessError::Read {
        id,
        file,
        source,
    })
}

/// Returns the resident memory of a process (`VmRSS`), in KiB.
pub(crate) fn rss_kib(id: u32) -> Result<f64, ProcessError> {
    memory_kib(id, "VmRSS")
}

/// Returns the largest resident memory of a process since its start (`VmHWM`), in KiB.
pub(crate) fn peak_rss_kib(id: u32) -> Result<f64, ProcessError> {
    memory_kib(id, "VmHWM")
}

fn memory_kib(id: u32, field: &'static str) -> Result<f64, ProcessError> {
    read(id, "status")?
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|value| value.trim().strip_suffix(" kB"))
        .and_then(|number| number.trim().parse().ok())
        .ok_or(ProcessError::Lacks {
            id,
            file: "status",
            field,
        })
}

/// Returns the CPU time of all threads of a process, with a resolution of 10 ms.
pub(crate) fn cpu(id: u32) -> Result<Duration, ProcessError> {
    let lacks = || ProcessError::Lacks {
        id,
        file: "stat",
        field: "utime and stime",
    };
    let text = read(id, "stat")?;
    // The name is in parentheses and can contain spaces, so parse the fields after it.
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
    // The unit of these fields is 1/100 s on all architectures of Linux.
    Ok(Duration::from_millis(used * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_memory_and_cpu_time_of_a_process_are_positive() {
        let id = std::process::id();
        assert!(rss_kib(id).unwrap() > 100.0);
        assert!(peak_rss_kib(id).unwrap() > 100.0);
        let start = cpu(id).unwrap();
        let mut sum = 0_u64;
        while cpu(id).unwrap() < start + Duration::from_millis(30) {
            sum = sum.wrapping_add((0..100_000_u64).fold(sum, u64::wrapping_add));
        }
        assert!(sum != 1);
    }
}
