//! Icons: line drawings on a grid of 16 pixels, in the color of the text.

use leptos::prelude::*;

/// The icons of the web UI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the name of the variant describes the icon")]
pub enum Icon {
    Alert,
    Check,
    ChevronDown,
    Clock,
    Close,
    Clusters,
    Copy,
    Cross,
    Dash,
    Globe,
    Info,
    Key,
    Lines,
    Lock,
    Moon,
    Offline,
    Person,
    Plus,
    Projects,
    Search,
    Settings,
    SignIn,
    SignOut,
    Sun,
    Tag,
    Terminal,
    Trash,
    Users,
}

impl Icon {
    const fn path(self) -> &'static str {
        match self {
            Self::Alert => "M8 2.2 14.2 13H1.8ZM8 6.4v3.2M8 11.3v.1",
            Self::Check => "m3.2 8.4 3.1 3.1 6.5-7",
            Self::ChevronDown => "m4 6.2 4 4 4-4",
            Self::Clock => "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 4.6V8l2.4 1.6",
            Self::Close | Self::Cross => "m4 4 8 8M12 4l-8 8",
            Self::Clusters => "M2 4.4 8 1.8l6 2.6-6 2.6ZM2 8l6 2.6L14 8M2 11.6l6 2.6 6-2.6",
            Self::Copy => "M5.6 5.6h8v8h-8ZM10.4 5.6V2.4h-8v8h3.2",
            Self::Dash => "M3.5 8h9",
            Self::Globe => {
                "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M1.8 8h12.4M8 1.8c-3.6 3.7-3.6 8.7 0 12.4M8 1.8c3.6 3.7 3.6 8.7 0 12.4"
            }
            Self::Info => "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 7.4v3.8M8 4.8v.1",
            Self::Key => {
                "M10.6 2.2a3.2 3.2 0 1 0 0 6.4 3.2 3.2 0 0 0 0-6.4M8.3 7.7 2.4 13.6M4.4 11.6l1.8 1.8"
            }
            Self::Lines => "M2.6 3.6h10.8M2.6 8h10.8M2.6 12.4h6.4",
            Self::Lock => "M3.2 7.2h9.6v6.4H3.2ZM5.2 7.2V5a2.8 2.8 0 0 1 5.6 0v2.2",
            Self::Moon => "M13.4 9.6A5.8 5.8 0 0 1 6.4 2.6a5.8 5.8 0 1 0 7 7Z",
            Self::Offline => {
                "M1.8 6.2a9 9 0 0 1 12.4 0M4.2 8.9a5.6 5.6 0 0 1 7.6 0M8 12.4v.1M2.4 13.6 13.6 2.4"
            }
            Self::Person => {
                "M8 2.2a2.9 2.9 0 1 0 0 5.8 2.9 2.9 0 0 0 0-5.8M2.6 13.8c.6-2.6 2.6-4 5.4-4s4.8 1.4 5.4 4"
            }
            Self::Plus => "M8 3v10M3 8h10",
            Self::Projects => "M2 3.4h4.4l1.6 2h6v7.2H2Z",
            Self::Search => "M7 2.4a4.6 4.6 0 1 0 0 9.2 4.6 4.6 0 0 0 0-9.2M10.4 10.4l3.4 3.4",
            Self::Settings => {
                "M1.8 4.4h6M11.2 4.4h3M9.5 2.7a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4M1.8 11.6h2.6M7.8 11.6h6.4M6.1 9.9a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4"
            }
            Self::SignIn => "M9.6 2.4h3.6v11.2H9.6M6.4 4.8 9.6 8 6.4 11.2M9.6 8H2.4",
            Self::SignOut => "M6.4 2.4H2.8v11.2h3.6M10 4.8 13.2 8 10 11.2M13.2 8H6.2",
            Self::Sun => {
                "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1.4v1.2M8 13.4v1.2M1.4 8h1.2M13.4 8h1.2M3.3 3.3l.9.9M11.8 11.8l.9.9M12.7 3.3l-.9.9M4.2 11.8l-.9.9"
            }
            Self::Tag => "M2.2 2.2h5.2l6.4 6.4-5.2 5.2-6.4-6.4ZM5 4.9v.1",
            Self::Terminal => "m2.6 4 3.8 4-3.8 4M8.2 12.2h5.2",
            Self::Users => {
                "M6 2.8a2.6 2.6 0 1 0 0 5.2 2.6 2.6 0 0 0 0-5.2M1.4 13.4c.5-2.3 2.2-3.5 4.6-3.5s4.1 1.2 4.6 3.5M10.4 3a2.4 2.4 0 0 1 0 4.8M12 10.1c1.5.5 2.4 1.6 2.7 3.3"
            }
            Self::Trash => {
                "M2.6 4.2h10.8M6 4.2V2.4h4v1.8M4.2 4.2l.6 9.4h6.4l.6-9.4M6.8 6.8v4.4M9.2 6.8v4.4"
            }
        }
    }
}

/// Shows an icon. Screen readers ignore the icon, because a text is next to the icon.
#[component]
pub fn Picture(
    /// The icon to show.
    #[prop(into)]
    icon: Signal<Icon>,
) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path d=move || icon.get().path()></path>
        </svg>
    }
}
