//! Sign-in and sign-out, sessions, and the signed-in user.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CallerRights, IssuedToken, Secret, TokenView};

wire! {
    /// The login name and the password of a local user.
    #[serde(deny_unknown_fields)]
    LoginRequest {
        /// The login name of the user.
        username: String,
        /// The local password of the user.
        password: Secret,
    }
}
wire! {
    /// A form that the browser posts to sign out at the identity provider.
    ProviderSignOut {
        /// Name of the AuthProvider.
        provider: String,
        /// URL to which the browser posts the form.
        url: String,
        /// Hidden fields of the form, with their values.
        fields: BTreeMap<String, Secret>,
    }
}
wire! {
    /// An identity provider on the sign-in page.
    ProviderView {
        /// Name of the AuthProvider object.
        name: String,
        /// Label of the provider's button on the sign-in page.
        display_name: String,
        /// The sign-in method: a redirect, or a login name and a password.
        way: SignInMethod,
    }
}
/// The method with which users sign in at an identity provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SignInMethod {
    /// The server redirects the browser to the provider, and the provider redirects the browser
    /// back.
    Redirect,
    /// The user enters the login name and the password on Drover's sign-in page.
    Password,
}
/// The type of client that receives the token of a sign-in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SignInClient {
    /// A browser, which receives a cookie.
    #[default]
    Browser,
    /// A program, which receives a bearer token.
    Program,
}
wire! {
    /// A request to sign in with a provider.
    #[derive(Default)]
    #[serde(deny_unknown_fields)]
    ProviderSignIn {
        /// The type of client. A program can sign in only with a password, or with `/v1/device`.
        #[serde(default)]
        by: SignInClient,
        /// The login name at the provider, if the provider requires a password.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<String>,
        /// The password at the provider, if the provider requires a password.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<Secret>,
        /// The path in the web UI that the browser opens after the sign-in, for example
        /// `/clusters`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        return_to: Option<String>,
    }
}
wire! {
    /// The redirect to the identity provider at the start of a sign-in.
    ProviderRedirect {
        /// URL of the provider's sign-in page.
        url: String,
    }
}
wire! {
    /// A pending device login. The user confirms the login in a browser.
    DeviceCode {
        /// Secret code that the program sends to `POST /v1/device/token`.
        device_code: Secret,
        /// Code that the user enters in the browser: two groups of four letters.
        user_code: String,
        /// URL of the page where the user enters the code.
        verification_url: String,
        /// Time until the pending login expires, in seconds.
        expires_in_seconds: u32,
        /// Minimum interval between the program's requests for the token, in seconds.
        interval_seconds: u32,
    }
}
wire! {
    /// A program's request for the token of a device login.
    #[serde(deny_unknown_fields)]
    DevicePoll {
        /// The secret code from the response [`DeviceCode`].
        device_code: Secret,
    }
}
wire! {
    /// The state of a device login.
    DeviceAnswer {
        /// The token. Absent until the user has confirmed the login. The server returns the token
        /// only once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issued: Option<IssuedToken>,
    }
}
wire! {
    /// A pending device login. The server shows the pending login to the user, who confirms the
    /// login.
    DeviceView {
        /// The code that the program displays.
        user_code: String,
        /// IP address of the program.
        source: String,
        /// Time at which the program started the login.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        requested_at: Timestamp,
        /// Time at which the pending login expires.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        expires_at: Timestamp,
    }
}
wire! {
    /// The user to whom the presented token belongs.
    Me {
        /// Name of the User object.
        username: String,
        /// Name to display instead of the login name. Absent if not set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// The user name in managed clusters: `drover:user:<uid>`.
        kubernetes_user: String,
        /// True if the user is an administrator, who has all permissions.
        administrator: bool,
        /// True if the user must set a new password. In this case, all routes except `POST
        /// /v1/me/password` return 403.
        must_change_password: bool,
        /// The presented token, without its secret.
        token: TokenView,
        /// The caller's permissions on the hub, for display.
        #[serde(default)]
        rights: CallerRights,
    }
}
wire! {
    /// A session of a browser. An HttpOnly cookie contains the token of the session.
    Session {
        /// The signed-in user.
        me: Me,
        /// Value of the header `X-Drover-CSRF`, which all requests except `GET` and `HEAD` require.
        csrf_token: Secret,
        /// Idle timeout of the session in seconds, with an accuracy of a few minutes. Absent if the
        /// user must set a new password.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_seconds: Option<u32>,
        /// Time at which the session expires, even if the user uses the session.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        expires_at: Timestamp,
    }
}
wire! {
    /// A request of a user to change the user's own password.
    #[serde(deny_unknown_fields)]
    PasswordChange {
        /// The user's current password, which the server verifies before the change.
        current: Secret,
        /// The new password: 12 to 512 characters.
        new: Secret,
    }
}
