//! Sign-in and sign-out, sessions, and the signed-in user.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CallerRights, IssuedToken, Secret, TokenView};

wire! {
    /// Name and password of a local user.
    #[serde(deny_unknown_fields)]
    LoginRequest {
        /// The user's name.
        username: String,
        /// The password.
        password: Secret,
    }
}
wire! {
    /// A form that the browser posts to sign out at the identity provider.
    ProviderSignOut {
        /// Name of the provider.
        provider: String,
        /// Target URL of the form.
        url: String,
        /// Fields of the form.
        fields: BTreeMap<String, Secret>,
    }
}
wire! {
    /// An identity provider on the sign-in page.
    ProviderView {
        /// Name of the AuthProvider object.
        name: String,
        /// Label of the provider's button.
        display_name: String,
        /// The sign-in method.
        way: SignInMethod,
    }
}
/// The sign-in method of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SignInMethod {
    /// The browser is redirected to the provider and back.
    Redirect,
    /// The user enters a login and a password on Drover's sign-in page.
    Password,
}
/// The kind of client that receives the token of a sign-in.
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
        /// The kind of client. A program can sign in only with a password, or with `/v1/device`.
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
    /// The redirect of a sign-in.
    ProviderRedirect {
        /// URL of the provider's sign-in page.
        url: String,
    }
}
wire! {
    /// A pending device login. A user confirms it in a browser.
    DeviceCode {
        /// Secret code for the program's requests to `POST /v1/device/token`.
        device_code: Secret,
        /// Code that the user enters in the browser: two groups of four letters.
        user_code: String,
        /// URL of the page where the user enters the code.
        verification_url: String,
        /// Time until the expiry of the login, in seconds.
        expires_in_seconds: u32,
        /// Minimum interval between the program's requests, in seconds.
        interval_seconds: u32,
    }
}
wire! {
    /// A program's request for the token of a device login.
    #[serde(deny_unknown_fields)]
    DevicePoll {
        /// The secret code from [`DeviceCode`].
        device_code: Secret,
    }
}
wire! {
    /// The state of a device login.
    DeviceAnswer {
        /// The token, after the user has confirmed the login. The server returns the token only
        /// once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issued: Option<IssuedToken>,
    }
}
wire! {
    /// A pending device login, as shown to the user who confirms the login.
    DeviceView {
        /// The code that the program displays.
        user_code: String,
        /// IP address of the program.
        source: String,
        /// Time of the program's request.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        requested_at: Timestamp,
        /// Expiry time of the login.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        expires_at: Timestamp,
    }
}
wire! {
    /// The user of the presented token.
    Me {
        /// Name of the User object.
        username: String,
        /// The name for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// The user name in managed clusters: `drover:user:<uid>`.
        kubernetes_user: String,
        /// True if the user is an administrator, who has all permissions.
        administrator: bool,
        /// True if the user must set a new password. All routes except `POST /v1/me/password`
        /// return 403.
        must_change_password: bool,
        /// The presented token, without its secret.
        token: TokenView,
        /// The caller's permissions on the hub.
        #[serde(default)]
        rights: CallerRights,
    }
}
wire! {
    /// A session of a browser. Its token is in an HttpOnly cookie.
    Session {
        /// The signed-in user.
        me: Me,
        /// Value of the header `X-Drover-CSRF`, which all requests except `GET` and `HEAD` require.
        csrf_token: Secret,
        /// Idle timeout of the session in seconds, accurate to a few minutes. Absent if the user
        /// must set a new password.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_seconds: Option<u32>,
        /// Expiry time of the session, regardless of its use.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        expires_at: Timestamp,
    }
}
wire! {
    /// A user's change of the user's own password.
    #[serde(deny_unknown_fields)]
    PasswordChange {
        /// The current password.
        current: Secret,
        /// The new password: 12 to 512 characters.
        new: Secret,
    }
}
