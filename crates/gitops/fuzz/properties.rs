//! Properties of the crate `drover-gitops` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use std::collections::BTreeMap;

use drover_api::fleet::GitRepo;
use drover_gitops::fleet_yaml::{FleetYaml, GitChart, Limits, Tree, read_repository};
use drover_gitops::ids::{Manifest, bundle_values};
use drover_gitops::rollout;
use drover_gitops::schedule::Cron;
use drover_gitops::targeting::Targeting;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Checks that a fleet.yaml is parsed without panic, and that its bundle can be targeted and rolled out.
pub(crate) fn fleet_yaml(data: &[u8]) {
    let Ok(yaml) = FleetYaml::parse(data) else {
        return;
    };
    let bundle = drover_api::fleet::Bundle {
        spec: yaml.spec,
        ..Default::default()
    };
    let _ = Targeting::new(&bundle);
    let _ = rollout::plan(bundle.spec.rollout_strategy.as_ref(), &[]);
    let _ = bundle_values(&bundle).hash;
}

/// Checks that the data of a Content is a manifest within the limit or an error, and that its hash is
/// checked.
pub(crate) fn content(data: &[u8]) {
    let limit = 1 << 16;
    assert!(Manifest::decompress(data, "0", limit).is_err());
    if let Ok(manifest) = Manifest::decompress(data, "", limit) {
        let stored = manifest.compress().map(|data| {
            // The JSON of this program can be longer than the decompressed JSON.
            Manifest::decompress(&data, &manifest.sha256(), u64::MAX)
        });
        assert!(stored.is_ok_and(|read| read.is_ok_and(|read| read == manifest)));
    }
}

/// Checks that a cron expression is parsed without panic, and that its next time is in the future.
pub(crate) fn cron(data: &[u8]) {
    let Ok(cron) = String::from_utf8_lossy(data).parse::<Cron>() else {
        return;
    };
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap_or(TimeZone::UTC);
    let mut after = Timestamp::UNIX_EPOCH;
    for _ in 0..3 {
        let Some(next) = cron.next_after(after, &zone) else {
            return;
        };
        assert!(next > after);
        after = next;
    }
}

/// Checks that the address of a chart is parsed without panic, stays in the repository, and is shown without
/// a password. The shown address is the address of the same repository.
pub(crate) fn git_chart(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Some(Ok(chart)) = GitChart::parse(&text) else {
        return;
    };
    assert!(!chart.folder.split('/').any(|name| name == ".."));
    let shown = chart.notations();
    assert!(shown.iter().all(|it| it.is_ascii()));
    let again = GitChart::parse(&shown[1]).and_then(Result::ok);
    assert!(again.is_none_or(|again| again.address() == shown[0] && !again.has_credential()));
}

/// Checks that files of a hostile repository leave neither the repository nor the limits. Lines `= path`
/// start a file.
pub(crate) fn repository(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut files = BTreeMap::new();
    for part in text.split("= ").skip(1) {
        let (path, content) = part.split_once('\n').unwrap_or((part, ""));
        files.insert(path.to_owned(), content.as_bytes().to_vec());
    }
    let limits = Limits {
        files: 100,
        bytes: 1 << 20,
        depth: 8,
        bundles: 20,
        bundle_bytes: 1 << 20,
    };
    let Ok(tree) = Tree::new(files.clone(), &limits) else {
        return;
    };
    let mut repo = GitRepo::default();
    repo.metadata.name = Some("repo".to_owned());
    let Ok(drafts) = read_repository(&repo, &tree, &limits) else {
        return;
    };
    assert!(drafts.len() <= limits.bundles);
    for draft in drafts {
        let inside = draft
            .files()
            .iter()
            .all(|(_, content)| files.values().any(|it| it == content));
        assert!(inside);
        if draft.charts().is_empty() {
            let bundle = draft.finish(&BTreeMap::new(), &[]);
            let resources = bundle
                .map(|bundle| bundle.spec.resources)
                .unwrap_or_default();
            assert_eq!(Manifest { resources }.id().len(), 63);
        }
    }
}
