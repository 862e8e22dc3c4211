//! Tokens in Secrets of type `kubernetes.io/service-account-token`.
//!
//! kube-apiserver puts a token without an end into such a Secret. A token here always has an end:
//! the controller replaces the value in the Secret while the previous value still holds.

use jiff::Timestamp;

use super::claims::{BoundTo, Claims, NameAndUid, Subject};
use super::{IssueError, Tokens};

/// The longest lifetime of a value, where the server sets no shorter one.
const MAX_LIFETIME_SECONDS: i64 = 90 * 24 * 60 * 60;

/// A service account and its token Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretSubject {
    /// Of both.
    pub(crate) namespace: String,
    /// Whose token it is.
    pub(crate) account: NameAndUid,
    /// The Secret that holds the token.
    pub(crate) secret: NameAndUid,
}

impl Tokens {
    /// Signs a token that ends with the account and with the Secret.
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

    /// When the token must be replaced; `None` if it is not a token of this account and Secret.
    ///
    /// A third of its lifetime remains then.
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
