//! What a hundred clusters in one process take of the machine's memory.

/// Gives memory out in small pages from now on: the clusters' many small heaps touch a little of
/// much, and a third of what huge pages would give them is never used.
pub fn in_small_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages cannot be turned off; more memory is taken");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_off_for_the_whole_process() {
        let elsewhere = std::thread::spawn(in_small_pages).join();
        elsewhere.unwrap();
        assert!(rustix::thread::transparent_huge_pages_are_disabled().unwrap());
    }
}
