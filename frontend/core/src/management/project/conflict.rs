//! Merges edit conflicts of projects.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::rest::ProjectView;

use super::draft::{Draft, TypedPair, level};
use crate::messages::t;

/// A part of a project that is merged independently.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProjectPart {
    DisplayName,
    Description,
    Namespace(String),
    Quota(String),
    NamespaceQuota(String),
    Request(String),
    Limit(String),
    PodSecurity,
}

type OfResource = fn(String) -> ProjectPart;

impl ProjectPart {
    fn words(&self) -> String {
        match self {
            Self::DisplayName => t().labels.display_name().to_owned(),
            Self::Description => t().labels.description().to_owned(),
            Self::Namespace(name) => t().projects.part_namespace(name),
            Self::Quota(resource) => t().projects.part_quota(resource),
            Self::NamespaceQuota(resource) => t().projects.part_namespace_quota(resource),
            Self::Request(resource) => t().projects.part_request(resource),
            Self::Limit(resource) => t().projects.part_limit(resource),
            Self::PodSecurity => t().projects.pod_security().to_owned(),
        }
    }
}

impl Draft {
    /// Merges a draft, which is based on `before`, with the stored version `now`. Returns the
    /// merged draft, and the changes in `now` as text. If both versions changed a value, the result
    /// contains the draft's value.
    pub fn merged_into(&self, before: &ProjectView, now: &ProjectView) -> (Self, Vec<String>) {
        let (theirs, mine) = (Self::of(now), self.parts());
        let (before, after) = (Self::of(before).parts(), theirs.parts());
        let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let (mut draft, mut changes) = (self.clone(), Vec::new());
        for part in all {
            let [was, is, typed] = [&before, &after, &mine].map(|parts| parts.get(part));
            if was == is {
                continue;
            }
            let mut words = match (was, is) {
                (Some(was), Some(is)) => t().projects.part_changed(&part.words(), is, was),
                (None, Some(is)) => t().projects.part_set(&part.words(), is),
                (_, None) => t().projects.part_removed(&part.words()),
            };
            if typed == was {
                draft.take(part, &theirs, is);
            } else if typed != is {
                words.push_str(&t().projects.part_yours(typed.map(String::as_str)));
            }
            changes.push(words);
        }
        (draft, changes)
    }

    fn parts(&self) -> BTreeMap<ProjectPart, String> {
        let texts = [
            (ProjectPart::DisplayName, self.display_name.trim()),
            (ProjectPart::Description, self.description.trim()),
            (
                ProjectPart::PodSecurity,
                self.pod_security.map_or("", level),
            ),
        ];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        let texts = texts.map(|(part, text)| (part, text.to_owned()));
        let namespaces = self.namespaces().into_iter().map(|it| {
            let how = if it.adopt {
                t().projects.adopted()
            } else {
                t().projects.to_create()
            };
            (ProjectPart::Namespace(it.name), how.to_owned())
        });
        let (quota, defaults) = (self.quota(), self.defaults());
        let amounts: [(OfResource, _); 4] = [
            (ProjectPart::Quota, quota.project),
            (ProjectPart::NamespaceQuota, quota.namespace),
            (ProjectPart::Request, defaults.requests),
            (ProjectPart::Limit, defaults.limits),
        ];
        let amounts = amounts.into_iter().flat_map(|(part, amounts)| {
            let amounts = amounts.into_iter();
            amounts.map(move |(resource, amount)| (part(resource), amount))
        });
        texts.chain(namespaces).chain(amounts).collect()
    }

    /// Sets a part of the draft to the value in the stored version.
    fn take(&mut self, part: &ProjectPart, theirs: &Self, value: Option<&String>) {
        let value = value.cloned().unwrap_or_default();
        match part {
            ProjectPart::DisplayName => self.display_name = value,
            ProjectPart::Description => self.description = value,
            ProjectPart::PodSecurity => self.pod_security = theirs.pod_security,
            ProjectPart::Namespace(name) => {
                let lists = [
                    (&mut self.made, &theirs.made),
                    (&mut self.adopted, &theirs.adopted),
                ];
                for (mine, theirs) in lists {
                    let others = mine.lines().filter(|line| line.trim() != name);
                    let taken = theirs.lines().filter(|line| *line == name);
                    *mine = others.chain(taken).collect::<Vec<_>>().join("\n");
                }
            }
            ProjectPart::Quota(resource) => pair(&mut self.quota, resource).first = value,
            ProjectPart::NamespaceQuota(resource) => pair(&mut self.quota, resource).second = value,
            ProjectPart::Request(resource) => pair(&mut self.defaults, resource).first = value,
            ProjectPart::Limit(resource) => pair(&mut self.defaults, resource).second = value,
        }
    }
}

fn pair<'a>(pairs: &'a mut Vec<TypedPair>, resource: &str) -> &'a mut TypedPair {
    let known = pairs.iter().position(|it| it.resource == resource);
    let at = known.unwrap_or_else(|| {
        pairs.push(TypedPair {
            resource: resource.to_owned(),
            ..TypedPair::default()
        });
        pairs.len() - 1
    });
    &mut pairs[at]
}

#[cfg(test)]
mod tests {
    use super::super::tests::shop;
    use super::*;

    #[test]
    fn concurrent_changes_of_different_project_fields_are_merged() {
        let before = shop();
        let mut mine = Draft::of(&before);
        mine.made = "shop-web\nshop-db\nshop-mail".to_owned();
        mine.description = "Sells".to_owned();
        let mut now = shop();
        now.generation = Some(5);
        now.namespaces.remove(1);
        let quota = now.quota.as_mut().unwrap();
        quota.project.insert("services".to_owned(), "3".to_owned());
        let (merged, changes) = mine.merged_into(&before, &now);
        assert_eq!(merged.made, "shop-web\nshop-mail");
        let expected = [
            "Namespace shop-db: removed",
            "Quota of services, project total: 3",
        ];
        assert_eq!(changes, expected);
        let patch = merged.patch(&now);
        assert_eq!(patch.generation, Some(5));
        assert_eq!(patch.description.as_deref(), Some("Sells"));
        assert_eq!(patch.quota, None, "the quota equals the stored quota");
        assert_eq!(patch.namespaces.unwrap().len(), 2);
    }

    #[test]
    fn concurrent_change_of_one_project_field_is_reported_and_preserves_the_draft() {
        let before = shop();
        let mut mine = Draft::of(&before);
        mine.display_name = "Store".to_owned();
        let now = ProjectView {
            display_name: Some("Market".to_owned()),
            ..shop()
        };
        let (merged, changes) = mine.merged_into(&before, &now);
        assert_eq!(merged.display_name, "Store");
        assert_eq!(
            changes,
            ["Display name: Market, before: The shop; your value: Store"]
        );
    }
}
