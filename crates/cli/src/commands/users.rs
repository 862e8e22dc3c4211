//! `drover user`.

use drover_api::kinds::IdentityState;
use drover_api::rest::{
    HeldRole, IdentityView, PasswordReset, Secret, UserCreate, UserLink, UserLinked, UserPatch,
    UserView,
};
use jiff::Timestamp;
use reqwest::Method;
use secrecy::ExposeSecret;

use super::login::change_password;
use crate::args::{self, NewPassword, UserArgs, UserCommand, UserPassword};
use crate::client::{CallError, Client};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{NOTHING, age, describe, or_nothing};
use crate::terminal::{ask_new_password, ask_password, confirm, notice, print, read_password};
use drover_entropy::random_password;

/// Does what was asked with users.
pub(crate) async fn run(args: &UserArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        UserCommand::Create(wanted) => create(&client, wanted).await,
        UserCommand::List(output) => {
            let users: Vec<UserView> = client.list(&["v1", "users"]).await?;
            let text = list(
                users,
                output.format,
                Timestamp::now(),
                "There are no users.",
            )?;
            Ok(print(&text)?)
        }
        UserCommand::Get { user, output } => {
            let user: UserView = client.get(&["v1", "users", &user.name]).await?;
            Ok(print(&one(&user, output.format, Timestamp::now())?)?)
        }
        UserCommand::Refresh { user, output } => {
            let path = ["v1", "users", &user.name, "refresh"];
            let user: UserView = client.post(&path, &()).await?;
            Ok(print(&one(&user, output.format, Timestamp::now())?)?)
        }
        UserCommand::Disable(user) => {
            enable(&client, &user.name, false).await?;
            notice(&format!(
                "The user {:?} is disabled; what they hold open ends within seconds.",
                user.name
            ));
            Ok(())
        }
        UserCommand::Enable(user) => {
            enable(&client, &user.name, true).await?;
            notice(&format!("The user {:?} may log in.", user.name));
            Ok(())
        }
        UserCommand::Link(wanted) => link(&client, wanted).await,
        UserCommand::Unlink(wanted) => unlink(&client, wanted).await,
        UserCommand::Passwd(wanted) => passwd(&client, wanted).await,
        UserCommand::RevokeTokens(wanted) => revoke_tokens(&client, wanted).await,
        UserCommand::Delete(wanted) => delete(&client, &wanted.name, wanted.yes).await,
    }
}

async fn create(client: &Client, args: &args::UserCreate) -> Result<(), Failure> {
    let password = new_password(&args.password)?;
    let request = UserCreate {
        name: args.name.clone(),
        display_name: args.display_name.clone(),
        password: password.clone(),
        administrator: args.administrator,
    };
    let user: UserView = client.post(&["v1", "users"], &request).await?;
    if args.password.generate_password {
        print(&format!("{}\n", password.expose()))?;
    }
    notice(&format!(
        "Made the user {:?}; their first login must change the password.",
        user.name
    ));
    Ok(())
}

async fn enable(client: &Client, name: &str, enabled: bool) -> Result<(), CallError> {
    let change = UserPatch {
        enabled: Some(enabled),
        display_name: None,
        administrator: None,
    };
    let path = ["v1", "users", name];
    let _: UserView = client.call(Method::PATCH, &path, &change).await?;
    Ok(())
}

async fn link(client: &Client, args: &args::UserLink) -> Result<(), Failure> {
    let (name, from) = (&args.name, &args.from);
    if !args.yes {
        confirm(
            &format!(
                "Let whoever signs in as {from:?} be {name:?}, with all that {name:?} may do?"
            ),
            "consent to the link",
            "give it with --yes",
        )?;
    }
    let request = UserLink {
        from: from.clone(),
        provider: args.provider.clone(),
    };
    let path = ["v1", "users", name.as_str(), "identities"];
    let linked: UserLinked = client.post(&path, &request).await?;
    let fate = if linked.former.enabled {
        "can be signed in as otherwise still"
    } else {
        "is disabled"
    };
    notice(&format!(
        "The identity is {name:?}'s; {from:?} {fate}. Its log-ins have ended."
    ));
    for left in &linked.roles_left {
        notice(&format!("{from:?} still has the role {}.", role(left)));
    }
    Ok(())
}

/// A role and where it holds.
fn role(held: &HeldRole) -> String {
    match (&held.cluster, &held.project) {
        (Some(cluster), _) => format!("{:?} in the cluster {cluster:?}", held.role),
        (None, Some(project)) => format!("{:?} in the project {project:?}", held.role),
        (None, None) => format!("{:?} everywhere", held.role),
    }
}

async fn unlink(client: &Client, args: &args::UserUnlink) -> Result<(), Failure> {
    let (name, provider) = (args.name.as_str(), &args.provider);
    let user: UserView = client.get(&["v1", "users", name]).await?;
    let mut identities = user.identities.iter();
    let Some(identity) = identities.find(|one| one.provider == *provider) else {
        return Err(Failure::Other(format!(
            "the user {name:?} has no identity of {provider:?}; \"drover user get {}\" shows those there are",
            drover_api::shell::word(name)
        )));
    };
    if !args.yes {
        let login = &identity.login;
        confirm(
            &format!("Shall {login:?} of {provider:?} not be {name:?} any more?"),
            "consent to it",
            "give it with --yes",
        )?;
    }
    let path = ["v1", "users", name, "identities", identity.id.as_str()];
    let _: UserView = client.call(Method::DELETE, &path, &()).await?;
    notice(&format!(
        "{:?} of {provider:?} is not {name:?} any more; what stood on it has ended.",
        identity.login
    ));
    Ok(())
}

async fn passwd(client: &Client, args: &UserPassword) -> Result<(), Failure> {
    let Some(name) = &args.name else {
        return passwd_own(client, args).await;
    };
    let new = new_password(&args.new)?;
    let reset = PasswordReset {
        new: new.clone(),
        revoke_tokens: !args.keep_tokens,
    };
    let path = ["v1", "users", name.as_str(), "password"];
    client.command(Method::POST, &path, Some(&reset)).await?;
    if args.new.generate_password {
        print(&format!("{}\n", new.expose()))?;
    }
    let tokens = if args.keep_tokens {
        "their API and kubeconfig tokens stay valid"
    } else {
        "all their tokens are revoked"
    };
    notice(&format!(
        "The password of {name:?} is set; their next login must change it, and {tokens}."
    ));
    Ok(())
}

async fn revoke_tokens(client: &Client, args: &args::UserRevokeTokens) -> Result<(), Failure> {
    let name = &args.name;
    if !args.yes {
        confirm(
            &format!("Revoke all tokens of {name:?}, sessions included?"),
            "consent to it",
            "give it with --yes",
        )?;
    }
    let path = ["v1", "users", name.as_str(), "tokens"];
    client.command(Method::DELETE, &path, None::<&()>).await?;
    notice(&format!(
        "All tokens of {name:?} are revoked; what they hold open ends within seconds."
    ));
    Ok(())
}

async fn passwd_own(client: &Client, args: &UserPassword) -> Result<(), Failure> {
    let current = if args.password_stdin {
        read_password("the present password")?
    } else {
        ask_password(
            "Present password: ",
            "the present password",
            "give it with --password-stdin",
        )?
    };
    let new = new_password(&args.new)?;
    change_password(client, current, new.clone()).await?;
    if args.new.generate_password {
        print(&format!("{}\n", new.expose()))?;
    }
    notice("Your password is changed; your other logins have ended.");
    Ok(())
}

async fn delete(client: &Client, name: &str, yes: bool) -> Result<(), Failure> {
    if !yes {
        confirm(
            &format!("Delete the user {name:?} and all their tokens?"),
            "consent to the deletion",
            "give it with --yes",
        )?;
    }
    client
        .command(Method::DELETE, &["v1", "users", name], None::<&()>)
        .await?;
    notice(&format!("The user {name:?} is deleted."));
    Ok(())
}

fn new_password(from: &NewPassword) -> Result<Secret, Failure> {
    if from.generate_password {
        made_password()
    } else if from.new_password_stdin {
        Ok(read_password("the new password")?)
    } else {
        Ok(ask_new_password(
            "give it with --new-password-stdin, or use --generate-password",
        )?)
    }
}

fn made_password() -> Result<Secret, Failure> {
    let password = random_password().map_err(|_| {
        Failure::Other("this machine gives no random numbers; try again".to_owned())
    })?;
    Ok(Secret::new(password.expose_secret()))
}

fn word(yes: bool, if_so: &str, if_not: &str) -> String {
    if yes { if_so } else { if_not }.to_owned()
}

fn state(user: &UserView) -> String {
    match (user.enabled, user.must_change_password) {
        (false, _) => "disabled".to_owned(),
        (true, true) => "must change password".to_owned(),
        (true, false) => "enabled".to_owned(),
    }
}

/// Who somebody is to an identity provider, in a line.
fn said(identity: &IdentityView, now: Timestamp) -> String {
    let state = match identity.state {
        IdentityState::Confirmed => "confirmed",
        IdentityState::Refused => "refused",
        IdentityState::Unreachable => "cannot be asked",
    };
    let message = identity.message.as_deref();
    let message = message.map_or_else(String::new, |message| format!(": {message}"));
    let (provider, login, groups) = (&identity.provider, &identity.login, identity.groups.len());
    let confirmed = age(identity.confirmed_at, now);
    format!(
        "{provider} as {login}, in {groups} groups; {state}{message} (confirmed {confirmed} ago)"
    )
}

/// As whom at which providers: a name of Drover's own says nothing of who somebody is, since whoever
/// comes first through any provider is given it.
fn signs_in_with(user: &UserView) -> String {
    let at = |identity: &IdentityView| format!("{} as {}", identity.provider, identity.login);
    let all: Vec<_> = user.identities.iter().map(at).collect();
    let all = all.join(", ");
    or_nothing(Some(&*all).filter(|all| !all.is_empty()))
}

impl Listed for UserView {
    const HEADINGS: &'static [&'static str] = &[
        "NAME",
        "DISPLAY NAME",
        "SIGNS IN WITH",
        "ROLE",
        "STATE",
        "LAST LOGIN",
        "AGE",
    ];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            or_nothing(self.display_name.as_deref()),
            signs_in_with(self),
            word(self.administrator, "administrator", "user"),
            state(self),
            self.last_login_at
                .map_or_else(|| NOTHING.to_owned(), |login| age(login, now)),
            age(self.created_at, now),
        ]
    }
}

impl Page for UserView {
    fn page(&self, now: Timestamp) -> String {
        let login = self
            .last_login_at
            .map(|login| format!("{} ago", age(login, now)));
        let mut lines = vec![
            ("Name", self.name.clone()),
            ("UID", self.uid.clone()),
            ("Display name", or_nothing(self.display_name.as_deref())),
            ("Role", word(self.administrator, "administrator", "user")),
            ("State", state(self)),
            ("Last login", or_nothing(login.as_deref())),
            ("Made", format!("{} ago", age(self.created_at, now))),
        ];
        lines.extend(
            self.identities
                .iter()
                .map(|identity| ("Signs in with", said(identity, now))),
        );
        describe(&lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Format;

    fn user(name: &str) -> UserView {
        UserView {
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            display_name: None,
            enabled: true,
            administrator: false,
            must_change_password: false,
            created_at: "2026-11-20T12:00:00Z".parse().unwrap(),
            last_login_at: None,
            identities: Vec::new(),
            rights: drover_api::rest::UserRights::default(),
        }
    }

    #[test]
    fn users_are_listed_and_shown_with_their_states_in_words() {
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let admin = UserView {
            administrator: true,
            display_name: Some("Ada".to_owned()),
            identities: vec![IdentityView {
                id: "uid-of-corp".to_owned(),
                provider: "corp".to_owned(),
                login: "ada.l".to_owned(),
                groups: Vec::new(),
                groups_left_out: 0,
                confirmed_at: "2026-11-21T11:30:00Z".parse().unwrap(),
                state: IdentityState::Confirmed,
                message: None,
            }],
            last_login_at: Some("2026-11-21T11:30:00Z".parse().unwrap()),
            ..user("admin")
        };
        let new = UserView {
            must_change_password: true,
            ..user("new")
        };
        let gone = UserView {
            enabled: false,
            ..user("gone")
        };
        let page = one(&admin, Format::Table, now).unwrap();
        let text = list(vec![admin, new, gone], Format::Table, now, "").unwrap();
        insta::assert_snapshot!(format!("{text}\n{page}"));
    }
}
