//! Limits that the operating system enforces on the worker process.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::set_no_new_privs;

use crate::error::GitError;
use crate::limits::Limits;

/// Most open files.
const MAX_FILES: u64 = 256;

/// Sets the limits of a request. The limits of a process can only become smaller.
pub(super) fn apply(limits: &Limits) -> Result<(), GitError> {
    let failed = |error: rustix::io::Errno| GitError::Worker {
        reason: format!("cannot limit the worker process: {error}"),
    };
    // A pack, its index and a margin.
    let file_bytes = limits.pack_bytes.saturating_mul(2).saturating_add(64 << 20);
    for (resource, maximum) in [
        (Resource::As, limits.address_space),
        // SIGXCPU at the first limit names the reason. SIGKILL follows at the second limit.
        (Resource::Cpu, limits.cpu_time.as_secs().max(1)),
        (Resource::Fsize, file_bytes),
        (Resource::Nofile, MAX_FILES),
        // A core file would contain the credentials.
        (Resource::Core, 0),
    ] {
        lower(resource, maximum).map_err(failed)?;
    }
    // Other processes of the same user cannot read the credentials in the memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed)?;
    set_no_new_privs(true).map_err(failed)
}

fn lower(resource: Resource, maximum: u64) -> rustix::io::Result<()> {
    let present = rustix::process::getrlimit(resource);
    let maximum = present
        .maximum
        .map_or(maximum, |present| present.min(maximum));
    let margin = u64::from(matches!(resource, Resource::Cpu));
    let limit = Rlimit {
        current: Some(maximum),
        maximum: Some(
            present
                .maximum
                .map_or(maximum + margin, |present| present.min(maximum + margin)),
        ),
    };
    setrlimit(resource, limit)
}
