//! Functions that need a clock, random numbers or the network.

use super::Type::Any;
use super::{Function, variadic};
use crate::error::CallError;

macro_rules! unavailable {
    ($($name:literal),* $(,)?) => {
        /// The functions whose calls end a rendering with [`crate::RenderError::Unavailable`].
        ///
        /// Fleet offers these functions, but their results change with each rendering or need the
        /// network. Two functions are deterministic: `derivePassword` needs 32 MiB of memory, and
        /// `decryptAES` reads only the results of `encryptAES`. The functions `date`, `htmlDate`,
        /// `dateInZone`, `htmlDateInZone` and `date_in_zone` are unavailable only if their argument
        /// is not a time, because sprig then uses the current time.
        pub const UNAVAILABLE: &[&str] = &[$($name),*];

        pub(super) const FUNCTIONS: &[Function] = &[
            $(variadic($name, &[], Any, |_| Err(CallError::Unavailable($name)))),*
        ];
    };
}

unavailable!(
    "ago",
    "bcrypt",
    "buildCustomCert",
    "decryptAES",
    "derivePassword",
    "encryptAES",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "getHostByName",
    "htpasswd",
    "now",
    "randAlpha",
    "randAlphaNum",
    "randAscii",
    "randBytes",
    "randInt",
    "randNumeric",
    "shuffle",
    "uuidv4",
);
