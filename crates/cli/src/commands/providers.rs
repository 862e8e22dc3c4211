//! Implements `drover provider`.

use std::path::Path;

use drover_api::rest::{
    AuthProviderCreate, AuthProviderUpdate, AuthProviderView, ProviderTest, ProviderTestResult,
};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::Value;

use crate::args::{self, ProviderArgs, ProviderCommand};
use crate::client::{CallError, Client};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, Page, list, one};
use crate::table::{DASH, Table, age, describe, printable};
use crate::terminal::{ask_password, confirm, notice, print, read_password};

/// Maximum number of attempts to change a provider. An attempt can fail with a conflict, because
/// the server writes the status of providers.
const MAX_ATTEMPTS: usize = 5;

/// Runs a subcommand of `drover provider`.
pub(crate) async fn run(args: &ProviderArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    let now = Timestamp::now();
    match &args.command {
        ProviderCommand::Create(wanted) => create(&client, wanted).await,
        ProviderCommand::List(output) => {
            let all: Vec<AuthProviderView> = client.list(&["v1", "auth-providers"]).await?;
            let none = "No identity providers.";
            Ok(print(&list(all, output.format, now, none)?)?)
        }
        ProviderCommand::Get { provider, output } => {
            let view = find(&client, &provider.name).await?;
            Ok(print(&one(&view, output.format, now)?)?)
        }
        ProviderCommand::Test(wanted) => test(&client, wanted).await,
        ProviderCommand::Enable(provider) => {
            enable(&client, &provider.name, true).await?;
            notice(&format!(
                "Enabled the identity provider {:?}.",
                provider.name
            ));
            Ok(())
        }
        ProviderCommand::Disable(provider) => {
            enable(&client, &provider.name, false).await?;
            notice(&format!(
                "Disabled the identity provider {:?}. Open requests of its users end within seconds.",
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
        Some(read_password("the secret of the provider")?)
    } else {
        let instead = "use --secret-stdin or --public";
        Some(ask_password(
            "Secret: ",
            "the secret of the provider",
            instead,
        )?)
    };
    let request = AuthProviderCreate {
        name: args.name.clone(),
        spec,
        secret,
    };
    let created: AuthProviderView = client.post(&["v1", "auth-providers"], &request).await?;
    let name = &created.name;
    notice(&format!(
        "Created the identity provider {name:?}. Test it: drover provider test {}",
        drover_api::shell::word(name)
    ));
    Ok(())
}

fn spec_in(file: &Path) -> Result<Value, Failure> {
    let failed = |problem: String| {
        Failure::Usage(format!(
            "cannot read {path}: {problem}",
            path = file.display()
        ))
    };
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    serde_saphyr::from_str(&text).map_err(|error| failed(error.to_string()))
}

async fn test(client: &Client, args: &args::ProviderTest) -> Result<(), Failure> {
    let password = match (&args.login, args.password_stdin) {
        (None, _) => None,
        (Some(_), true) => Some(read_password("the password")?),
        (Some(_), false) => {
            let instead = "use --password-stdin";
            Some(ask_password("Password: ", "the password", instead)?)
        }
    };
    let request = ProviderTest {
        login: args.login.clone(),
        password,
    };
    let path = ["v1", "providers", args.name.as_str(), "test"];
    let trial: ProviderTestResult = client.post(&path, &request).await?;
    print(&one(&trial, args.output.format, Timestamp::now())?)?;
    if trial.works {
        return Ok(());
    }
    let name = printable(&args.name);
    Err(Failure::Other(format!(
        "the test of the identity provider {name} failed; standard output contains the result"
    )))
}

/// Enables or disables an identity provider. Retries after a conflict.
async fn enable(client: &Client, name: &str, enabled: bool) -> Result<(), Failure> {
    let mut attempts = 1;
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
            Err(CallError::Refused(refusal)) if refusal.code == 409 && attempts < MAX_ATTEMPTS => {
                attempts += 1;
            }
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
                "Delete the identity provider {:?}? Its users can no longer log in, and a new \
                 provider with the same name does not restore their access.",
                view.name
            ),
            "confirmation of the deletion",
            "use --yes",
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
        () => DASH,
    }
}

fn state(view: &AuthProviderView) -> String {
    let ready = view.conditions.iter().find(|one| one.type_ == "Ready");
    ready.map_or_else(|| DASH.to_owned(), |ready| ready.reason.clone())
}

impl Listed for AuthProviderView {
    const HEADINGS: &'static [&'static str] = &[
        "NAME",
        "PROTOCOL",
        "ENABLED",
        "STATE",
        "LAST RESPONSE",
        "AGE",
    ];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let enabled = self.spec["enabled"].as_bool().unwrap_or_default();
        vec![
            self.name.clone(),
            protocol(self).to_owned(),
            if enabled { "yes" } else { "no" }.to_owned(),
            state(self),
            self.last_answer_at
                .map_or_else(|| DASH.to_owned(), |answer| age(answer, now)),
            age(self.created_at, now),
        ]
    }
}

impl Page for AuthProviderView {
    fn page(&self, now: Timestamp) -> String {
        let ready = self.conditions.iter().find(|one| one.type_ == "Ready");
        let message = ready.map_or(DASH, |ready| ready.message.as_str());
        let answer = self
            .last_answer_at
            .map_or_else(|| DASH.to_owned(), |at| format!("{} ago", age(at, now)));
        let enabled = self.spec["enabled"].as_bool().unwrap_or_default();
        describe(&[
            ("Name", self.name.clone()),
            ("UID", self.uid.clone()),
            ("Protocol", protocol(self).to_owned()),
            ("Enabled", if enabled { "yes" } else { "no" }.to_owned()),
            ("State", state(self)),
            ("Message", message.to_owned()),
            ("Last response", answer),
            ("Created", format!("{} ago", age(self.created_at, now))),
        ])
    }
}

impl Page for ProviderTestResult {
    fn page(&self, _now: Timestamp) -> String {
        let mut table = Table::new(&["CHECK", "PASSED", "DETAILS"]);
        for check in &self.checks {
            let works = if check.works { "yes" } else { "no" };
            table.row(&[check.what.clone(), works.to_owned(), check.found.clone()]);
        }
        table.render()
    }
}
