//! Documents name what there is.

use std::path::Path;

use crate::{files, members, read, root};

#[test]
fn architecture_names_every_room() {
    let architecture = read("docs/ARCHITECTURE.md");
    for member in members() {
        assert!(
            architecture.contains(&format!("`{}`", member.folder)),
            "docs/ARCHITECTURE.md does not name `{}`",
            member.folder
        );
    }
}

/// The relative links `[text](target)` of a Markdown text.
fn links(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#', ' ']).next())
        .filter(|target| {
            !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    for file in files(".md") {
        let folder = Path::new(&file).parent().unwrap();
        for link in links(&read(&file)) {
            let target = root().join(folder).join(&link);
            assert!(
                target.exists(),
                "{file} links to {link}, which is not there"
            );
        }
    }
}

#[test]
fn make_targets_that_documents_name_exist() {
    let makefile = read("Makefile");
    for file in files(".md") {
        for target in read(&file)
            .split("`make ")
            .skip(1)
            .filter_map(|rest| rest.split(['`', ' ']).next())
        {
            assert!(
                makefile.contains(&format!("\n{target}:")),
                "{file} names `make {target}`, which the Makefile does not know"
            );
        }
    }
}

#[test]
fn decisions_are_numbered_without_a_gap() {
    let mut numbers: Vec<usize> = files(".md")
        .iter()
        .filter_map(|file| file.strip_prefix("docs/adr/"))
        .map(|name| name[..4].parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>());
}
