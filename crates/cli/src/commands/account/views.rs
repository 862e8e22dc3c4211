//! Implements `drover view`.

use drover_api::kinds::ViewSharing;
use drover_api::rest::{ViewUpdate, ViewView};
use jiff::Timestamp;
use reqwest::Method;

use crate::args::{ViewArgs, ViewCommand, ViewSave};
use crate::client::{CallError, Client, Refusal};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{Listed, list};
use crate::table::{age, or_dash};
use crate::terminal::{notice, print};

/// Runs a subcommand of `drover view`.
pub(crate) async fn run(args: &ViewArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    let views: Vec<ViewView> = client.list(&["v1", "views"]).await?;
    match &args.command {
        ViewCommand::List(output) => {
            let text = list(views, output.format, Timestamp::now(), "No saved views.")?;
            Ok(print(&text)?)
        }
        ViewCommand::Save(wanted) => save(&client, &views, wanted).await,
        ViewCommand::Delete(wanted) => {
            let view = own_view(&views, &wanted.view)?;
            let view = view.ok_or_else(|| not_found(&wanted.view))?;
            let path = ["v1", "views", view.id.as_str()];
            client.command(Method::DELETE, &path, None::<&()>).await?;
            notice(&format!("Deleted the view {:?}.", view.name));
            Ok(())
        }
    }
}

/// Changes the caller's view with this name, or saves a new view.
async fn save(client: &Client, views: &[ViewView], args: &ViewSave) -> Result<(), Failure> {
    let content = content(args);
    let saved: ViewView = match own_view(views, &args.name)? {
        Some(view) => {
            let path = ["v1", "views", view.id.as_str()];
            client.call(Method::PUT, &path, &content).await?
        }
        None => client.post(&["v1", "views"], &content).await?,
    };
    notice(&format!("Saved the view {:?}.", saved.name));
    Ok(())
}

fn content(args: &ViewSave) -> ViewUpdate {
    let shared = match &args.project {
        _ if args.everyone => ViewSharing::Everyone,
        Some(_) => ViewSharing::Project,
        None => ViewSharing::Private,
    };
    ViewUpdate {
        name: args.name.clone(),
        path: args.path.clone(),
        shared,
        project: args.project.clone(),
    }
}

/// Returns the caller's view with this ID or name. Names of views are not unique.
fn own_view<'a>(views: &'a [ViewView], wanted: &str) -> Result<Option<&'a ViewView>, CallError> {
    let own = || views.iter().filter(|view| view.own);
    if let Some(view) = own().find(|view| view.id == wanted) {
        return Ok(Some(view));
    }
    let mut named = own().filter(|view| view.name == wanted);
    match (named.next(), named.next()) {
        (view, None) => Ok(view),
        (_, Some(_)) => Err(CallError::Refused(Refusal {
            code: 409,
            reason: "Conflict".to_owned(),
            message: format!("you have several views with the name {wanted:?}"),
            advice: Some("Use the ID from `drover view list -o json`.".to_owned()),
        })),
    }
}

fn not_found(wanted: &str) -> CallError {
    CallError::Refused(Refusal {
        code: 404,
        reason: "NotFound".to_owned(),
        message: format!("you have no view with the name or ID {wanted:?}"),
        advice: Some("Run `drover view list` for all views.".to_owned()),
    })
}

/// Returns a text about the users who can see a view.
fn visible_to(view: &ViewView) -> String {
    match (view.shared, &view.project) {
        (ViewSharing::Everyone, _) => "everyone".to_owned(),
        (ViewSharing::Project, Some(project)) => format!("project {project}"),
        (ViewSharing::Private | ViewSharing::Project, _) => "private".to_owned(),
    }
}

impl Listed for ViewView {
    const HEADINGS: &'static [&'static str] = &["NAME", "OWNER", "VISIBLE TO", "AGE", "PATH"];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            or_dash(Some(&self.owner)),
            visible_to(self),
            age(self.created_at, now),
            self.path.clone(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(id: &str, name: &str, own: bool) -> ViewView {
        ViewView {
            id: id.to_owned(),
            name: name.to_owned(),
            path: "/objects/pods".to_owned(),
            shared: ViewSharing::Private,
            project: None,
            owner: "ann".to_owned(),
            own,
            created_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn own_view_is_found_by_its_id_or_its_unique_name() {
        let views = [
            view("u-0", "Pods", true),
            view("u-1", "Nodes", true),
            view("u-2", "Nodes", true),
            view("v-0", "Jobs", false),
        ];
        let found = |wanted: &str| own_view(&views, wanted).map(|view| view.map(|it| &*it.id));
        assert_eq!(found("Pods").unwrap(), Some("u-0"));
        assert_eq!(found("u-2").unwrap(), Some("u-2"));
        assert_eq!(found("Jobs").unwrap(), None);
        assert_eq!(found("v-0").unwrap(), None);
        let refused = found("Nodes").unwrap_err().to_string();
        assert!(refused.contains("several views"), "{refused}");
    }

    #[test]
    fn sharing_options_become_the_sharing_of_the_request() {
        let args = |everyone: bool, project: Option<&str>| ViewSave {
            name: "Pods".to_owned(),
            path: "/objects/pods".to_owned(),
            project: project.map(str::to_owned),
            everyone,
        };
        for (args, shared) in [
            (args(false, None), ViewSharing::Private),
            (args(false, Some("shop")), ViewSharing::Project),
            (args(true, None), ViewSharing::Everyone),
        ] {
            assert_eq!(content(&args).shared, shared);
        }
    }
}
