//! The dialog that creates a user with an initial password.

use drover_api::rest::{Secret, UserCreate, UserView};
use drover_ui_core::messages::t;
use drover_ui_core::shell;
use drover_ui_core::url::segment;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Checkbox, TextField};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;

use super::actions::{FirstPassword, GeneratedPassword};
use super::password::{NewPassword, PasswordFields};
use crate::live::listing::Listing;
use crate::screens::address::to_created;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// Shows the form. After the request, shows the generated password.
#[component]
pub(super) fn CreateUser(open: RwSignal<bool>, listing: Listing<UserView>) -> impl IntoView {
    let generated = RwSignal::new(None::<GeneratedPassword>);
    let (created, lead) = (RwSignal::new(None::<String>), to_created());
    Effect::new(move || {
        if !open.get() {
            generated.set(None);
            // The dialog shows the password once, so the page navigates after the dialog closes.
            if let Some(name) = created.try_update(Option::take).flatten() {
                lead(format!("/users/{}", segment(&name)));
            }
        }
    });
    let is_shown = Signal::derive(move || generated.with(Option::is_some));
    view! {
        <FormDialog open=open title=t().users.create() is_locked=is_shown let:sending>
            {move || match generated.get() {
                None => view! { <Form generated=generated created=created sending=sending listing=listing open=open/> }.into_any(),
                Some(generated) => view! { <FirstPassword generated=generated open=open/> }.into_any(),
            }}
        </FormDialog>
    }
}

/// The entered values of the form that creates a user.
#[derive(Clone, Copy)]
struct UserForm {
    name: RwSignal<String>,
    shown: RwSignal<String>,
    administrator: RwSignal<bool>,
    password: NewPassword,
}

impl UserForm {
    fn new() -> Self {
        Self {
            name: RwSignal::new(String::new()),
            shown: RwSignal::new(String::new()),
            administrator: RwSignal::new(false),
            password: NewPassword::new(),
        }
    }

    fn is_ready(self) -> bool {
        self.name.with(|name| !name.trim().is_empty()) && self.password.is_ready()
    }

    fn request(self, password: Secret) -> UserCreate {
        let shown = self.shown.with_untracked(|text| text.trim().to_owned());
        UserCreate {
            name: self.name.with_untracked(|text| text.trim().to_owned()),
            display_name: (!shown.is_empty()).then_some(shown),
            password,
            administrator: self.administrator.get_untracked(),
        }
    }

    fn command(self) -> String {
        let shown = self.shown.with(|text| text.trim().to_owned());
        let shown = match shown.as_str() {
            "" => String::new(),
            shown => format!(" --display-name={}", shell::word(shown)),
        };
        let administrator = if self.administrator.get() {
            " --administrator"
        } else {
            ""
        };
        let name = self.name.with(|text| text.trim().to_owned());
        let name = if name.is_empty() {
            "NAME".to_owned()
        } else {
            shell::word(&name)
        };
        format!(
            "drover user create {name}{shown}{administrator}{}",
            self.password.option()
        )
    }
}

/// The names of the form fields that show the server's errors next to their inputs.
const FIELDS: &[&str] = &["name", "displayName", "password"];

#[component]
fn Form(
    generated: RwSignal<Option<GeneratedPassword>>,
    /// The name of the created user. The page then opens the screen of this user.
    created: RwSignal<Option<String>>,
    sending: Sending,
    listing: Listing<UserView>,
    open: RwSignal<bool>,
) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let wish = UserForm::new();
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let password = untrack(move || wish.is_ready()).then(|| wish.password.take(toasts));
        let Some((password, show)) = password.flatten() else {
            return;
        };
        let request = wish.request(password.clone());
        let request = async move { session.send("POST", "/v1/users", &request).await };
        sending.send(request, move |user: UserView| {
            listing.again();
            toasts.say(t().users.created(&user.name));
            let _ = created.try_set(Some(user.name.clone()));
            GeneratedPassword::tell(show, user.name, password, generated, open);
        });
    };
    view! {
        <form class="dialog-body" on:submit=submit>
            <Refusal sending=sending fields=FIELDS/>
            <TextField label=t().labels.name() value=wish.name focused=true error=sending.of("name")
                help=t().users.name_help()/>
            <TextField label=t().labels.display_name() value=wish.shown error=sending.of("displayName")
                help=t().users.display_name_help()/>
            {session.is_administrator().then(|| view! {
                <Checkbox label=t().users.create_administrator() checked=wish.administrator/>
            })}
            <PasswordFields password=wish.password error=sending.of("password")/>
            <p class="muted">{t().users.first_password_help()}</p>
            <Code label=t().labels.command() text=Signal::derive(move || wish.command())/>
            <FormFoot open=open verb=t().users.create() sending=sending
                disabled=Signal::derive(move || !wish.is_ready())/>
        </form>
    }
}
