//! The worker as a separate program, for tests. The server starts its own program instead.

fn main() -> std::io::Result<()> {
    drover_git::worker_main(std::io::stdin().lock(), std::io::stdout().lock())
}
