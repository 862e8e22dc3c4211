//! Verifies the sender of a request.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use subtle::ConstantTimeEq as _;

use crate::provider::{Provider, header};

/// The reason why a request is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The Secret has no value for the provider.
    #[error("cannot verify the webhook of {provider}: the Secret has no key {key:?}; add the key")]
    MissingKey {
        /// The name of the provider.
        provider: &'static str,
        /// The key that the Secret needs.
        key: &'static str,
    },
    /// The request has no signature or credential.
    #[error(
        "cannot verify the webhook of {provider}: the request has no header {header}; \
         set the secret in the settings of the webhook"
    )]
    MissingHeader {
        /// The name of the provider.
        provider: &'static str,
        /// The header that the provider sends with a secret.
        header: &'static str,
    },
    /// The signature or the credential is wrong.
    #[error(
        "cannot verify the webhook of {provider}: the header {header} does not match the Secret; \
         use the same secret in both"
    )]
    Mismatch {
        /// The name of the provider.
        provider: &'static str,
        /// The header with the wrong value.
        header: &'static str,
    },
}

impl Provider {
    /// Verifies a request with the data of a Kubernetes Secret. The keys of the Secret are those of
    /// Fleet: `github`, `gitlab`, `bitbucket`, `bitbucket-server`, `gogs`, `azure-username` and
    /// `azure-password`. For Gitea, the key `gitea` has priority over `gogs`.
    ///
    /// All comparisons take constant time.
    ///
    /// # Errors
    /// See [`VerifyError`]. An empty value of the Secret counts as missing.
    pub fn verify<'s>(
        self,
        headers: &HeaderMap,
        body: &[u8],
        secret: impl Fn(&str) -> Option<&'s [u8]>,
    ) -> Result<(), VerifyError> {
        let check = Check {
            provider: self.name(),
            headers,
            body,
        };
        let value = |key| {
            let value = secret(key).filter(|value| !value.is_empty());
            value.ok_or_else(|| VerifyError::MissingKey {
                provider: self.name(),
                key,
            })
        };
        match self {
            Self::GitHub => check.hmac("X-Hub-Signature-256", "sha256=", value("github")?),
            Self::BitbucketServer => {
                check.hmac("X-Hub-Signature", "sha256=", value("bitbucket-server")?)
            }
            Self::Gogs => check.hmac("X-Gogs-Signature", "", value("gogs")?),
            Self::Gitea => {
                let secret = value("gitea").or_else(|_| value("gogs"))?;
                let names = ["X-Gitea-Signature", "X-Forgejo-Signature"];
                let sent = names
                    .into_iter()
                    .find(|name| !check.header(name).is_empty());
                check.hmac(sent.unwrap_or(names[0]), "", secret)
            }
            Self::GitLab => check.equal("X-Gitlab-Token", value("gitlab")?),
            Self::BitbucketCloud => {
                let secret = value("bitbucket")?;
                if check.header("X-Hub-Signature").is_empty() {
                    check.equal("X-Hook-UUID", secret)
                } else {
                    check.hmac("X-Hub-Signature", "sha256=", secret)
                }
            }
            Self::AzureDevOps => check.basic(value("azure-username")?, value("azure-password")?),
        }
    }
}

struct Check<'r> {
    provider: &'static str,
    headers: &'r HeaderMap,
    body: &'r [u8],
}

impl<'r> Check<'r> {
    fn header(&self, name: &str) -> &'r str {
        header(self.headers, name)
    }

    fn present(&self, header: &'static str) -> Result<&'r str, VerifyError> {
        let value = self.header(header);
        if value.is_empty() {
            let provider = self.provider;
            return Err(VerifyError::MissingHeader { provider, header });
        }
        Ok(value)
    }

    fn mismatch(&self, header: &'static str) -> VerifyError {
        let provider = self.provider;
        VerifyError::Mismatch { provider, header }
    }

    /// Verifies an HMAC-SHA256 of the body in hexadecimal digits.
    fn hmac(&self, header: &'static str, prefix: &str, secret: &[u8]) -> Result<(), VerifyError> {
        let value = self.present(header)?;
        let tag = value.strip_prefix(prefix).and_then(decode_hex);
        let tag = tag.ok_or_else(|| self.mismatch(header))?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        hmac::verify(&key, self.body, &tag).map_err(|_| self.mismatch(header))
    }

    fn equal(&self, header: &'static str, secret: &[u8]) -> Result<(), VerifyError> {
        let value = self.present(header)?;
        if bool::from(value.as_bytes().ct_eq(secret)) {
            return Ok(());
        }
        Err(self.mismatch(header))
    }

    /// Verifies HTTP basic authentication.
    fn basic(&self, username: &[u8], password: &[u8]) -> Result<(), VerifyError> {
        const HEADER: &str = "Authorization";
        let value = self.present(HEADER)?;
        let credentials = value
            .split_once(' ')
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
            .and_then(|(_, encoded)| STANDARD.decode(encoded.trim()).ok());
        let presented = credentials.ok_or_else(|| self.mismatch(HEADER))?;
        let expected = [username, b":", password].concat();
        if bool::from(presented.ct_eq(&expected)) {
            return Ok(());
        }
        Err(self.mismatch(HEADER))
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.bytes().map(hex_digit).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}
