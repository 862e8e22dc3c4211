//! Label selectors with the field order of Kubernetes' Go types.

use std::collections::BTreeMap;

use super::wire::go_struct;

go_struct! {
    /// A label selector. The selector matches if all labels and all expressions match.
    ///
    /// The type of `k8s_openapi` writes the fields in alphabetical order, so its JSON has a different
    /// hash.
    pub struct LabelSelector {
        /// Labels and their required values.
        match_labels: BTreeMap<String, String>,
        /// Expressions, which must all match.
        match_expressions: Vec<LabelSelectorRequirement>,
    }

    /// An expression of a label selector.
    pub struct LabelSelectorRequirement {
        @always {
            /// Key of the label.
            key: String,
            /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
            operator: String,
        }
        /// Values of the operators `In` and `NotIn`.
        values: Vec<String>,
    }
}
