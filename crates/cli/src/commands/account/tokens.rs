//! Implements `drover token`.

use drover_api::kinds::TokenPurpose;
use drover_api::rest::{IssuedToken, TokenCreate, TokenView};
use jiff::Timestamp;
use reqwest::Method;

use crate::args::{Format, TokenArgs, TokenCommand, TokenCreateArgs};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, encode, list};
use crate::table::{DASH, age, or_dash, until};
use crate::terminal::{notice, print};

/// Runs a subcommand of `drover token`.
pub(crate) async fn run(args: &TokenArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    match &args.command {
        TokenCommand::Create(wanted) => {
            let issued = client.post(&["v1", "tokens"], &request(wanted)).await?;
            show_issued(&issued, wanted.output.format)
        }
        TokenCommand::List(output) => {
            let tokens: Vec<TokenView> = client.list(&["v1", "tokens"]).await?;
            let none = "No tokens.";
            Ok(print(&list(
                tokens,
                output.format,
                Timestamp::now(),
                none,
            )?)?)
        }
        TokenCommand::Delete(wanted) => {
            let id = id_of(&wanted.id);
            client
                .command(Method::DELETE, &["v1", "tokens", id], None::<&()>)
                .await?;
            notice(&format!("Revoked the token {id:?}."));
            Ok(())
        }
    }
}

fn request(args: &TokenCreateArgs) -> TokenCreate {
    TokenCreate {
        purpose: TokenPurpose::Api,
        cluster: args.cluster.clone(),
        description: args.description.clone(),
        ttl_seconds: args.ttl.map(|ttl| ttl.0.as_secs()),
    }
}

/// Prints only the secret to standard output, so that scripts can capture it.
fn show_issued(issued: &IssuedToken, format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => print(&format!("{}\n", issued.token.expose()))?,
        Format::Json | Format::Yaml => print(&encode(issued, format)?)?,
    }
    notice(&format!(
        "The token {:?} expires {}. Store it now: it cannot be shown again.",
        issued.metadata.id,
        until(issued.metadata.expires_at, Timestamp::now())
    ));
    Ok(())
}

/// Returns the ID of a token. `typed` is an ID or a complete token. A complete token contains the
/// secret, and the secret must not occur in a URL.
fn id_of(typed: &str) -> &str {
    let mut parts = typed.split('_');
    match (parts.next(), parts.next()) {
        (Some("drover"), Some(id)) => id,
        _ => typed,
    }
}

fn purpose(purpose: TokenPurpose) -> &'static str {
    match purpose {
        TokenPurpose::Session => "login",
        TokenPurpose::Browser => "browser",
        TokenPurpose::PasswordChange => "password change",
        TokenPurpose::Api => "API",
        TokenPurpose::Kubeconfig => "kubeconfig",
        TokenPurpose::Credential => "kubectl",
    }
}

impl Listed for TokenView {
    const HEADINGS: &'static [&'static str] = &[
        "ID",
        "USER",
        "PURPOSE",
        "CLUSTER",
        "EXPIRES",
        "LAST USED",
        "AGE",
        "DESCRIPTION",
    ];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let cluster = self.cluster.as_ref().map(|scope| scope.name.as_str());
        vec![
            self.id.clone(),
            self.username.clone(),
            purpose(self.purpose).to_owned(),
            cluster.unwrap_or("all").to_owned(),
            until(self.expires_at, now),
            self.last_used_at
                .map_or_else(|| DASH.to_owned(), |used| age(used, now)),
            age(self.created_at, now),
            or_dash(self.description.as_deref()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use drover_api::ids::ClusterUid;
    use drover_api::kinds::ClusterScope;

    use super::*;

    #[test]
    fn tokens_are_listed_with_their_purpose() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let token = TokenView {
            id: "k2j4".to_owned(),
            username: "alice".to_owned(),
            purpose: TokenPurpose::Api,
            cluster: None,
            provider: None,
            description: Some("backup job".to_owned()),
            created_at: at("2026-11-20T12:00:00Z"),
            expires_at: at("2026-12-21T12:00:00Z"),
            last_used_at: Some(at("2026-11-21T11:00:00Z")),
        };
        let other = TokenView {
            id: "zz9".to_owned(),
            purpose: TokenPurpose::Credential,
            cluster: Some(ClusterScope {
                name: "berlin".to_owned(),
                uid: ClusterUid::new("u"),
            }),
            description: None,
            expires_at: at("2026-11-21T12:00:00Z"),
            last_used_at: None,
            ..token.clone()
        };
        let text = list(
            vec![token, other],
            Format::Table,
            at("2026-11-21T12:00:00Z"),
            "",
        );
        insta::assert_snapshot!(text.unwrap());
    }

    #[test]
    fn token_id_is_extracted_from_a_complete_token_argument() {
        assert_eq!(id_of("drover_k2j4_topsecret"), "k2j4");
        assert_eq!(id_of("k2j4"), "k2j4");
    }
}
