//! Memory settings for a hundred clusters in one process.

/// Disables huge pages for the process: the clusters' many small heaps are sparse, and huge pages
/// would waste a third of the memory.
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
