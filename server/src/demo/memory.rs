//! Memory settings of a process with many simulated clusters.

/// Disables transparent huge pages for the process. Each cluster has many small heaps, and huge
/// pages leave a third of the memory unused.
pub fn in_small_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "failed to disable huge pages; the process uses more memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_process_disables_transparent_huge_pages() {
        let elsewhere = std::thread::spawn(in_small_pages).join();
        elsewhere.unwrap();
        assert!(rustix::thread::transparent_huge_pages_are_disabled().unwrap());
    }
}
