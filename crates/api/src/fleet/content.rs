//! Content: the files of bundles, and BundleNamespaceMapping: permission to target clusters of other
//! namespaces.

use k8s_openapi::ByteString;

use super::selector::LabelSelector;
use super::wire::{fleet_kind, go_struct};

fleet_kind! {
    /// The files of a bundle. The object's name contains a hash of the files.
    pub struct Content = "Content", "contents", ClusterResourceScope {
        /// The manifest, JSON compressed with gzip.
        "content" content: Option<ByteString>,
        /// SHA-256 of `content`, in hexadecimal digits.
        "sha256sum" sha256_sum: String,
        /// Observed state.
        "status" status: Option<ContentStatus>,
    }
}

go_struct! {
    /// Observed state of a Content.
    pub struct ContentStatus {
        /// Number of bundle deployments with this content.
        reference_count: i64,
    }
}

fleet_kind! {
    /// Permission for bundles of one namespace to target clusters of other namespaces.
    pub struct BundleNamespaceMapping =
        "BundleNamespaceMapping", "bundlenamespacemappings", NamespaceResourceScope
    {
        /// Bundles in the object's namespace.
        "bundleSelector" bundle_selector: Option<LabelSelector>,
        /// Namespaces of clusters.
        "namespaceSelector" namespace_selector: Option<LabelSelector>,
    }
}
