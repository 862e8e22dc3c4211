//! The names of the admission webhook on an external hub.

/// The name of the ValidatingWebhookConfiguration.
pub const CONFIGURATION: &str = "drover-rules";
/// The annotation with the server's account.
pub const SERVER_ANNOTATION: &str = "management.drover.dev/server";
/// The suffix of every webhook's name.
pub(crate) const NAMES_END: &str = ".rules.drover.dev";

/// Reports whether an error message of the hub contains the name of Drover's webhook. The message
/// contains the name if the webhook denied the request or was unreachable.
pub(crate) fn is_about(message: &str) -> bool {
    message.contains(NAMES_END)
}
