//! The names of the Secrets and ConfigMaps that the server copies into the namespace of a cluster.

use std::collections::BTreeSet;

use drover_api::fleet::{BundleDeploymentSpec, BundleHelmOptions, DownstreamResource};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client};

use super::Readable;

/// The kind of an object that the server copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Secret,
    ConfigMap,
    /// A Secret with the credential for the chart of a HelmOp.
    Access,
}

impl Kind {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("secret") {
            Some(Self::Secret)
        } else if text.eq_ignore_ascii_case("configmap") {
            Some(Self::ConfigMap)
        } else {
            None
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Secret | Self::Access => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }

    pub(crate) fn api(self, client: &Client, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(client.clone(), namespace, &self.resource())
    }

    pub(crate) fn resource(self) -> ApiResource {
        match self {
            Self::Secret | Self::Access => ApiResource::erase::<Secret>(&()),
            Self::ConfigMap => ApiResource::erase::<ConfigMap>(&()),
        }
    }
}

/// The objects that a deployment needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names(pub(crate) BTreeSet<(Kind, String)>);

impl Names {
    pub(crate) fn of(resources: &[DownstreamResource], access: Option<&BundleHelmOptions>) -> Self {
        let resources = resources.iter();
        let names = resources.filter_map(|it| Some((Kind::parse(&it.kind)?, it.name.clone())));
        let mut names: BTreeSet<_> = names.collect();
        let access = access.map(|access| access.secret_name.clone());
        let access = access.filter(|name| !name.is_empty());
        names.extend(access.map(|name| (Kind::Access, name)));
        Self(names)
    }

    /// Returns the names in all options of a bundle deployment.
    pub(crate) fn all(spec: &BundleDeploymentSpec) -> Self {
        let access = spec.helm_chart_options.as_ref();
        let mut names = Self::of(&spec.options.downstream_resources, access);
        names
            .0
            .extend(Self::of(&spec.staged_options.downstream_resources, None).0);
        names
    }
}

/// Adds the copies that a bundle deployment names.
pub(crate) fn add_readable(spec: &BundleDeploymentSpec, readable: &mut Readable) {
    for (kind, name) in Names::all(spec).0 {
        match kind {
            Kind::Secret | Kind::Access => readable.secrets.insert(name),
            Kind::ConfigMap => readable.config_maps.insert(name),
        };
    }
}

/// Reports whether a bundle deployment names copies.
pub(crate) fn has_copies(spec: &BundleDeploymentSpec) -> bool {
    !Names::all(spec).0.is_empty()
}
