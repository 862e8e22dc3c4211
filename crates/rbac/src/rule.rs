//! Policy rules: what one allows, and whether some cover others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// Rules that come to more rights are not taken apart.
pub const MOST_ATOMS: usize = 100_000;
/// More missing rights are not told one by one.
pub const MOST_MISSING: usize = 1_000;

/// What a rule is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<'a> {
    /// Objects; parts that are not named are empty.
    Resource {
        /// Empty for the core group.
        group: &'a str,
        /// The plural.
        resource: &'a str,
        /// Such as `status`.
        subresource: &'a str,
        /// Empty for a collection.
        name: &'a str,
    },
    /// Any other path, such as `/version`.
    Path(&'a str),
}

/// A `PolicyRule`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    /// Or `*`.
    pub verbs: Vec<String>,
    /// Or `*`; the core group is empty.
    pub groups: Vec<String>,
    /// `pods`, `pods/log`, `*/scale` or `*`.
    pub resources: Vec<String>,
    /// Empty for all.
    pub names: Vec<String>,
    /// Paths; a trailing `*` stands for anything.
    pub urls: Vec<String>,
}

impl Rule {
    /// Reads a rule of a stored role; absent parts are empty.
    pub fn parse(value: &Value) -> Self {
        Self {
            verbs: strings(&value["verbs"]),
            groups: strings(&value["apiGroups"]),
            resources: strings(&value["resources"]),
            names: strings(&value["resourceNames"]),
            urls: strings(&value["nonResourceURLs"]),
        }
    }

    /// Reads the list of rules of a role.
    pub fn parse_all(role: &Value) -> Vec<Self> {
        role["rules"]
            .as_array()
            .map(|rules| rules.iter().map(Self::parse).collect())
            .unwrap_or_default()
    }

    /// The rule as roles hold it.
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

    /// Whether the rule allows what is asked; the verb of a path is the lower-case HTTP method.
    pub fn allows(&self, verb: &str, asked: Asked<'_>) -> bool {
        if !holds(&self.verbs, verb) {
            return false;
        }
        match asked {
            Asked::Path(path) => self.urls.iter().any(|url| url_covers(url, path)),
            Asked::Resource {
                group,
                resource,
                subresource,
                name,
            } => {
                holds(&self.groups, group)
                    && self.allows_resource(resource, subresource)
                    && (self.names.is_empty() || self.names.iter().any(|own| own == name))
            }
        }
    }

    fn allows_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|own| {
            let exactly = match own.strip_prefix(resource) {
                Some("") => subresource.is_empty(),
                Some(rest) => {
                    rest.strip_prefix('/') == Some(subresource) && !subresource.is_empty()
                }
                None => false,
            };
            let of_any = !subresource.is_empty() && own.strip_prefix("*/") == Some(subresource);
            own == "*" || exactly || of_any
        })
    }

    /// How many rights of one verb, group, resource and name each the rule comes to.
    pub fn size(&self) -> usize {
        let on_objects = [&self.groups, &self.resources, &self.verbs]
            .iter()
            .fold(self.names.len().max(1), |size, list| {
                size.saturating_mul(list.len())
            });
        on_objects.saturating_add(self.urls.len().saturating_mul(self.verbs.len()))
    }

    /// The same rights as rules of one verb, group, resource and name each.
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

    /// Whether this rule alone includes all that another allows.
    fn covers(&self, atom: &Self) -> bool {
        let includes =
            |own: &[String], wanted: &[String]| wanted.iter().all(|wanted| holds(own, wanted));
        includes(&self.verbs, &atom.verbs)
            && includes(&self.groups, &atom.groups)
            && atom
                .resources
                .iter()
                .all(|wanted| self.covers_resource(wanted))
            && atom.urls.iter().all(|wanted| {
                self.urls
                    .iter()
                    .any(|own| own == wanted || url_covers(own, wanted))
            })
            && (self.names.is_empty()
                || (!atom.names.is_empty()
                    && atom.names.iter().all(|wanted| self.names.contains(wanted))))
    }

    fn covers_resource(&self, wanted: &str) -> bool {
        self.resources.iter().any(|own| {
            own == "*"
                || own == wanted
                || wanted
                    .split_once('/')
                    .is_some_and(|(_, sub)| own.strip_prefix("*/") == Some(sub))
        })
    }

    /// The form of escalation messages: `{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}`.
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

/// The rules that allow everything.
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

/// What `wanted` allows and `owned` does not, as rules of one right each; never more than
/// [`MOST_MISSING`] of them.
///
/// A rule that comes to more than [`MOST_ATOMS`] is not taken apart: it is missing as it is, unless
/// one of the owned covers all of it.
pub fn missing(owned: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let mut missing = Vec::new();
    for rule in wanted {
        if owned.iter().any(|own| own.covers(rule)) {
            continue;
        }
        if rule.size() > MOST_ATOMS {
            missing.push(rule.clone());
            continue;
        }
        let lacking = rule
            .atoms()
            .filter(|atom| !owned.iter().any(|own| own.covers(atom)));
        missing.extend(lacking.take(MOST_MISSING.saturating_sub(missing.len())));
        if missing.len() >= MOST_MISSING {
            break;
        }
    }
    missing
}

/// Missing rights for people: one line for each resource, sorted.
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

/// Go's `%q` of a list: `["a" "b"]`.
pub fn quoted_list(list: &[String]) -> String {
    let quoted: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", quoted.join(" "))
}

/// The strings of a JSON list.
pub fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn holds(own: &[String], wanted: &str) -> bool {
    own.iter().any(|own| own == "*" || own == wanted)
}

fn url_covers(own: &str, path: &str) -> bool {
    own == path || (own.ends_with('*') && path.starts_with(own.trim_end_matches('*')))
}

#[cfg(test)]
mod tests;
