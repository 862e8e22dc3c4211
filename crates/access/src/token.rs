//! Tokens: `drover_<id>_<secret>` for people, `droverimport_<id>_<secret>` for registration.
//!
//! The two families are separate types, so that neither is ever accepted as the other. The hub
//! keeps only `sha256:<hex>` of the secret: with 160 random bits a slow hash would add nothing.

use std::fmt;
use std::marker::PhantomData;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

/// Letters and digits that cannot be mistaken for each other or spell words (no vowels, no 0/1/l).
const ALPHABET: &[u8; 32] = b"23456789bcdfghjkmnpqrstvwxzBCDFG";
/// The subset of [`ALPHABET`] that Kubernetes allows in names.
const ID_ALPHABET: &[u8; 16] = b"bcdfghjkmnpqrstv";
/// Characters of an id: 48 bits.
const ID_LEN: usize = 12;
/// Characters of a secret: 160 bits.
const SECRET_LEN: usize = 32;
/// Random bytes that [`issue`] takes.
pub const ENTROPY_BYTES: usize = 32;

/// A family of tokens, told apart by the first word.
pub trait Family {
    /// The word before the first underscore.
    const WORD: &'static str;
}

/// Tokens that stand for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForUsers;
/// Tokens that allow one registration of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForRegistration;

impl Family for ForUsers {
    const WORD: &'static str = "drover";
}
impl Family for ForRegistration {
    const WORD: &'static str = "droverimport";
}

/// A user's token as presented.
pub type UserToken = Bearer<ForUsers>;
/// A registration token as presented.
pub type RegistrationToken = Bearer<ForRegistration>;

/// A well-formed token of one family; says nothing about whether it is valid.
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
    /// Takes a token apart; `None` unless it is exactly of this family's form.
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

    /// Name of the object that keeps the hash.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether this is the secret behind a stored hash; takes as long for any answer.
    pub fn matches(&self, stored: &TokenHash) -> bool {
        hash(self.secret.expose_secret())
            .0
            .as_bytes()
            .ct_eq(stored.0.as_bytes())
            .into()
    }
}

impl Bearer<ForUsers> {
    /// What the page of a session shows to prove that it may read this server's answers. It follows
    /// from the secret, so that nothing is kept, and the secret does not follow from it.
    pub fn csrf_token(&self) -> String {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(b"drover csrf\0");
        context.update(self.secret.expose_secret().as_bytes());
        URL_SAFE_NO_PAD.encode(context.finish())
    }
}

const IS_ID: [bool; 256] = table(ID_ALPHABET);
const IS_SECRET: [bool; 256] = table(ALPHABET);

/// Which bytes are in an alphabet.
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

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// Reads what an object holds; anything ill-formed matches no token.
    pub fn stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// A hash that no secret has, to spend the same time when there is no such token.
    pub fn of_nothing() -> Self {
        Self(format!("sha256:{}", "0".repeat(64)))
    }

    /// What goes into the object.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(hidden)")
    }
}

/// A new token: what the person gets and what the hub keeps.
pub struct Issued {
    /// Name of the object.
    pub id: String,
    /// The whole token, to be shown once.
    pub token: SecretString,
    /// What the hub keeps.
    pub hash: TokenHash,
}

/// Makes a token of family `F` out of fresh random bytes.
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

/// Base 32 of bytes whose number is a multiple of five.
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
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = digest::digest(&digest::SHA256, secret.as_bytes());
    let mut text = String::with_capacity(71);
    text.push_str("sha256:");
    for byte in digest.as_ref() {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
    TokenHash(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_issued_token_matches_its_hash_and_no_other(a: [u8; 32], b: [u8; 32]) {
            prop_assume!(a[6..26] != b[6..26]);
            let (one, other) = (issue::<ForUsers>(&a), issue::<ForUsers>(&b));
            let bearer = UserToken::parse(one.token.expose_secret()).unwrap();
            prop_assert_eq!(bearer.id(), &one.id);
            prop_assert!(bearer.matches(&one.hash));
            prop_assert!(!bearer.matches(&other.hash));
            prop_assert!(!bearer.matches(&TokenHash::of_nothing()));
        }

        #[test]
        fn no_text_panics_the_parser(text in ".*") {
            let _ = UserToken::parse(&text);
            let _ = RegistrationToken::parse(&text);
        }
    }

    #[test]
    fn families_refuse_each_other() {
        let user = issue::<ForUsers>(&[7; 32]);
        let registration = issue::<ForRegistration>(&[7; 32]);
        assert!(RegistrationToken::parse(user.token.expose_secret()).is_none());
        assert!(UserToken::parse(registration.token.expose_secret()).is_none());
    }

    #[test]
    fn malformed_tokens_are_refused() {
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
    fn the_hash_is_not_the_secret() {
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
