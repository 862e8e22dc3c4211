//! Saved views: their order, names and sharing.

use drover_api::kinds::ViewSharing;
use drover_api::rest::{ViewUpdate, ViewView};
use drover_api::view_path;

use crate::messages::t;

/// The prefix of a sharing key that contains the name of a project.
const PROJECT: &str = "project/";
const PRIVATE: &str = "private";
const EVERYONE: &str = "everyone";

/// Returns the views that the page can open: own views first, then by name. The page does not open a
/// view whose path leaves the web UI, although the hub rejects such views.
pub fn openable(views: Vec<ViewView>) -> Vec<ViewView> {
    let mut views = views;
    views.retain(|view| view_path::check(&view.path).is_ok());
    views.sort_by_cached_key(|view| (!view.own, view.name.to_lowercase(), view.id.clone()));
    views
}

/// Returns the name of a view in menus. The name of another user's view contains the owner.
pub fn title(view: &ViewView) -> String {
    if view.own {
        view.name.clone()
    } else {
        t().views.of_user(&view.name, &view.owner)
    }
}

/// Returns a text about the users who can see a view.
pub fn sharing(view: &ViewView) -> String {
    match (view.shared, &view.project) {
        (ViewSharing::Everyone, _) => t().views.everyone().to_owned(),
        (ViewSharing::Project, Some(project)) => t().views.members_of(project),
        (ViewSharing::Private | ViewSharing::Project, _) => t().views.private().to_owned(),
    }
}

/// Returns the options of the field that selects who can see a view: keys and texts. `current` is
/// the key of the view before the change.
pub fn sharing_options(
    projects: &[String],
    administers: bool,
    current: &str,
) -> Vec<(String, String)> {
    let mut options = vec![(PRIVATE.to_owned(), t().views.private().to_owned())];
    let mut named: Vec<&str> = projects.iter().map(String::as_str).collect();
    if let Some(project) = current.strip_prefix(PROJECT)
        && !named.contains(&project)
    {
        named.push(project);
    }
    let project = |name: &str| (format!("{PROJECT}{name}"), t().views.members_of(name));
    options.extend(named.into_iter().map(project));
    if administers || current == EVERYONE {
        options.push((EVERYONE.to_owned(), t().views.everyone().to_owned()));
    }
    options
}

/// Returns the key of a view's sharing.
pub fn sharing_key(view: &ViewView) -> String {
    match (view.shared, &view.project) {
        (ViewSharing::Everyone, _) => EVERYONE.to_owned(),
        (ViewSharing::Project, Some(project)) => format!("{PROJECT}{project}"),
        (ViewSharing::Private | ViewSharing::Project, _) => PRIVATE.to_owned(),
    }
}

/// Returns the request that saves a view. `key` is the key of an option of [`sharing_options`].
pub fn update(name: &str, path: &str, key: &str) -> ViewUpdate {
    let project = key.strip_prefix(PROJECT).map(str::to_owned);
    let shared = match key {
        EVERYONE => ViewSharing::Everyone,
        _ if project.is_some() => ViewSharing::Project,
        _ => ViewSharing::Private,
    };
    ViewUpdate {
        name: name.trim().to_owned(),
        path: path.to_owned(),
        shared,
        project,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(name: &str, own: bool, path: &str) -> ViewView {
        ViewView {
            id: format!("u-{name}"),
            name: name.to_owned(),
            path: path.to_owned(),
            shared: ViewSharing::Private,
            project: None,
            owner: "ann".to_owned(),
            own,
            created_at: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn own_views_are_first_and_views_outside_of_the_web_ui_are_not_opened() {
        let views = vec![
            view("Nodes", false, "/objects/nodes"),
            view("pods", true, "/objects/pods"),
            view("Evil", false, "//evil.example/"),
            view("Api", false, "/v1/session"),
            view("Jobs", true, "/objects/jobs"),
        ];
        let titles: Vec<String> = openable(views).iter().map(title).collect();
        assert_eq!(titles, ["Jobs", "pods", "Nodes (ann)"]);
    }

    #[test]
    fn key_of_a_sharing_option_becomes_the_sharing_of_the_request() {
        let projects = ["everyone".to_owned(), "shop".to_owned()];
        let options = sharing_options(&projects, true, "private");
        let keys: Vec<&str> = options.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(
            keys,
            ["private", "project/everyone", "project/shop", "everyone"]
        );
        for (key, _) in &options {
            let sent = update(" Pods ", "/objects/pods", key);
            let stored = ViewView {
                shared: sent.shared,
                project: sent.project.clone(),
                ..view(&sent.name, true, &sent.path)
            };
            assert_eq!(stored.name, "Pods");
            assert_eq!(sharing_key(&stored), *key);
            let is_for_project = sent.shared == ViewSharing::Project;
            assert_eq!(is_for_project, sent.project.is_some(), "{key}");
        }
    }

    #[test]
    fn current_sharing_is_an_option_after_the_permission_ended() {
        let keys = |current: &str| -> Vec<String> {
            let options = sharing_options(&[], false, current).into_iter();
            options.map(|(key, _)| key).collect()
        };
        assert_eq!(keys("private"), ["private"]);
        assert_eq!(keys("everyone"), ["private", "everyone"]);
        assert_eq!(keys("project/shop"), ["private", "project/shop"]);
    }
}
