//! The pages that the navigation and the palette show to the user.

use drover_ui_core::messages::t;
use drover_ui_kit::icon::Icon;

use crate::session::Session;

/// A page of the web UI, or a page with an open form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// The URL path. The path of a form also contains a query string.
    pub(crate) path: &'static str,
    pub(crate) icon: Icon,
    /// The title of the page in the palette.
    pub(crate) title: &'static str,
    /// The position and the label in the navigation; `None` for pages that only the palette shows.
    pub(crate) navigation: Option<(u8, &'static str)>,
}

impl Page {
    const fn new(path: &'static str, icon: Icon, title: &'static str) -> Self {
        Self {
            path,
            icon,
            title,
            navigation: None,
        }
    }

    const fn at(mut self, position: u8, label: &'static str) -> Self {
        self.navigation = Some((position, label));
        self
    }
}

/// Returns the pages that the user's permissions allow, in the order of the palette. The function
/// does not subscribe the caller to changes of the permissions.
pub(crate) fn pages(session: Session) -> Vec<Page> {
    let mut pages = pages_of_all_users(session);
    pages.extend(pages_by_rights(session));
    pages
}

fn pages_of_all_users(session: Session) -> Vec<Page> {
    let (frame, palette) = (&t().frame, &t().palette);
    let mut roles = Page::new("/roles", Icon::Lock, frame.roles());
    if session.is_administrator() || session.rights().may_list_global_members {
        roles = roles.at(6, frame.roles());
    }
    let mut pages = vec![
        Page::new("/", Icon::Clusters, palette.all_clusters()).at(0, frame.clusters()),
        Page::new("/problems", Icon::Alert, t().problems_page.title())
            .at(1, t().problems_page.title()),
        Page::new("/logs", Icon::Lines, t().several_logs.title()),
        Page::new("/import", Icon::Plus, palette.import()),
        Page::new("/projects", Icon::Projects, frame.projects()).at(2, frame.projects()),
        Page::new("/projects?do=create", Icon::Plus, palette.create_project()),
        Page::new("/access", Icon::Lock, palette.access()),
        roles,
        Page::new("/tokens", Icon::Key, frame.tokens()).at(3, frame.tokens()),
        Page::new("/tokens?do=create", Icon::Plus, palette.create_token()),
        Page::new("/port-forwards", Icon::Globe, t().forwards.title()),
        Page::new("/about", Icon::Info, palette.about()).at(9, frame.about()),
        Page::new("/device", Icon::Terminal, palette.device()),
    ];
    if session.provider().is_none() {
        let title = frame.change_password();
        pages.push(Page::new("/password", Icon::Lock, title));
    }
    pages
}

fn pages_by_rights(session: Session) -> Vec<Page> {
    let (frame, palette) = (&t().frame, &t().palette);
    let (rights, administers) = (session.rights(), session.is_administrator());
    let users = Page::new("/users", Icon::Users, frame.users());
    let create_user = Page::new("/users?do=create", Icon::Plus, palette.create_user());
    let providers = Page::new("/providers", Icon::SignIn, palette.providers());
    let members = Page::new("/global-members", Icon::Users, palette.global_members());
    let settings = Page::new("/settings", Icon::Settings, frame.settings());
    let create_provider = palette.create_provider();
    let create_provider = Page::new("/providers?do=create", Icon::Plus, create_provider);
    let audit = Page::new("/audit", Icon::Lines, palette.audit());
    let all = [
        (rights.may_list_users, users.at(4, frame.users())),
        (rights.may_create_users, create_user),
        (
            rights.may_list_providers,
            providers.at(5, frame.providers()),
        ),
        (rights.may_list_global_members, members),
        (rights.may_list_settings, settings.at(8, frame.settings())),
        (administers, create_provider),
        (administers, audit.at(7, frame.audit())),
    ];
    let allowed = all.into_iter().filter(|(allowed, _)| *allowed);
    allowed.map(|(_, page)| page).collect()
}

/// Returns the pages of the navigation in their order.
pub(crate) fn navigation(session: Session) -> Vec<Page> {
    let mut found = pages(session);
    found.retain(|page| page.navigation.is_some());
    found.sort_by_key(|page| page.navigation);
    found
}
