//! Signing in and out, by whatever way, and who is signed in.

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
    /// How the browser signs out at the identity provider too: it posts a form.
    ProviderSignOut {
        /// Name of the provider.
        provider: String,
        /// Where the form goes.
        url: String,
        /// The fields of the form.
        fields: BTreeMap<String, Secret>,
    }
}
wire! {
    /// An identity provider that people can sign in with.
    ProviderView {
        /// Its name.
        name: String,
        /// What stands on its button.
        display_name: String,
        /// What signing in with it takes.
        way: SignInWay,
    }
}
/// What signing in with a provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SignInWay {
    /// A browser goes to the provider and comes back.
    Redirect,
    /// A login and a password, typed here.
    Password,
}
/// Where the token of a sign-in will be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SignInBy {
    /// In a browser's cookie.
    #[default]
    Browser,
    /// With a program, which sends it as a bearer token.
    Program,
}
wire! {
    /// A sign-in with a provider.
    #[derive(Default)]
    #[serde(deny_unknown_fields)]
    ProviderSignIn {
        /// Where the token will be; programs sign in with a password only, or by `/v1/device`.
        #[serde(default)]
        by: SignInBy,
        /// What the person types there, where a password is asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<String>,
        /// The password, where one is asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<Secret>,
        /// Where in the web UI the person goes on afterwards: a path such as `/clusters`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        return_to: Option<String>,
    }
}
wire! {
    /// Where a browser goes on signing in.
    ProviderRedirect {
        /// The provider's page.
        url: String,
    }
}
wire! {
    /// A log-in of a program that waits for a person to confirm it in a browser.
    DeviceCode {
        /// What the program shows when it asks whether that has happened.
        device_code: Secret,
        /// What the person types in the browser: two times four letters.
        user_code: String,
        /// The page where they type it.
        verification_url: String,
        /// It can be confirmed for so long.
        expires_in_seconds: u32,
        /// The program asks no more often than this.
        interval_seconds: u32,
    }
}
wire! {
    /// A question whether a log-in was confirmed.
    #[serde(deny_unknown_fields)]
    DevicePoll {
        /// The code that only the program knows.
        device_code: Secret,
    }
}
wire! {
    /// Whether a log-in was confirmed.
    DeviceAnswer {
        /// The token, once it was; it is given once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issued: Option<IssuedToken>,
    }
}
wire! {
    /// A log-in that waits, as it is shown to who may confirm it.
    DeviceView {
        /// What the program shows.
        user_code: String,
        /// Address from which the program asked.
        source: String,
        /// When it asked.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        requested_at: Timestamp,
        /// It can be confirmed until then.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        expires_at: Timestamp,
    }
}
wire! {
    /// Who the presented token stands for.
    Me {
        /// The user's name.
        username: String,
        /// What others see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
        /// `drover:user:<uid>`: the name in the clusters.
        kubernetes_user: String,
        /// May do everything, everywhere.
        administrator: bool,
        /// Nothing works but `POST /v1/me/password`.
        must_change_password: bool,
        /// The presented token.
        token: TokenView,
        /// What the caller's roles let them do on the hub.
        #[serde(default)]
        rights: CallerRights,
    }
}
wire! {
    /// A browser's session; its token is in an HttpOnly cookie.
    Session {
        /// Who is signed in.
        me: Me,
        /// What every request but `GET` and `HEAD` shows as `X-Drover-CSRF`.
        csrf_token: Secret,
        /// The session ends when no request has come for so long; exact to some minutes. Absent
        /// while only the password can be changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_seconds: Option<u32>,
        /// The session ends then, whatever is done.
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
        expires_at: Timestamp,
    }
}
wire! {
    /// A person's change of their own password.
    #[serde(deny_unknown_fields)]
    PasswordChange {
        /// The present one.
        current: Secret,
        /// The new one: 12 to 512 characters.
        new: Secret,
    }
}
