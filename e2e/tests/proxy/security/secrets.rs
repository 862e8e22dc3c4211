//! Attack group 25: logs must not contain secrets. The test runs last, because the previous tests
//! create the secrets.

use std::path::{Path, PathBuf};

use drover_e2e::{CommandLine, World};

use super::registration::token_in;
use crate::wire;

/// Asserts that no secret of this test run is in a log, an audit log or a metric.
pub(crate) async fn logs_and_metrics_contain_no_secrets(world: &mut World) {
    let session = format!("Authorization: Bearer {}", session(world));
    let secrets = secrets(world);
    assert!(secrets.len() >= 4, "only {} secrets known", secrets.len());
    let url = format!("{}/metrics", world.server.url());
    let curl = CommandLine::new(Path::new("curl"), world.kubeconfig(), world.admin.home());
    let words = [
        "--silent",
        "--insecure",
        "--fail",
        "--header",
        &session,
        &url,
    ];
    let metrics = curl.run(words).await.unwrap().stdout;
    assert!(metrics.contains("drover"), "{metrics}");
    let mut places = vec![("the metrics".to_owned(), metrics)];
    for folder in [world.hub.logs(), world.east.cluster.logs()] {
        places.extend(files_below(&folder).into_iter().map(|file| {
            let bytes = std::fs::read(&file).unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            (file.display().to_string(), text)
        }));
    }
    let first = world.server.first_password().unwrap();
    let mut found = Vec::new();
    for (place, text) in &places {
        for (case, secret) in &secrets {
            if text.contains(secret.as_str()) {
                found.push(format!("{case} in {place}"));
            }
        }
        // The server prints the first password once, at its first start.
        let allowed = usize::from(place.contains("server-"));
        if text.matches(&first).count() > allowed {
            found.push(format!("the first password in {place}"));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns the passwords and the token secrets that this run used or stored. Each item contains a
/// description and the secret.
fn secrets(world: &World) -> Vec<(String, String)> {
    let mut secrets = vec![(
        "the administrator's password".to_owned(),
        world.admin.password.clone(),
    )];
    let import = token_in(world.east.manifest());
    let secret = import.rsplit('_').next().unwrap().to_owned();
    secrets.push(("the registration token".to_owned(), secret));
    let homes = world.admin.home().parent().unwrap();
    for file in files_below(homes) {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for (at, _) in text.match_indices("drover_") {
            let token = text[at..]
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .next();
            let secret = token.unwrap_or_default().splitn(3, '_').nth(2);
            if let Some(secret) = secret.filter(|secret| secret.len() > 20) {
                secrets.push((format!("a token of {}", file.display()), secret.to_owned()));
            }
        }
    }
    let token = wire::token(world);
    let secret = token.rsplit('_').next().unwrap();
    assert!(
        secrets.iter().any(|(_, known)| known == secret),
        "the test must find the tokens of this run"
    );
    secrets
}

/// Returns the administrator's token from the configuration file of the `drover` CLI.
fn session(world: &World) -> String {
    let file = world.admin.home().join(".config/drover/config.yaml");
    let text = std::fs::read_to_string(file).unwrap();
    let at = text.find("drover_").unwrap();
    let end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    text[at..].split(end).next().unwrap().to_owned()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    files
}
