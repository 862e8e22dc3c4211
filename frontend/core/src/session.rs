//! The session of a browser, as the server tells it.

use drover_api::rest::Me;
use jiff::Timestamp;
use serde::Deserialize;

/// Who is signed in, and until when.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The person.
    pub me: Me,
    /// Goes with everything that changes something; shows nothing when debugged.
    pub csrf_token: drover_api::rest::Secret,
    /// Without a request for so long, the session ends.
    pub idle_seconds: u64,
    /// Then it ends in any case.
    pub expires_at: Timestamp,
}

impl Session {
    /// What others call the person.
    pub fn display_name(&self) -> &str {
        self.me.display_name.as_deref().unwrap_or(&self.me.username)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_and_keeps_its_secret() {
        let text = r#"{"csrfToken":"very-secret","idleSeconds":3600,
          "expiresAt":"2026-11-21T20:00:00Z","me":{"username":"ann","kubernetesUser":"drover:user:1",
          "administrator":true,"mustChangePassword":false,"token":{"id":"b","username":"ann",
          "purpose":"Session","createdAt":"2026-11-21T08:00:00Z","expiresAt":"2026-11-21T20:00:00Z"}}}"#;
        let session: Session = serde_json::from_str(text).unwrap();
        assert_eq!(session.display_name(), "ann");
        assert!(!format!("{session:?}").contains("very-secret"));
    }
}
