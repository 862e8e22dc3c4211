//! Names of the webhook configuration by which a hub elsewhere asks the rules.

/// Name of the configuration.
pub const CONFIGURATION: &str = "drover-rules";
/// Annotation of the configuration that names the account of the server.
pub const SERVER_ANNOTATION: &str = "management.drover.dev/server";
/// Suffix of every webhook's name.
pub(crate) const NAMES_END: &str = ".rules.drover.dev";

/// Whether an error message of a hub names one of these webhooks, which refused or was not reached.
pub(crate) fn is_about(message: &str) -> bool {
    message.contains(NAMES_END)
}
