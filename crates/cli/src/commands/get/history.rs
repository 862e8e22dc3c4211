//! Implements `drover history`.

use drover_api::rest::{
    FieldChange, HISTORY_KINDS, HistoryKind, ObjectHistory, ObjectVersion, VersionContent,
};
use jiff::Timestamp;

use crate::args::{Format, HistoryArgs};
use crate::client::{CallError, Refusal};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, encode, list};
use crate::table::{age, or_dash};
use crate::terminal::print;

/// Maximum number of changes of a version in the table.
const MAX_CHANGES: usize = 3;
/// Short names of kinds, as in kubectl.
const SHORT_NAMES: [(&str, &str); 10] = [
    ("deploy", "deployments"),
    ("sts", "statefulsets"),
    ("ds", "daemonsets"),
    ("cj", "cronjobs"),
    ("svc", "services"),
    ("ing", "ingresses"),
    ("cm", "configmaps"),
    ("hpa", "horizontalpodautoscalers"),
    ("netpol", "networkpolicies"),
    ("pdb", "poddisruptionbudgets"),
];

/// Runs `drover history`.
pub(crate) async fn run(args: &HistoryArgs, environment: &Environment) -> Result<(), Failure> {
    let kind = find_kind(&args.kind).ok_or_else(|| unknown_kind(&args.kind))?;
    let client = environment.client(&args.connection)?;
    let mut query = vec![
        ("apiVersion", kind.api_version),
        ("plural", kind.plural),
        ("object", &*args.name),
    ];
    if kind.namespaced {
        query.push(("namespace", &args.namespace));
    }
    let path = ["v1", "clusters", args.cluster.as_str(), "history"];
    let history: ObjectHistory = client.get_with(&path, &query).await?;
    let Some(number) = args.version else {
        let none = "The server has no versions of this object.";
        let text = list(history.versions, args.output.format, Timestamp::now(), none)?;
        return Ok(print(&text)?);
    };
    let mut versions = history.versions.into_iter();
    let object = versions
        .find(|it| it.number == number)
        .and_then(|it| it.object);
    let object = object.ok_or_else(|| unknown_version(number))?;
    Ok(print(&encode(&object, Format::Yaml)?)?)
}

/// Finds a kind by its name, plural or short name.
fn find_kind(wanted: &str) -> Option<&'static HistoryKind> {
    let wanted = wanted.to_lowercase();
    let short = SHORT_NAMES.iter().find(|(short, _)| *short == wanted);
    let wanted = short.map_or(&*wanted, |(_, plural)| plural);
    HISTORY_KINDS
        .iter()
        .find(|kind| kind.plural == wanted || kind.kind.to_lowercase() == wanted)
}

fn unknown_kind(wanted: &str) -> CallError {
    let kinds = HISTORY_KINDS.iter().map(|kind| kind.kind);
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    CallError::Refused(Refusal {
        code: 404,
        reason: "NotFound".to_owned(),
        message: format!("the server records no history of the kind {wanted:?}"),
        advice: Some(format!("Use one of {kinds}.")),
    })
}

fn unknown_version(number: u64) -> CallError {
    CallError::Refused(Refusal {
        code: 404,
        reason: "NotFound".to_owned(),
        message: format!("the server has no content of the version {number}"),
        advice: Some("Run `drover history` without --version for all versions.".to_owned()),
    })
}

impl Listed for ObjectVersion {
    const HEADINGS: &'static [&'static str] = &["VERSION", "AGE", "USERS", "MANAGERS", "CHANGES"];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let managers = self.managers.iter().map(|manager| &*manager.name);
        let managers = managers.collect::<Vec<_>>().join(",");
        vec![
            self.number.to_string(),
            age(self.seen, now),
            or_dash(Some(&self.users.join(","))),
            or_dash(Some(&managers)),
            or_dash(Some(&changes(self))),
        ]
    }
}

fn changes(version: &ObjectVersion) -> String {
    match version.content {
        VersionContent::Deleted => return "deleted".to_owned(),
        VersionContent::TooLarge => return "too large to store".to_owned(),
        VersionContent::Stored => {}
    }
    let shown = version.changes.iter().take(MAX_CHANGES).map(change);
    let mut shown: Vec<_> = shown.collect();
    let further = version.changes.len().saturating_sub(MAX_CHANGES) + version.further_changes;
    if further > 0 {
        shown.push(format!("and {further} more"));
    }
    shown.join(", ")
}

fn change(change: &FieldChange) -> String {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("{} {old:?} -> {new:?}", change.path),
        (None, _) => format!("{} added", change.path),
        (Some(_), None) => format!("{} removed", change.path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_found_by_its_name_plural_and_short_name() {
        for name in ["Deployment", "deployments", "deploy"] {
            assert_eq!(find_kind(name).map(|kind| kind.kind), Some("Deployment"));
        }
        for name in ["secret", "pods", ""] {
            assert_eq!(find_kind(name), None, "{name}");
        }
        let short = SHORT_NAMES.iter().map(|(short, _)| find_kind(short));
        assert!(short.into_iter().all(|kind| kind.is_some()));
    }

    #[test]
    fn table_shows_the_author_and_some_changes() {
        let change = |index: u32| FieldChange {
            path: format!("spec.f{index}"),
            old: Some("1".to_owned()),
            new: Some("2".to_owned()),
        };
        let version = ObjectVersion {
            number: 7,
            seen: Timestamp::UNIX_EPOCH,
            resource_version: "1".to_owned(),
            generation: None,
            uid: "u".to_owned(),
            content: VersionContent::Stored,
            users: vec!["ann".to_owned()],
            managers: Vec::new(),
            changes: (0..4).map(change).collect(),
            further_changes: 1,
            object: None,
        };
        let expected = [
            "7",
            "0s",
            "ann",
            "-",
            r#"spec.f0 "1" -> "2", spec.f1 "1" -> "2", spec.f2 "1" -> "2", and 2 more"#,
        ];
        assert_eq!(version.cells(Timestamp::UNIX_EPOCH), expected);
    }
}
