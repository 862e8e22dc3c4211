//! Tokens in Secrets of type `kubernetes.io/service-account-token`.
//!
//! kube-apiserver writes a token without expiration into such a Secret. The tokens of this server
//! expire. The controller renews each token before its expiration.

use jiff::Timestamp;

use super::claims::{BoundTo, Claims, NameAndUid, Subject};
use super::{IssueError, Tokens};

/// Maximum lifetime of a token in a Secret, in seconds. If `max_lifetime_seconds` in the options is
/// lower, the server uses that value.
const MAX_LIFETIME_SECONDS: i64 = 90 * 24 * 60 * 60;

/// A service account and its token Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretSubject {
    /// The namespace of the service account and its Secret.
    pub(crate) namespace: String,
    /// Name and UID of the service account.
    pub(crate) account: NameAndUid,
    /// The Secret that holds the token.
    pub(crate) secret: NameAndUid,
}

impl Tokens {
    /// Signs a token bound to the service account and the Secret.
    pub(crate) fn issue_for_secret(&self, subject: &SecretSubject) -> Result<String, IssueError> {
        let options = self.options();
        let lifetime = options
            .max_lifetime_seconds
            .filter(|most| *most > 0)
            .map_or(MAX_LIFETIME_SECONDS, |most| most.min(MAX_LIFETIME_SECONDS));
        let issuer = options.issuers.first().map_or("", String::as_str);
        let (audiences, now) = (options.audiences.clone(), (options.clock)());
        self.issue(&Claims::new(
            issuer,
            audiences,
            subject.claim(),
            now,
            lifetime,
        ))
    }

    /// Returns the time to replace the token: the time at which a third of the token's lifetime
    /// remains. Returns `None` if the token does not belong to this account and Secret.
    pub(crate) fn renewal_of(&self, token: &str, subject: &SecretSubject) -> Option<Timestamp> {
        let claims = self.verify(token).ok()?;
        if claims.subject != subject.claim() {
            return None;
        }
        let lifetime = claims.exp.saturating_sub(claims.iat);
        Timestamp::from_second(claims.exp.saturating_sub(lifetime / 3)).ok()
    }
}

impl SecretSubject {
    fn claim(&self) -> Subject {
        let bound = BoundTo::Secret(self.secret.clone());
        Subject::new(self.namespace.clone(), self.account.clone(), bound)
    }
}
