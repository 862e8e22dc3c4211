//! Implements `drover user`.

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
use crate::table::{DASH, age, describe, or_dash};
use crate::terminal::{ask_new_password, ask_password, confirm, notice, print, read_password};
use drover_entropy::random_password;

/// Runs a subcommand of `drover user`.
pub(crate) async fn run(args: &UserArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        UserCommand::Create(wanted) => create(&client, wanted).await,
        UserCommand::List(output) => {
            let users: Vec<UserView> = client.list(&["v1", "users"]).await?;
            let text = list(users, output.format, Timestamp::now(), "No users.")?;
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
                "Disabled the user {:?}. Open requests of the user end within seconds.",
                user.name
            ));
            Ok(())
        }
        UserCommand::Enable(user) => {
            enable(&client, &user.name, true).await?;
            notice(&format!("Enabled the user {:?}.", user.name));
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
        "Created the user {:?}. The first login must change the password.",
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
                "Let the identity of {from:?} log in as {name:?}, with all permissions of {name:?}?"
            ),
            "confirmation of the link",
            "use --yes",
        )?;
    }
    let request = UserLink {
        from: from.clone(),
        provider: args.provider.clone(),
    };
    let path = ["v1", "users", name.as_str(), "identities"];
    let linked: UserLinked = client.post(&path, &request).await?;
    let state = if linked.former.enabled {
        "can still log in"
    } else {
        "is disabled"
    };
    notice(&format!(
        "Moved the identity to {name:?}; the user {from:?} {state}. Its sessions have ended."
    ));
    for left in &linked.roles_left {
        notice(&format!(
            "The user {from:?} still has the role {}.",
            role(left)
        ));
    }
    Ok(())
}

/// Describes a role and its scope.
fn role(held: &HeldRole) -> String {
    match (&held.cluster, &held.project) {
        (Some(cluster), _) => format!("{:?} in the cluster {cluster:?}", held.role),
        (None, Some(project)) => format!("{:?} in the project {project:?}", held.role),
        (None, None) => format!("{:?} (global)", held.role),
    }
}

async fn unlink(client: &Client, args: &args::UserUnlink) -> Result<(), Failure> {
    let (name, provider) = (args.name.as_str(), &args.provider);
    let user: UserView = client.get(&["v1", "users", name]).await?;
    let mut identities = user.identities.iter();
    let Some(identity) = identities.find(|one| one.provider == *provider) else {
        return Err(Failure::Other(format!(
            "the user {name:?} has no identity of the provider {provider:?}; see \"drover user \
             get {user}\"",
            user = drover_api::shell::word(name)
        )));
    };
    if !args.yes {
        let login = &identity.login;
        confirm(
            &format!(
                "Remove the identity {login:?} of the provider {provider:?} from the user {name:?}?"
            ),
            "confirmation",
            "use --yes",
        )?;
    }
    let path = ["v1", "users", name, "identities", identity.id.as_str()];
    let _: UserView = client.call(Method::DELETE, &path, &()).await?;
    notice(&format!(
        "Removed the identity {:?} of the provider {provider:?} from the user {name:?}. Its sessions and tokens have ended.",
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
        "API and kubeconfig tokens stay valid"
    } else {
        "all tokens are revoked"
    };
    notice(&format!(
        "Set the password of {name:?}; {tokens}. The next login must change the password."
    ));
    Ok(())
}

async fn revoke_tokens(client: &Client, args: &args::UserRevokeTokens) -> Result<(), Failure> {
    let name = &args.name;
    if !args.yes {
        confirm(
            &format!("Revoke all tokens and sessions of {name:?}?"),
            "confirmation",
            "use --yes",
        )?;
    }
    let path = ["v1", "users", name.as_str(), "tokens"];
    client.command(Method::DELETE, &path, None::<&()>).await?;
    notice(&format!(
        "Revoked all tokens and sessions of {name:?}. Their open requests end within seconds."
    ));
    Ok(())
}

async fn passwd_own(client: &Client, args: &UserPassword) -> Result<(), Failure> {
    let current = if args.password_stdin {
        read_password("the current password")?
    } else {
        ask_password(
            "Current password: ",
            "the current password",
            "use --password-stdin",
        )?
    };
    let new = new_password(&args.new)?;
    change_password(client, current, new.clone()).await?;
    if args.new.generate_password {
        print(&format!("{}\n", new.expose()))?;
    }
    notice("Changed your password. Your other sessions have ended.");
    Ok(())
}

async fn delete(client: &Client, name: &str, yes: bool) -> Result<(), Failure> {
    if !yes {
        confirm(
            &format!("Delete the user {name:?} and all tokens of the user?"),
            "confirmation of the deletion",
            "use --yes",
        )?;
    }
    client
        .command(Method::DELETE, &["v1", "users", name], None::<&()>)
        .await?;
    notice(&format!("Deleted the user {name:?}."));
    Ok(())
}

fn new_password(from: &NewPassword) -> Result<Secret, Failure> {
    if from.generate_password {
        generated_password()
    } else if from.new_password_stdin {
        Ok(read_password("the new password")?)
    } else {
        Ok(ask_new_password(
            "use --new-password-stdin or --generate-password",
        )?)
    }
}

fn generated_password() -> Result<Secret, Failure> {
    let password = random_password().map_err(|_| {
        Failure::Other("cannot generate a password: the random number generator of the system failed; try again".to_owned())
    })?;
    Ok(Secret::new(password.expose_secret()))
}

fn choose(yes: bool, if_so: &str, if_not: &str) -> String {
    if yes { if_so } else { if_not }.to_owned()
}

fn state(user: &UserView) -> String {
    match (user.enabled, user.must_change_password) {
        (false, _) => "disabled".to_owned(),
        (true, true) => "must change password".to_owned(),
        (true, false) => "enabled".to_owned(),
    }
}

/// Describes an identity in one line.
fn describe_identity(identity: &IdentityView, now: Timestamp) -> String {
    let state = match identity.state {
        IdentityState::Confirmed => "confirmed",
        IdentityState::Refused => "refused",
        IdentityState::Unreachable => "unreachable",
    };
    let message = identity.message.as_deref();
    let message = message.map_or_else(String::new, |message| format!(": {message}"));
    let (provider, login, groups) = (&identity.provider, &identity.login, identity.groups.len());
    let confirmed = age(identity.confirmed_at, now);
    format!(
        "{provider} as {login}, in {groups} groups; {state}{message} (confirmed {confirmed} ago)"
    )
}

/// Lists the user's logins at identity providers. The user name alone does not identify a person.
/// For example, two people can have the same login at two providers, and only one of them has this
/// login as user name.
fn identities(user: &UserView) -> String {
    let at = |identity: &IdentityView| format!("{} as {}", identity.provider, identity.login);
    let all: Vec<_> = user.identities.iter().map(at).collect();
    let all = all.join(", ");
    or_dash(Some(&*all).filter(|all| !all.is_empty()))
}

impl Listed for UserView {
    const HEADINGS: &'static [&'static str] = &[
        "NAME",
        "DISPLAY NAME",
        "IDENTITIES",
        "ROLE",
        "STATE",
        "LAST LOGIN",
        "AGE",
    ];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            or_dash(self.display_name.as_deref()),
            identities(self),
            choose(self.administrator, "administrator", "user"),
            state(self),
            self.last_login_at
                .map_or_else(|| DASH.to_owned(), |login| age(login, now)),
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
            ("Display name", or_dash(self.display_name.as_deref())),
            ("Role", choose(self.administrator, "administrator", "user")),
            ("State", state(self)),
            ("Last login", or_dash(login.as_deref())),
            ("Created", format!("{} ago", age(self.created_at, now))),
        ];
        lines.extend(
            self.identities
                .iter()
                .map(|identity| ("Identity", describe_identity(identity, now))),
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
    fn users_are_listed_and_shown_with_state_and_identities() {
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
