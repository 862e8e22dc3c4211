//! Policy rules of RBAC: matches rules with requests, and computes the permissions that a list of
//! rules lacks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// Maximum number of atomic permissions into which [`missing`] expands a rule.
pub const MAX_ATOMS: usize = 100_000;
/// Maximum number of permissions that [`missing`] returns.
pub const MAX_MISSING: usize = 1_000;

/// The resource or path that a rule is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleTarget<'a> {
    /// An API object or a collection. Absent components are empty strings.
    Resource {
        /// API group. Empty for the core group.
        group: &'a str,
        /// The plural resource name, for example `pods`.
        resource: &'a str,
        /// Name of the subresource, for example `status`. Empty for the resource itself.
        subresource: &'a str,
        /// Name of the object. Empty for a collection.
        name: &'a str,
    },
    /// A non-resource path such as `/version`.
    Path(&'a str),
}

/// A rule of an RBAC role (`PolicyRule`).
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    /// Verbs, or `*`.
    pub verbs: Vec<String>,
    /// API groups, or `*`. The core group is the empty string.
    pub groups: Vec<String>,
    /// Resources, such as `pods`, `pods/log`, `*/scale` or `*`.
    pub resources: Vec<String>,
    /// Object names. An empty list allows all objects.
    pub names: Vec<String>,
    /// Non-resource paths; a trailing `*` matches any suffix.
    pub urls: Vec<String>,
}

impl Rule {
    /// Parses a rule of a stored role. Absent fields become empty lists.
    pub fn parse(value: &Value) -> Self {
        Self {
            verbs: strings(&value["verbs"]),
            groups: strings(&value["apiGroups"]),
            resources: strings(&value["resources"]),
            names: strings(&value["resourceNames"]),
            urls: strings(&value["nonResourceURLs"]),
        }
    }

    /// Parses `rules` of a role.
    pub fn parse_all(role: &Value) -> Vec<Self> {
        role["rules"]
            .as_array()
            .map(|rules| rules.iter().map(Self::parse).collect())
            .unwrap_or_default()
    }

    /// Returns the rule as JSON of `PolicyRule`.
    pub fn to_value(&self) -> Value {
        let mut value = json!({ "verbs": self.verbs });
        for (key, list) in [
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.urls),
        ] {
            if !list.is_empty() {
                value[key] = json!(list);
            }
        }
        value
    }

    /// Reports whether the rule allows the verb `verb` for the target. For a path, the verb is the
    /// HTTP method in lower case.
    pub fn allows(&self, verb: &str, target: RuleTarget<'_>) -> bool {
        if !contains(&self.verbs, verb) {
            return false;
        }
        match target {
            RuleTarget::Path(path) => self.urls.iter().any(|url| url_covers(url, path)),
            RuleTarget::Resource {
                group,
                resource,
                subresource,
                name,
            } => {
                contains(&self.groups, group)
                    && self.allows_resource(resource, subresource)
                    && (self.names.is_empty() || self.names.iter().any(|own| own == name))
            }
        }
    }

    fn allows_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|own| {
            let exact = match own.strip_prefix(resource) {
                Some("") => subresource.is_empty(),
                Some(rest) => {
                    rest.strip_prefix('/') == Some(subresource) && !subresource.is_empty()
                }
                None => false,
            };
            let wildcard_resource =
                !subresource.is_empty() && own.strip_prefix("*/") == Some(subresource);
            own == "*" || exact || wildcard_resource
        })
    }

    /// Returns the number of atomic permissions of the rule. An atomic permission has one verb,
    /// group, resource and name.
    pub fn size(&self) -> usize {
        let on_objects = [&self.groups, &self.resources, &self.verbs]
            .iter()
            .fold(self.names.len().max(1), |size, list| {
                size.saturating_mul(list.len())
            });
        on_objects.saturating_add(self.urls.len().saturating_mul(self.verbs.len()))
    }

    /// Expands the rule to atomic permissions. An atomic permission has one verb, group, resource
    /// and name.
    fn atoms(&self) -> impl Iterator<Item = Self> {
        let names = self.names.iter().map(Some);
        let any = self.names.is_empty().then_some(None);
        let names: Vec<Option<&String>> = names.chain(any).collect();
        let on_objects = self.groups.iter().flat_map(move |group| {
            let names = names.clone();
            self.resources.iter().flat_map(move |resource| {
                let names = names.clone();
                self.verbs.iter().flat_map(move |verb| {
                    let names = names.clone().into_iter();
                    names.map(move |name| Self {
                        verbs: vec![verb.clone()],
                        groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        names: name.cloned().into_iter().collect(),
                        urls: Vec::new(),
                    })
                })
            })
        });
        let on_paths = self.urls.iter().flat_map(|url| {
            self.verbs.iter().map(|verb| Self {
                verbs: vec![verb.clone()],
                urls: vec![url.clone()],
                ..Self::default()
            })
        });
        on_objects.chain(on_paths)
    }

    /// Reports whether this rule allows all requests that the rule `atom` allows.
    fn covers(&self, atom: &Self) -> bool {
        let includes = |own: &[String], required: &[String]| {
            required.iter().all(|required| contains(own, required))
        };
        includes(&self.verbs, &atom.verbs)
            && includes(&self.groups, &atom.groups)
            && atom
                .resources
                .iter()
                .all(|required| self.covers_resource(required))
            && atom.urls.iter().all(|required| {
                self.urls
                    .iter()
                    .any(|own| own == required || url_covers(own, required))
            })
            && (self.names.is_empty()
                || (!atom.names.is_empty()
                    && atom
                        .names
                        .iter()
                        .all(|required| self.names.contains(required))))
    }

    fn covers_resource(&self, required: &str) -> bool {
        self.resources.iter().any(|own| {
            own == "*"
                || own == required
                || required
                    .split_once('/')
                    .is_some_and(|(_, sub)| own.strip_prefix("*/") == Some(sub))
        })
    }

    /// Formats the rule in the format of kube-apiserver's privilege escalation errors:
    /// `{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}`.
    pub fn compact(&self) -> String {
        let parts: Vec<String> = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ]
        .iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(name, list)| format!("{name}:{}", quoted_list(list)))
        .collect();
        format!("{{{}}}", parts.join(", "))
    }
}

/// Returns two rules that together allow all requests: one for objects, one for paths.
pub fn everything() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    [
        Rule {
            verbs: all(),
            groups: all(),
            resources: all(),
            ..Rule::default()
        },
        Rule {
            verbs: all(),
            urls: all(),
            ..Rule::default()
        },
    ]
}

/// Returns the permissions of `required` that `owned` does not grant, as at most [`MAX_MISSING`]
/// atomic rules.
///
/// A rule with more than [`MAX_ATOMS`] atomic permissions is not expanded. The result then contains
/// the complete rule, unless a single rule of `owned` allows everything that the rule allows.
pub fn missing(owned: &[Rule], required: &[Rule]) -> Vec<Rule> {
    let mut missing = Vec::new();
    for rule in required {
        if owned.iter().any(|own| own.covers(rule)) {
            continue;
        }
        if rule.size() > MAX_ATOMS {
            missing.push(rule.clone());
            continue;
        }
        let uncovered = rule
            .atoms()
            .filter(|atom| !owned.iter().any(|own| own.covers(atom)));
        missing.extend(uncovered.take(MAX_MISSING.saturating_sub(missing.len())));
        if missing.len() >= MAX_MISSING {
            break;
        }
    }
    missing
}

/// Formats missing permissions for error messages: one sorted line per resource.
pub fn describe_missing(missing: &[Rule]) -> String {
    let mut lines = BTreeSet::new();
    let mut by_resource: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for rule in missing {
        if rule.urls.is_empty() {
            by_resource
                .entry((&rule.groups, &rule.resources, &rule.names))
                .or_default()
                .extend(rule.verbs.iter().cloned());
        } else {
            lines.insert(rule.compact());
        }
    }
    for ((groups, resources, names), verbs) in by_resource {
        let joined = Rule {
            verbs,
            groups: groups.clone(),
            resources: resources.clone(),
            names: names.clone(),
            urls: Vec::new(),
        };
        lines.insert(joined.compact());
    }
    lines.into_iter().collect::<Vec<_>>().join("\n")
}

/// Formats a list in the format of Go's `%q`: `["a" "b"]`.
pub fn quoted_list(list: &[String]) -> String {
    let quoted: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", quoted.join(" "))
}

/// Returns the strings of a JSON array. Ignores elements of other types.
pub fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn contains(own: &[String], required: &str) -> bool {
    own.iter().any(|own| own == "*" || own == required)
}

fn url_covers(own: &str, path: &str) -> bool {
    own == path || (own.ends_with('*') && path.starts_with(own.trim_end_matches('*')))
}

#[cfg(test)]
mod tests;
