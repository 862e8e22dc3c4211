//! Changes of Kubernetes objects.

use drover_ui_core::action::{Access, ChangeRequest};
use drover_ui_core::manifest::yaml_problem;
use drover_ui_core::problem::Problem;
use serde_json::Value;

use super::Session;
use crate::fetch::Request;

impl Session {
    /// Sends a change to the API of a cluster and returns the response.
    pub(crate) async fn change(self, change: &ChangeRequest) -> Result<Value, Problem> {
        let request = Request::changing(change.method, change.path())
            .with_body(&change.body, change.media_type);
        let answer = request.proven_by(self.csrf()).answer().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Sends a manifest, and returns the media type and the text of the response. The response has
    /// the same media type as the manifest.
    pub(crate) async fn send_manifest(
        self,
        method: &'static str,
        path: &str,
        (media_type, manifest): (&'static str, String),
    ) -> Result<(String, String), Problem> {
        let request = Request::changing(method, path)
            .with_text(manifest, media_type)
            .accepting(media_type)
            .parsing_problems_with(yaml_problem);
        let answer = request.proven_by(self.csrf()).text().await;
        answer.inspect_err(|problem| self.handle(problem))
    }

    /// Asks the cluster whether the user has a permission. Returns `None` if the cluster does not
    /// answer.
    pub(crate) async fn is_denied(self, cluster: &str, access: &Access) -> Option<bool> {
        let path = Access::review_path(cluster);
        let answer: Value = self.send("POST", &path, &access.review()).await.ok()?;
        Some(Access::is_denied(&answer))
    }
}
