//! Which resource a text names, as kubectl resolves it.

use thiserror::Error;

/// Names that are this different at most are suggested.
const NEAR: usize = 2;

/// A resource that can be named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    /// Empty for the core group.
    pub(super) group: String,
    /// Its versions; empty if they are not known.
    pub(super) versions: Vec<String>,
    /// Such as `deployments`.
    pub(super) plural: String,
    /// Such as `deployment`.
    pub(super) singular: String,
    /// Such as `deploy`.
    pub(super) short: Vec<String>,
    /// Such as `scale`; `None` if they are not known.
    pub(super) subresources: Option<Vec<String>>,
}

impl Kind {
    /// The name with which kubectl means this resource and no other: `deployments.apps`.
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

/// A resource as rules name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    /// Empty for the core group.
    pub(super) group: String,
    /// The plural.
    pub(super) plural: String,
    /// Empty for the objects themselves.
    pub(super) subresource: String,
}

/// Why a text names no resource.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum UnknownResource {
    /// The cluster was asked, and does not serve it.
    #[error("the cluster has no resource {text:?}{}", did_you_mean(.near.as_ref()))]
    NotServed {
        /// What was asked for.
        text: String,
        /// What is called nearly so.
        near: Option<String>,
    },
    /// The cluster could not be asked.
    #[error(
        "{text:?} is no resource of Kubernetes itself, and the cluster cannot be asked for its own \
         ({why}){}; name a custom resource with its group, such as widgets.example.com",
        did_you_mean(.near.as_ref())
    )]
    NotBuiltIn {
        /// What was asked for.
        text: String,
        /// Why the cluster could not be asked.
        why: String,
        /// What is called nearly so.
        near: Option<String>,
    },
}

fn did_you_mean(name: Option<&String>) -> String {
    name.map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

/// What is known of a cluster's resources.
#[derive(Clone, Copy, Debug)]
pub(super) enum Served<'a> {
    /// All of them, in the order in which its API server prefers them.
    All(&'a [Kind]),
    /// Kubernetes' own, as the cluster cannot be asked for this reason.
    BuiltIn(&'a [Kind], &'a str),
}

/// The resource that is meant by a plural, a singular, a short name, `resource.group` or
/// `resource.version.group`, each with `/subresource` if wished; `*` stands for all.
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
        return called(kinds, named, |kind| Some(kind.group.as_str()) == group);
    }
    let Some((name, rest)) = named.split_once('.') else {
        return called(kinds, named, |_| true);
    };
    let by_version = rest.split_once('.').and_then(|(version, group)| {
        let is_meant =
            |kind: &Kind| kind.group == group && kind.versions.iter().any(|one| one == version);
        called(kinds, name, is_meant)
    });
    by_version.or_else(|| called(kinds, name, |kind| kind.group == rest))
}

/// The first resource of this name: a plural before a singular before a short name.
fn called<'k>(kinds: &'k [Kind], name: &str, fits: impl Fn(&Kind) -> bool) -> Option<&'k Kind> {
    let first = |is_called: fn(&Kind, &str) -> bool| {
        let mut kinds = kinds.iter().filter(|kind| fits(kind));
        kinds.find(|kind| is_called(kind, name))
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
    let (kinds, why) = match served {
        Served::All(kinds) => (kinds, None),
        Served::BuiltIn(kinds, why) => (kinds, Some(why)),
    };
    let (name, rest) = named.split_once('.').unwrap_or((named, ""));
    let custom = group
        .or_else(|| Some(without_version(rest)))
        .filter(|group| group.contains('.'));
    let is_kubernetes = |group: &str| kinds.iter().any(|kind| kind.group == group);
    if let Some(group) = custom.filter(|group| why.is_some() && !is_kubernetes(group)) {
        // A custom resource of a cluster that cannot be asked: the group leaves no doubt.
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
    Err(match why {
        None => UnknownResource::NotServed { text, near },
        Some(why) => UnknownResource::NotBuiltIn {
            text,
            why: why.to_owned(),
            near,
        },
    })
}

/// `example.com` of `v1.example.com`.
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

/// What is called nearly so: the nearest, and of several the first.
fn nearest<T>(all: impl Iterator<Item = T>, name: &str, of: fn(&T) -> &str) -> Option<T> {
    let near = all.filter_map(|one| {
        let distance = distance(of(&one), name);
        // Two letters may be any other two.
        let near = distance <= NEAR && 2 * distance < name.len();
        near.then_some((distance, one))
    });
    let nearest = near.min_by_key(|(distance, _)| *distance);
    nearest.map(|(_, one)| one)
}

/// How many letters are inserted, deleted or replaced at least (Levenshtein); more than [`NEAR`] if
/// the lengths tell it already.
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len().abs_diff(other.len()) > NEAR {
        return NEAR + 1;
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
