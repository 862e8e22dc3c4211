//! Tokens: `drover_<id>_<secret>` for users, `droverimport_<id>_<secret>` for registration.
//!
//! Each family has a separate type, so that the server cannot confuse user tokens with registration
//! tokens. The hub stores only `sha256:<hex>` of the secret. A slow hash is not necessary, because
//! a secret has 160 random bits.

use std::fmt;
use std::marker::PhantomData;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

/// Alphabet of tokens. Excludes similar characters (0, 1, l), and vowels, so that tokens contain no
/// words.
const ALPHABET: &[u8; 32] = b"23456789bcdfghjkmnpqrstvwxzBCDFG";
/// The subset of [`ALPHABET`] that Kubernetes permits in names.
const ID_ALPHABET: &[u8; 16] = b"bcdfghjkmnpqrstv";
/// Number of characters in an ID: 48 bits.
const ID_LEN: usize = 12;
/// Number of characters in a secret: 160 bits.
const SECRET_LEN: usize = 32;
/// Prefix of a stored hash.
const HASH_PREFIX: &[u8; 7] = b"sha256:";
/// Length of a stored hash: the prefix and 64 hexadecimal digits.
const HASH_LEN: usize = HASH_PREFIX.len() + 64;
/// Number of random bytes for [`issue`].
pub const ENTROPY_BYTES: usize = 32;

/// A family of tokens that share a prefix.
pub trait Family {
    /// The prefix before the first underscore.
    const WORD: &'static str;
}

/// The family of user tokens, with the prefix `drover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForUsers;
/// The family of registration tokens, with the prefix `droverimport`. Each token permits one
/// registration of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForRegistration;

impl Family for ForUsers {
    const WORD: &'static str = "drover";
}
impl Family for ForRegistration {
    const WORD: &'static str = "droverimport";
}

/// A presented token of a user.
pub type UserToken = Bearer<ForUsers>;
/// A presented registration token.
pub type RegistrationToken = Bearer<ForRegistration>;

/// A token with the correct format of its family. The token may be expired, revoked or unknown.
pub struct Bearer<F> {
    id: String,
    secret: SecretString,
    family: PhantomData<F>,
}

impl<F: Family> fmt::Debug for Bearer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_(hidden)", F::WORD, self.id)
    }
}

impl<F: Family> Bearer<F> {
    /// Parses a token. Returns `None` if the text does not have the exact format of the family.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text
            .strip_prefix(F::WORD)?
            .strip_prefix('_')?
            .split_once('_')?;
        let well_formed = id.len() == ID_LEN
            && consists_of(id, &IS_ID)
            && secret.len() == SECRET_LEN
            && consists_of(secret, &IS_SECRET);
        well_formed.then(|| Self {
            id: id.to_owned(),
            secret: SecretString::from(secret),
            family: PhantomData,
        })
    }

    /// Returns the token's ID, which is the name of the object that stores the hash.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reports whether the hash of the secret equals the stored hash. Compares in constant time.
    pub fn matches(&self, stored: &TokenHash) -> bool {
        let presented = hash_text(self.secret.expose_secret());
        presented.ct_eq(stored.0.as_bytes()).into()
    }
}

impl Bearer<ForUsers> {
    /// Returns the CSRF token of the session. The token proves that a page can read the server's
    /// responses. The token is derived from the secret and does not disclose the secret, so the
    /// server does not store it.
    pub fn csrf_token(&self) -> String {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(b"drover csrf\0");
        context.update(self.secret.expose_secret().as_bytes());
        URL_SAFE_NO_PAD.encode(context.finish())
    }
}

const IS_ID: [bool; 256] = table(ID_ALPHABET);
const IS_SECRET: [bool; 256] = table(ALPHABET);

/// Returns a lookup table of the bytes in an alphabet.
const fn table(alphabet: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < alphabet.len() {
        table[alphabet[i] as usize] = true;
        i += 1;
    }
    table
}

fn consists_of(text: &str, table: &[bool; 256]) -> bool {
    text.bytes().all(|byte| table[usize::from(byte)])
}

/// The hash of a token's secret: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// Creates a hash from stored text. A malformed hash matches no token.
    pub fn stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns a hash that matches no secret. The check of an unknown token compares with this
    /// hash, so that the check takes as long as for an existing token.
    pub fn of_nothing() -> Self {
        Self(format!("sha256:{}", "0".repeat(64)))
    }

    /// Returns the text of the hash, as the object on the hub contains it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(hidden)")
    }
}

/// A new token and its hash.
pub struct Issued {
    /// Name of the object.
    pub id: String,
    /// The full token. The server shows the token to the user once.
    pub token: SecretString,
    /// The hash to store on the hub.
    pub hash: TokenHash,
}

/// Creates a token of family `F` from random bytes.
pub fn issue<F: Family>(entropy: &[u8; ENTROPY_BYTES]) -> Issued {
    let (for_id, rest) = entropy.split_at(ID_LEN / 2);
    let id: String = for_id
        .iter()
        .flat_map(|b| [b >> 4, b & 15])
        .map(|nibble| char::from(ID_ALPHABET[usize::from(nibble)]))
        .collect();
    let secret = spread(&rest[..SECRET_LEN * 5 / 8]);
    Issued {
        hash: hash(&secret),
        token: SecretString::from(format!("{}_{id}_{secret}", F::WORD)),
        id,
    }
}

/// Encodes bytes in base 32. The number of bytes must be a multiple of five.
fn spread(bytes: &[u8]) -> String {
    bytes
        .chunks_exact(5)
        .flat_map(|chunk| {
            let bits = chunk
                .iter()
                .fold(0_u64, |all, b| (all << 8) | u64::from(*b));
            (0..8)
                .rev()
                .map(move |i| usize::try_from((bits >> (5 * i)) & 31).unwrap_or(0))
        })
        .map(|five_bits| char::from(ALPHABET[five_bits]))
        .collect()
}

fn hash(secret: &str) -> TokenHash {
    TokenHash(hash_text(secret).map(char::from).iter().collect())
}

/// Returns `sha256:` and the hexadecimal digits of the secret's hash.
fn hash_text(secret: &str) -> [u8; HASH_LEN] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = digest::digest(&digest::SHA256, secret.as_bytes());
    let mut text = [0; HASH_LEN];
    let (prefix, digits) = text.split_at_mut(HASH_PREFIX.len());
    prefix.copy_from_slice(HASH_PREFIX);
    for (pair, byte) in digits.chunks_exact_mut(2).zip(digest.as_ref()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn issued_token_matches_only_its_own_hash(a: [u8; 32], b: [u8; 32]) {
            prop_assume!(a[6..26] != b[6..26]);
            let (one, other) = (issue::<ForUsers>(&a), issue::<ForUsers>(&b));
            let bearer = UserToken::parse(one.token.expose_secret()).unwrap();
            prop_assert_eq!(bearer.id(), &one.id);
            prop_assert!(bearer.matches(&one.hash));
            prop_assert!(!bearer.matches(&other.hash));
            prop_assert!(!bearer.matches(&TokenHash::of_nothing()));
        }

        #[test]
        fn token_parser_does_not_panic_on_arbitrary_text(text in ".*") {
            let _ = UserToken::parse(&text);
            let _ = RegistrationToken::parse(&text);
        }
    }

    #[test]
    fn token_parser_rejects_tokens_of_other_token_types() {
        let user = issue::<ForUsers>(&[7; 32]);
        let registration = issue::<ForRegistration>(&[7; 32]);
        assert!(RegistrationToken::parse(user.token.expose_secret()).is_none());
        assert!(UserToken::parse(registration.token.expose_secret()).is_none());
    }

    #[test]
    fn malformed_drover_tokens_are_rejected() {
        let good = issue::<ForUsers>(&[9; 32]).token.expose_secret().to_owned();
        for bad in [
            "",
            "drover_",
            "drover__",
            "drover_x_y",
            "Bearer x",
            &good[1..],
            &good[..good.len() - 1],
            &format!("{good}x"),
            &format!(" {good}"),
            &good.to_uppercase(),
            &good.replacen('_', "-", 1),
            &format!("{good}\n"),
        ] {
            assert!(UserToken::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn token_hash_does_not_contain_the_secret() {
        let issued = issue::<ForUsers>(&[3; 32]);
        let forged = format!("drover_{}_{}", issued.id, issued.hash.as_str());
        assert!(UserToken::parse(&forged).is_none());
        let debug = format!(
            "{:?}",
            UserToken::parse(issued.token.expose_secret()).unwrap()
        );
        assert!(debug.ends_with("(hidden)"), "{debug}");
    }
}
