//! A fetcher with the real worker program.

use std::path::Path;
use std::time::Duration;

use drover_git::{Checkout, Fetcher, FetcherSettings, Limits};
use tempfile::TempDir;

/// A fetcher and its cache.
pub(crate) struct TestFetcher {
    pub(crate) fetcher: Fetcher,
    pub(crate) cache: TempDir,
}

impl std::ops::Deref for TestFetcher {
    type Target = Fetcher;

    fn deref(&self) -> &Fetcher {
        &self.fetcher
    }
}

/// Returns the limits of tests.
pub(crate) fn limits() -> Limits {
    Limits {
        // Other tests on the machine can delay a transfer by more than 30 s.
        wall_time: Duration::from_mins(2),
        cpu_time: Duration::from_secs(30),
        ..Limits::default()
    }
}

/// Creates a fetcher with an empty cache.
pub(crate) fn fetcher() -> TestFetcher {
    fetcher_with(limits())
}

/// Creates a fetcher with an empty cache and these limits.
pub(crate) fn fetcher_with(limits: Limits) -> TestFetcher {
    let cache = TempDir::new().unwrap();
    TestFetcher {
        fetcher: fetcher_at(
            cache.path(),
            limits,
            env!("CARGO_BIN_EXE_drover-git-worker"),
            &[],
        ),
        cache,
    }
}

/// Creates a fetcher with any program as the worker.
pub(crate) fn fetcher_at(
    cache: &Path,
    limits: Limits,
    program: &str,
    arguments: &[&str],
) -> Fetcher {
    Fetcher::new(FetcherSettings {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        cache_dir: cache.to_owned(),
        limits,
        max_workers: 2,
    })
}

/// Returns the paths of all files.
pub(crate) fn paths(checkout: &Checkout) -> Vec<&str> {
    checkout.files.keys().map(String::as_str).collect()
}

/// Returns the content of a file as text.
pub(crate) fn text<'a>(checkout: &'a Checkout, path: &str) -> &'a str {
    std::str::from_utf8(&checkout.files[path]).unwrap()
}

/// Returns a text with this many numbers of up to 16 digits, which compresses badly.
pub(crate) fn incompressible(numbers: u64) -> String {
    let mut text = String::new();
    for number in 0..numbers {
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        std::fmt::Write::write_fmt(&mut text, format_args!("{mixed:x}")).unwrap();
    }
    text
}
