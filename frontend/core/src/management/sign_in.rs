//! Sign-in methods, and the path to return to after a sign-in.

use drover_api::rest::{ProviderView, SignInMethod};

use crate::messages::t;

/// The maximum length of a return path, in bytes.
const MAX_RETURN_PATH: usize = 512;

/// The type of the account in the sign-in form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Account {
    /// A local user, with a local password.
    #[default]
    Local,
    /// An account of an identity provider.
    At(Provider),
}

/// An identity provider on the sign-in page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The name of the provider.
    pub name: String,
    /// The display name of the provider.
    pub title: String,
}

/// A sign-in method with a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInButton {
    /// Shows the form for a different type of account.
    Type(Account),
    /// Redirects to the provider.
    Go(Provider),
}

impl SignInButton {
    /// Returns the label of the sign-in method's button.
    pub fn words(&self) -> String {
        match self {
            Self::Type(Account::Local) => t().sign_in.local_user().to_owned(),
            Self::Type(Account::At(provider)) | Self::Go(provider) => {
                t().sign_in.with_provider(&provider.title)
            }
        }
    }
}

/// Returns the sign-in methods other than the current form. Providers are in the server's order;
/// local users are last.
pub fn others(providers: &[ProviderView], account: &Account) -> Vec<SignInButton> {
    let mut ways: Vec<SignInButton> = providers.iter().map(way).collect();
    ways.push(SignInButton::Type(Account::Local));
    ways.retain(|way| !matches!(way, SignInButton::Type(other) if other == account));
    ways
}

fn way(provider: &ProviderView) -> SignInButton {
    let way = provider.way;
    let provider = Provider {
        name: provider.name.clone(),
        title: provider.display_name.clone(),
    };
    match way {
        SignInMethod::Redirect => SignInButton::Go(provider),
        SignInMethod::Password => SignInButton::Type(Account::At(provider)),
    }
}

/// Returns the return path for the server. Returns `None` for a path that the server rejects.
pub fn return_path(path: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~?=&%:,@+".contains(&byte);
    let stays = path.starts_with('/') && !path.starts_with("//");
    let fits = path.len() <= MAX_RETURN_PATH && path.bytes().all(plain);
    (stays && fits).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(name: &str, way: SignInMethod) -> ProviderView {
        ProviderView {
            name: name.to_owned(),
            display_name: name.to_uppercase(),
            way,
        }
    }

    fn words(ways: &[SignInButton]) -> Vec<String> {
        ways.iter().map(SignInButton::words).collect()
    }

    #[test]
    fn sign_in_form_has_a_button_for_each_alternative_sign_in_method() {
        let providers = [
            provider("corp", SignInMethod::Redirect),
            provider("ldap", SignInMethod::Password),
        ];
        let ways = others(&providers, &Account::Local);
        assert_eq!(words(&ways), ["Sign in with CORP", "Sign in with LDAP"]);
        let [_, SignInButton::Type(at_ldap)] = ways.as_slice() else {
            panic!("expected a password form for LDAP: {ways:?}");
        };
        assert_eq!(
            words(&others(&providers, at_ldap)),
            ["Sign in with CORP", "Sign in as a local user"]
        );
        assert_eq!(others(&[], &Account::Local), []);
    }

    #[test]
    fn return_path_to_another_origin_is_rejected() {
        assert_eq!(
            return_path("/clusters/berlin/pods?q=web%20-x&sort=-age").as_deref(),
            Some("/clusters/berlin/pods?q=web%20-x&sort=-age")
        );
        for elsewhere in ["//evil.example", "https://evil.example", "", "/a b", "/x'y"] {
            assert_eq!(return_path(elsewhere), None, "{elsewhere}");
        }
        assert_eq!(
            return_path(&format!("/{}", "a".repeat(MAX_RETURN_PATH))),
            None
        );
    }
}
