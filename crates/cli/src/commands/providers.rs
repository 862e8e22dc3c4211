//! `drover provider`.

use std::path::Path;

use drover_api::rest::{
    AuthProviderCreate, AuthProviderUpdate, AuthProviderView, ProviderTest, ProviderTrial,
};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::Value;

use crate::args::{self, ProviderArgs, ProviderCommand};
use crate::client::{CallError, Client};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{NOTHING, Table, age, describe, printable};
use crate::terminal::{ask_password, confirm, notice, print, read_password};

/// Tries when a provider changes meanwhile: the server writes its status.
const TRIES: usize = 5;

/// Does what was asked with identity providers.
pub(crate) async fn run(args: &ProviderArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    let now = Timestamp::now();
    match &args.command {
        ProviderCommand::Create(wanted) => create(&client, wanted).await,
        ProviderCommand::List(output) => {
            let all: Vec<AuthProviderView> = client.list(&["v1", "auth-providers"]).await?;
            let none = "There are no identity providers.";
            Ok(print(&list(all, output.format, now, none)?)?)
        }
        ProviderCommand::Get { provider, output } => {
            let view = find(&client, &provider.name).await?;
            Ok(print(&one(&view, output.format, now)?)?)
        }
        ProviderCommand::Test(wanted) => test(&client, wanted).await,
        ProviderCommand::Enable(provider) => {
            enable(&client, &provider.name, true).await?;
            notice(&format!("People can log in with {:?}.", provider.name));
            Ok(())
        }
        ProviderCommand::Disable(provider) => {
            enable(&client, &provider.name, false).await?;
            notice(&format!(
                "Nobody can log in with {:?}; what its people hold open ends within seconds.",
                provider.name
            ));
            Ok(())
        }
        ProviderCommand::Delete(wanted) => delete(&client, wanted).await,
    }
}

async fn find(client: &Client, name: &str) -> Result<AuthProviderView, Failure> {
    Ok(client.get(&["v1", "auth-providers", name]).await?)
}

async fn create(client: &Client, args: &args::ProviderCreate) -> Result<(), Failure> {
    let spec = spec_in(&args.file)?;
    let secret = if args.public {
        None
    } else if args.secret_stdin {
        Some(read_password("the provider's secret")?)
    } else {
        let instead = "give it with --secret-stdin, or say --public";
        Some(ask_password(
            "Its secret: ",
            "the provider's secret",
            instead,
        )?)
    };
    let request = AuthProviderCreate {
        name: args.name.clone(),
        spec,
        secret,
    };
    let made: AuthProviderView = client.post(&["v1", "auth-providers"], &request).await?;
    let name = &made.name;
    notice(&format!(
        "Made the identity provider {name:?}. Try it: drover provider test {}",
        drover_api::shell::word(name)
    ));
    Ok(())
}

fn spec_in(file: &Path) -> Result<Value, Failure> {
    let failed = |problem: String| Failure::Usage(format!("{}: {problem}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    serde_saphyr::from_str(&text).map_err(|error| failed(error.to_string()))
}

async fn test(client: &Client, args: &args::ProviderTest) -> Result<(), Failure> {
    let password = match (&args.login, args.password_stdin) {
        (None, _) => None,
        (Some(_), true) => Some(read_password("the password")?),
        (Some(_), false) => {
            let instead = "give it with --password-stdin";
            Some(ask_password("Password: ", "the password", instead)?)
        }
    };
    let request = ProviderTest {
        login: args.login.clone(),
        password,
    };
    let path = ["v1", "providers", args.name.as_str(), "test"];
    let trial: ProviderTrial = client.post(&path, &request).await?;
    print(&one(&trial, args.output.format, Timestamp::now())?)?;
    if trial.works {
        return Ok(());
    }
    let name = printable(&args.name);
    Err(Failure::Other(format!(
        "the identity provider {name} does not work yet"
    )))
}

/// Sends the spec back as it is, but for this; begins anew if another changed it meanwhile.
async fn enable(client: &Client, name: &str, enabled: bool) -> Result<(), Failure> {
    let mut tries = 1;
    loop {
        let view = find(client, name).await?;
        let mut spec = view.spec;
        if let Some(fields) = spec.as_object_mut() {
            fields.insert("enabled".to_owned(), enabled.into());
        }
        let update = AuthProviderUpdate {
            spec,
            secret: None,
            resource_version: Some(view.resource_version),
        };
        let path = ["v1", "auth-providers", name];
        let sent: Result<AuthProviderView, CallError> =
            client.call(Method::PUT, &path, &update).await;
        match sent {
            Err(CallError::Refused(refusal)) if refusal.code == 409 && tries < TRIES => tries += 1,
            answer => {
                answer?;
                return Ok(());
            }
        }
    }
}

async fn delete(client: &Client, args: &args::ProviderDelete) -> Result<(), Failure> {
    let name = &args.name;
    if !args.yes {
        let view = find(client, name).await?;
        confirm(
            &format!(
                "Delete the identity provider {:?}? Its people cannot log in any more, and one \
                 of the same name is another.",
                view.name
            ),
            "consent to the deletion",
            "give it with --yes",
        )?;
    }
    let path = ["v1", "auth-providers", name.as_str()];
    client.command(Method::DELETE, &path, None::<&()>).await?;
    notice(&format!("Deleted the identity provider {name:?}."));
    Ok(())
}

fn protocol(view: &AuthProviderView) -> &'static str {
    let is = |name: &str| view.spec.get(name).is_some_and(|part| !part.is_null());
    match () {
        () if is("oidc") => "OpenID Connect",
        () if is("github") => "GitHub",
        () if is("ldap") => "LDAP",
        () => NOTHING,
    }
}

fn state(view: &AuthProviderView) -> String {
    let ready = view.conditions.iter().find(|one| one.type_ == "Ready");
    ready.map_or_else(|| NOTHING.to_owned(), |ready| ready.reason.clone())
}

impl Listed for AuthProviderView {
    const HEADINGS: &'static [&'static str] =
        &["NAME", "PROTOCOL", "ENABLED", "STATE", "LAST ANSWER", "AGE"];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let enabled = self.spec["enabled"].as_bool().unwrap_or_default();
        vec![
            self.name.clone(),
            protocol(self).to_owned(),
            if enabled { "yes" } else { "no" }.to_owned(),
            state(self),
            self.last_answer_at
                .map_or_else(|| NOTHING.to_owned(), |answer| age(answer, now)),
            age(self.created_at, now),
        ]
    }
}

impl Page for AuthProviderView {
    fn page(&self, now: Timestamp) -> String {
        let ready = self.conditions.iter().find(|one| one.type_ == "Ready");
        let said = ready.map_or(NOTHING, |ready| ready.message.as_str());
        let answer = self
            .last_answer_at
            .map_or_else(|| NOTHING.to_owned(), |at| format!("{} ago", age(at, now)));
        let enabled = self.spec["enabled"].as_bool().unwrap_or_default();
        describe(&[
            ("Name", self.name.clone()),
            ("UID", self.uid.clone()),
            ("Protocol", protocol(self).to_owned()),
            ("Enabled", if enabled { "yes" } else { "no" }.to_owned()),
            ("State", state(self)),
            ("Which means", said.to_owned()),
            ("Last answer", answer),
            ("Made", format!("{} ago", age(self.created_at, now))),
        ])
    }
}

impl Page for ProviderTrial {
    fn page(&self, _now: Timestamp) -> String {
        let mut table = Table::new(&["TRIED", "WORKS", "FOUND"]);
        for check in &self.checks {
            let works = if check.works { "yes" } else { "no" };
            table.row(&[check.what.clone(), works.to_owned(), check.found.clone()]);
        }
        table.render()
    }
}
