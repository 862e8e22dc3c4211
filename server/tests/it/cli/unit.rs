//! Tests of the systemd unit and its environment.

use std::path::{Path, PathBuf};

use drover_hub::connect::{HubOptions, ProcessEnvironment};
use drover_hub::embedded::data_dir::DataDir;

use super::program::Drover;

fn unit() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/drover.service");
    std::fs::read_to_string(file).unwrap()
}

/// Returns the environment variables of the unit.
fn environment(unit: &str) -> Vec<(&str, &str)> {
    let lines = unit.lines();
    let lines = lines.filter_map(|line| line.strip_prefix("Environment="));
    lines.map(|line| line.split_once('=').unwrap()).collect()
}

#[test]
fn systemd_unit_stores_the_hub_in_its_state_directory() {
    let unit = unit();
    assert!(unit.lines().any(|line| line == "StateDirectory=drover"));
    let environment = environment(&unit);
    let data = environment
        .iter()
        .find(|(name, _)| *name == "XDG_DATA_HOME");
    let around = ProcessEnvironment {
        xdg_data_home: data.map(|(_, folder)| PathBuf::from(folder)),
        ..ProcessEnvironment::default()
    };
    let hub = HubOptions::choose(None, None, None, &around).unwrap();
    assert_eq!(hub, HubOptions::Embedded(DataDir::new("/var/lib/drover")));
}

#[tokio::test(flavor = "multi_thread")]
async fn systemd_unit_accepts_an_external_hub() {
    let drover = Drover::new();
    let unit = unit();
    let mut variables = environment(&unit);
    variables.push(("DROVER_LISTEN", "127.0.0.1:0"));
    let hub = ("DROVER_KUBECONFIG", "/nowhere/hub.yaml");
    let variables = [&variables[..], &[hub]].concat();
    let ended = drover.run_with(&["server"], &variables, "").await;
    ended.failed(1, "/nowhere/hub.yaml");
}
