//! The dialog that creates a token and shows its secret once.

use std::sync::Arc;

use drover_api::kinds::TokenPurpose;
use drover_api::rest::{IssuedToken, List, SettingView, TokenCreate, TokenView};
use drover_ui_core::lifetime;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::shell;
use drover_ui_kit::button::Button;
use drover_ui_kit::code::Code;
use drover_ui_kit::field::TextField;
use drover_ui_kit::notice::{Banner, BannerKind};
use drover_ui_kit::picker::Picker;
use drover_ui_kit::secret::SecretText;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::clock::in_full;
use crate::command::origin;
use crate::live::Clusters;
use crate::live::listing::Listing;
use crate::screens::form::{FormDialog, FormFoot, Refusal, Sending};
use crate::session::Session;

/// The maximum length of the description. The server also validates the length.
const DESCRIPTION: usize = 256;

type Issued = RwSignal<Option<Arc<IssuedToken>>>;

/// Shows the form. After the creation of the token, shows the token's secret. The page deletes the
/// secret when the dialog closes.
#[component]
pub(super) fn CreateToken(open: RwSignal<bool>, listing: Listing<TokenView>) -> impl IntoView {
    let issued: Issued = RwSignal::new(None);
    Effect::new(move || {
        if !open.get() {
            issued.set(None);
        }
    });
    let is_shown = Signal::derive(move || issued.with(Option::is_some));
    view! {
        <FormDialog open=open title=t().tokens.create() is_locked=is_shown let:sending>
            {move || match issued.get() {
                None => view! { <Form issued=issued sending=sending listing=listing open=open/> }.into_any(),
                Some(token) => view! { <Shown token=token open=open/> }.into_any(),
            }}
        </FormDialog>
    }
}

/// The token lifetimes in the settings. Only administrators can read the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TokenLifetimes {
    by_default: Option<u64>,
    longest: Option<u64>,
}

impl TokenLifetimes {
    fn of(settings: &[SettingView]) -> Self {
        let of = |name: &str| {
            let found = settings.iter().find(|setting| setting.name == name);
            found.and_then(|setting| lifetime::parse(&setting.in_effect))
        };
        Self {
            by_default: of("token-default-ttl"),
            longest: of("token-max-ttl"),
        }
    }

    fn help(self) -> String {
        match (self.by_default, self.longest) {
            (Some(default), Some(longest)) => t().tokens.lifetime_help(
                &lifetime::words(default.min(longest)),
                &lifetime::words(longest),
            ),
            _ => t().tokens.lifetime_help_unknown().to_owned(),
        }
    }
}

/// Reads the lifetimes if the user can read settings. The form also works without the lifetimes.
fn lives() -> RwSignal<TokenLifetimes> {
    let (session, lives) = (
        expect_context::<Session>(),
        RwSignal::new(TokenLifetimes::default()),
    );
    if session.rights().may_list_settings {
        spawn_local(async move {
            let answer: Result<List<SettingView>, Problem> = session.get("/v1/settings").await;
            if let Ok(settings) = answer {
                // The dialog can be closed before the response arrives.
                let _ = lives.try_set(TokenLifetimes::of(&settings.items));
            }
        });
    }
    lives
}

/// The entered values of the form that creates a token.
#[derive(Clone, Copy)]
struct TokenForm {
    description: RwSignal<String>,
    cluster: RwSignal<Option<String>>,
    life: RwSignal<String>,
    lives: RwSignal<TokenLifetimes>,
}

impl TokenForm {
    fn new() -> Self {
        Self {
            description: RwSignal::new(String::new()),
            cluster: RwSignal::new(None),
            life: RwSignal::new(String::new()),
            lives: lives(),
        }
    }

    fn seconds(self) -> Result<Option<u64>, String> {
        let longest = self.lives.get().longest;
        self.life.with(|life| lifetime::read(life, longest))
    }

    fn input_error(self) -> Option<String> {
        let letters = self.description.with(|text| text.trim().chars().count());
        (letters > DESCRIPTION).then(|| t().forms.too_long(DESCRIPTION, letters))
    }

    fn request(self) -> Option<TokenCreate> {
        if self.input_error().is_some() {
            return None;
        }
        let description = self.description.with(|text| text.trim().to_owned());
        Some(TokenCreate {
            purpose: TokenPurpose::Api,
            cluster: self.cluster.get(),
            description: (!description.is_empty()).then_some(description),
            ttl_seconds: self.seconds().ok()?,
        })
    }

    fn command(self) -> String {
        let description = self.description.with(|text| text.trim().to_owned());
        let option = |name: &str, value: &str| match value {
            "" => String::new(),
            value => format!(" --{name}={}", shell::word(value)),
        };
        format!(
            "drover token create{}{}{}",
            option("description", &description),
            option("cluster", &self.cluster.get().unwrap_or_default()),
            option("ttl", self.life.get().trim()),
        )
    }
}

#[component]
fn Form(
    issued: Issued,
    sending: Sending,
    listing: Listing<TokenView>,
    open: RwSignal<bool>,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let wish = TokenForm::new();
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let Some(request) = untrack(|| wish.request()) else {
            return;
        };
        let request = async move { session.send("POST", "/v1/tokens", &request).await };
        sending.send(request, move |token: IssuedToken| {
            listing.again();
            // The dialog can be closed before the response arrives.
            let _ = issued.try_set(Some(Arc::new(token)));
        });
    };
    let (of_description, of_life) = (sending.of("description"), sending.of("ttlSeconds"));
    let life_error = move || wish.seconds().err().or_else(|| of_life.get());
    let help = Signal::derive(move || wish.lives.get().help());
    view! {
        <form class="dialog-body" on:submit=submit>
            <p class="muted">{t().tokens.create_help()}</p>
            <Refusal sending=sending fields=&["description", "cluster", "ttlSeconds"]/>
            <TextField label=t().labels.description() value=wish.description focused=true
                help=t().tokens.description_help()
                error=Signal::derive(move || wish.input_error().or_else(|| of_description.get()))/>
            <ClusterPicker value=wish.cluster error=sending.of("cluster")/>
            <TextField label=t().tokens.lifetime() value=wish.life help=help error=Signal::derive(life_error)/>
            <Code label=t().labels.command() text=Signal::derive(move || wish.command())/>
            <FormFoot open=open verb=t().tokens.create() sending=sending
                disabled=Signal::derive(move || wish.request().is_none())/>
        </form>
    }
}

#[component]
fn ClusterPicker(value: RwSignal<Option<String>>, error: Signal<Option<String>>) -> impl IntoView {
    let choices = expect_context::<Clusters>().choices();
    view! {
        <Picker
            label=t().labels.scope()
            choices=choices
            value=value
            none=t().tokens.all_clusters()
            help=t().tokens.scope_help()
            error=error
        />
    }
}

/// Shows the secret of the created token.
#[component]
fn Shown(token: Arc<IssuedToken>, open: RwSignal<bool>) -> impl IntoView {
    let taken = RwSignal::new(false);
    let view = &token.metadata;
    let place = match &view.cluster {
        Some(scope) => t().tokens.only_cluster(&scope.name),
        None => t().tokens.all_clusters().to_owned(),
    };
    let ends = in_full(view.expires_at).to_string();
    let usage = format!(
        "export DROVER_SERVER={} DROVER_TOKEN=…\ndrover cluster list",
        shell::word(&origin())
    );
    let close = move || {
        if taken.get() {
            t().buttons.done()
        } else {
            t().tokens.stored()
        }
    };
    view! {
        <div class="dialog-body">
            <Banner mood=BannerKind::Warning>
                {t().tokens.copy_now()}
            </Banner>
            <SecretText label=t().tokens.token() text=token.token.expose().to_owned() taken=taken focused=true/>
            <dl class="facts">
                <dt>{t().labels.scope()}</dt><dd>{place}</dd>
                <dt>{t().labels.expires()}</dt><dd>{ends}</dd>
            </dl>
            <Code label=t().tokens.usage() text=usage/>
            <div class="dialog-foot">
                <Button on_press=move |()| open.set(false)>{close}</Button>
            </div>
        </div>
    }
}
