//! People in words, and what may be typed of them.

use drover_api::rest::UserView;

/// The fewest letters of a password; the server has the last word.
pub const SHORTEST_PASSWORD: usize = 12;

/// Whether somebody can sign in, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// They cannot sign in.
    Disabled,
    /// They can, and must choose a password first.
    MustChange,
    /// They can.
    Enabled,
}

impl Standing {
    /// All of them, worst first.
    pub const ALL: [Self; 3] = [Self::Disabled, Self::MustChange, Self::Enabled];

    /// How somebody stands.
    pub const fn of(user: &UserView) -> Self {
        match (user.enabled, user.must_change_password) {
            (false, _) => Self::Disabled,
            (true, true) => Self::MustChange,
            (true, false) => Self::Enabled,
        }
    }

    /// The same in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::MustChange => "must change password",
            Self::Enabled => "enabled",
        }
    }

    /// A short key for URLs.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::MustChange => "must-change",
            Self::Enabled => "enabled",
        }
    }
}

/// Whether a user has every word that was typed, in what is shown of them.
pub fn passes(user: &UserView, typed: &str) -> bool {
    let rights = if user.administrator {
        "administrator"
    } else {
        ""
    };
    let shown = [
        user.name.as_str(),
        user.display_name.as_deref().unwrap_or_default(),
        Standing::of(user).words(),
        rights,
    ];
    let shown = shown.map(str::to_lowercase);
    let mut words = typed.split_whitespace().map(str::to_lowercase);
    words.all(|word| shown.iter().any(|text| text.contains(&word)))
}

/// What is wrong with a password before the server is asked; nothing while none is typed.
pub fn complaint(password: &str) -> Option<String> {
    let letters = password.chars().count();
    (letters > 0 && letters < SHORTEST_PASSWORD)
        .then(|| format!("At least {SHORTEST_PASSWORD} characters."))
}

/// Whether nobody is left who can administer Drover once this user cannot.
pub fn is_last_administrator(users: &[UserView], name: &str) -> bool {
    let can = |user: &&UserView| user.administrator && user.enabled;
    let mut others = users.iter().filter(can).map(|user| user.name.as_str());
    others.clone().any(|other| other == name) && others.all(|other| other == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, administrator: bool, enabled: bool) -> UserView {
        UserView {
            name: name.to_owned(),
            uid: name.to_owned(),
            display_name: Some("Ann Lee".to_owned()),
            enabled,
            administrator,
            must_change_password: false,
            created_at: jiff::Timestamp::UNIX_EPOCH,
            last_login_at: None,
            identities: Vec::new(),
        }
    }

    #[test]
    fn users_are_found_by_what_is_shown_of_them() {
        let ann = user("ann", true, true);
        for (typed, wanted) in [
            ("", true),
            ("LEE", true),
            ("admin", true),
            ("enabled ann", true),
            ("disabled", false),
            ("bob", false),
        ] {
            assert_eq!(passes(&ann, typed), wanted, "{typed}");
        }
    }

    #[test]
    fn the_last_administrator_is_known() {
        let users = [
            user("ann", true, true),
            user("bob", true, false),
            user("eve", false, true),
        ];
        assert!(is_last_administrator(&users, "ann"));
        assert!(!is_last_administrator(&users, "bob"), "he cannot already");
        assert!(!is_last_administrator(&users, "eve"));
        let two = [user("ann", true, true), user("bob", true, true)];
        assert!(!is_last_administrator(&two, "ann"));
    }

    #[test]
    fn a_short_password_is_complained_of_once_it_is_begun() {
        assert_eq!(complaint(""), None);
        assert!(complaint("elf letters").is_some());
        assert_eq!(complaint("twelve chars"), None);
    }
}
