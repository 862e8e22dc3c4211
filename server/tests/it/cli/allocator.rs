//! Test of the allocator's settings.

use super::program::Drover;

const CONFIG: &str = include_str!("../../../../.cargo/config.toml");

#[tokio::test]
async fn program_contains_the_allocator_settings_of_the_repository() {
    let line = CONFIG
        .lines()
        .find(|line| line.starts_with("JEMALLOC_SYS_WITH_MALLOC_CONF"));
    let settings = line.unwrap().split('"').nth(1).unwrap();
    // jemalloc prints its settings.
    let env = [("_RJEM_MALLOC_CONF", "confirm_conf:true")];
    let ended = Drover::new().run_with(&["--version"], &env, "").await.ok();
    assert!(ended.err.contains(settings), "{}", ended.err);
    assert!(!ended.err.contains("Invalid conf"), "{}", ended.err);
}
