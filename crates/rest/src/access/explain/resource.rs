//! Resolves resource names by the rules of kubectl.

use thiserror::Error;

/// Maximum edit distance between a name and the suggested name.
const MAX_DISTANCE: usize = 2;

/// A resource of a cluster with its names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    /// API group. Empty for the core group.
    pub(super) group: String,
    /// Served versions. Empty if the versions are not known.
    pub(super) versions: Vec<String>,
    /// Plural name, for example `deployments`.
    pub(super) plural: String,
    /// Singular name, for example `deployment`.
    pub(super) singular: String,
    /// Short names, for example `deploy`.
    pub(super) short: Vec<String>,
    /// Subresources, for example `scale`. `None` if the subresources are not known.
    pub(super) subresources: Option<Vec<String>>,
}

impl Kind {
    /// Returns the unambiguous name in kubectl's syntax: `deployments.apps`.
    fn qualified(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        [&self.plural, &self.singular]
            .into_iter()
            .chain(&self.short)
    }
}

/// A resource as RBAC rules identify it: group, plural name and subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    /// API group. Empty for the core group.
    pub(super) group: String,
    /// Plural name.
    pub(super) plural: String,
    /// Subresource. Empty for the resource itself.
    pub(super) subresource: String,
}

/// Reasons why a resource name cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum UnknownResource {
    /// The cluster does not serve the resource.
    #[error(
        "the cluster has no resource {text:?}{suggestion}",
        suggestion = did_you_mean(.near.as_ref())
    )]
    NotServed {
        /// The name in the request.
        text: String,
        /// The suggested name.
        near: Option<String>,
    },
    /// The resource is not a built-in resource of Kubernetes, and the cluster's discovery is not
    /// available.
    #[error(
        "{text:?} is not a built-in resource of Kubernetes, and the cluster's discovery is not \
         available ({reason}){suggestion}; for a custom resource, add the API group, for example \
         widgets.example.com",
        suggestion = did_you_mean(.near.as_ref())
    )]
    NotBuiltIn {
        /// The name in the request.
        text: String,
        /// The reason why the cluster's discovery is not available.
        reason: String,
        /// The suggested name.
        near: Option<String>,
    },
}

fn did_you_mean(name: Option<&String>) -> String {
    name.map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

/// The resources that a name can refer to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Served<'a> {
    /// All resources of the cluster, in the order of its API server's preference.
    All(&'a [Kind]),
    /// Kubernetes' built-in resources, and the reason why the cluster's discovery is not available.
    BuiltIn(&'a [Kind], &'a str),
}

/// Resolves the name of a resource. The name is a plural, singular or short name, `resource.group`
/// or `resource.version.group`. A `/subresource` is optional. The name `*` matches all resources.
pub(super) fn resolve(
    text: &str,
    group: Option<&str>,
    served: Served<'_>,
) -> Result<Resource, UnknownResource> {
    let (named, subresource) = text.split_once('/').unwrap_or((text, ""));
    let named = named.to_ascii_lowercase();
    if named == "*" {
        return Ok(Resource {
            group: group.unwrap_or("*").to_owned(),
            plural: named,
            subresource: subresource.to_owned(),
        });
    }
    let (Served::All(kinds) | Served::BuiltIn(kinds, _)) = served;
    match find(kinds, &named, group) {
        Some(kind) => with_subresource(kind, text, subresource),
        None => unknown(text, &named, group, subresource, served),
    }
}

fn find<'k>(kinds: &'k [Kind], named: &str, group: Option<&str>) -> Option<&'k Kind> {
    if group.is_some() {
        return find_by_name(kinds, named, |kind| Some(kind.group.as_str()) == group);
    }
    let Some((name, rest)) = named.split_once('.') else {
        return find_by_name(kinds, named, |_| true);
    };
    let by_version = rest.split_once('.').and_then(|(version, group)| {
        let matches =
            |kind: &Kind| kind.group == group && kind.versions.iter().any(|one| one == version);
        find_by_name(kinds, name, matches)
    });
    by_version.or_else(|| find_by_name(kinds, name, |kind| kind.group == rest))
}

/// Returns the first resource with this name. Plural names have priority over singular names, and
/// singular names over short names.
fn find_by_name<'k>(
    kinds: &'k [Kind],
    name: &str,
    fits: impl Fn(&Kind) -> bool,
) -> Option<&'k Kind> {
    let first = |has_name: fn(&Kind, &str) -> bool| {
        let mut kinds = kinds.iter().filter(|kind| fits(kind));
        kinds.find(|kind| has_name(kind, name))
    };
    first(|kind, name| kind.plural == name)
        .or_else(|| first(|kind, name| kind.singular == name))
        .or_else(|| first(|kind, name| kind.short.iter().any(|short| short == name)))
}

fn with_subresource(
    kind: &Kind,
    text: &str,
    subresource: &str,
) -> Result<Resource, UnknownResource> {
    let known = kind.subresources.as_ref();
    let known = known.filter(|_| !matches!(subresource, "" | "*"));
    if let Some(known) = known.filter(|known| known.iter().all(|one| one != subresource)) {
        let near = nearest(known.iter(), subresource, |one| one);
        let near = near.map(|one| format!("{}/{one}", kind.plural));
        let text = text.to_owned();
        return Err(UnknownResource::NotServed { text, near });
    }
    Ok(Resource {
        group: kind.group.clone(),
        plural: kind.plural.clone(),
        subresource: subresource.to_owned(),
    })
}

fn unknown(
    text: &str,
    named: &str,
    group: Option<&str>,
    subresource: &str,
    served: Served<'_>,
) -> Result<Resource, UnknownResource> {
    let (kinds, reason) = match served {
        Served::All(kinds) => (kinds, None),
        Served::BuiltIn(kinds, reason) => (kinds, Some(reason)),
    };
    let (name, rest) = named.split_once('.').unwrap_or((named, ""));
    let custom = group
        .or_else(|| Some(without_version(rest)))
        .filter(|group| group.contains('.'));
    let is_kubernetes = |group: &str| kinds.iter().any(|kind| kind.group == group);
    if let Some(group) = custom.filter(|group| reason.is_some() && !is_kubernetes(group)) {
        // The group identifies a custom resource, even without the cluster's discovery.
        return Ok(Resource {
            group: group.to_owned(),
            plural: name.to_owned(),
            subresource: subresource.to_owned(),
        });
    }
    let known = kinds
        .iter()
        .flat_map(|kind| kind.names().map(move |name| (name, kind)));
    let near = nearest(known, name, |(name, _)| name);
    let near = near.map(|(_, kind)| kind.qualified());
    let text = text.to_owned();
    Err(match reason {
        None => UnknownResource::NotServed { text, near },
        Some(reason) => UnknownResource::NotBuiltIn {
            text,
            reason: reason.to_owned(),
            near,
        },
    })
}

/// Removes the version: `v1.example.com` becomes `example.com`.
fn without_version(rest: &str) -> &str {
    let is_version = |text: &str| {
        let digits = text.strip_prefix('v');
        digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
    };
    match rest.split_once('.') {
        Some((version, group)) if is_version(version) => group,
        _ => rest,
    }
}

/// Returns the name with the smallest edit distance. If several names have this distance, returns
/// the first.
fn nearest<T>(all: impl Iterator<Item = T>, name: &str, of: fn(&T) -> &str) -> Option<T> {
    let near = all.filter_map(|one| {
        let distance = distance(of(&one), name);
        // Do not suggest a name that differs in half of the letters.
        let near = distance <= MAX_DISTANCE && 2 * distance < name.len();
        near.then_some((distance, one))
    });
    let nearest = near.min_by_key(|(distance, _)| *distance);
    nearest.map(|(_, one)| one)
}

/// Returns the Levenshtein distance. If the lengths differ by more than [`MAX_DISTANCE`], returns a
/// larger number than [`MAX_DISTANCE`].
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len().abs_diff(other.len()) > MAX_DISTANCE {
        return MAX_DISTANCE + 1;
    }
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, b) in other.iter().enumerate() {
            let replaced = above[column] + usize::from(a != b);
            line.push(replaced.min(above[column + 1] + 1).min(line[column] + 1));
        }
        above = line;
    }
    above[other.len()]
}

#[cfg(test)]
mod tests;
