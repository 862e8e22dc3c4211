//! The identity of an object in a list of several clusters.

use std::fmt;

use drover_rows::Row;

use crate::kind::Kind;
use crate::kubectl::KubectlObject;

/// The identity of an object in a list of one kind. The text form is `cluster/namespace/name`, with
/// an empty namespace for cluster-scoped objects. Names of clusters and objects contain no slash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The name of the cluster.
    pub cluster: String,
    /// The namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
}

impl ObjectKey {
    /// Returns the identity of a row.
    pub fn of_row(row: &Row) -> Self {
        Self {
            cluster: row.cluster.to_string(),
            namespace: row.namespace().map(str::to_owned),
            name: row.name().to_owned(),
        }
    }

    /// Parses the text form.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '/');
        let (cluster, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            cluster: cluster.to_owned(),
            namespace: Some(namespace.to_owned()).filter(|it| !it.is_empty()),
            name: name.to_owned(),
        })
    }

    /// Returns the object for requests and commands.
    pub fn target(&self, kind: Kind) -> KubectlObject {
        KubectlObject {
            cluster: self.cluster.clone(),
            kind,
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Returns the URL path of the object's page.
    pub fn screen(&self, kind: Kind) -> String {
        kind.object_screen(&self.cluster, self.namespace.as_deref(), &self.name)
    }

    /// Returns the text for users: `cluster / namespace / name`.
    pub fn words(&self) -> String {
        let parts = [
            Some(&self.cluster),
            self.namespace.as_ref(),
            Some(&self.name),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().map(String::as_str).collect();
        parts.join(" / ")
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        write!(formatter, "{}/{namespace}/{}", self.cluster, self.name)
    }
}
