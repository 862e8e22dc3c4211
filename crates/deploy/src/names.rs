//! Names of labels, equal to Fleet's names.

use drover_gitops::ids::shorten;

/// Maximum length of the value of a label.
const MAX_LABEL: usize = 63;

/// Returns the value of the label of the objects of a bundle deployment.
pub fn label_value(deployment: &str) -> String {
    shorten(deployment, MAX_LABEL)
}
