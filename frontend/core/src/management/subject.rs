//! The search for a user while an administrator enters a subject.

use drover_api::rest::PersonView;

use crate::member::{may_be_user_name, person};
use crate::messages::t;
use crate::problem::Problem;

/// The user name of a search, with the found users or the error.
#[derive(Clone, Debug, PartialEq)]
pub struct UserSearchResult {
    /// The searched user name.
    pub name: String,
    /// The found users.
    pub people: Result<Vec<PersonView>, Problem>,
}

/// The search state of the entered subject.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectSearch {
    /// The text cannot be a user name.
    NoUserName,
    /// The search is running. Contains the user of the previous result with the entered name.
    Running(Option<PersonView>),
    /// The search found these users.
    Found(Vec<PersonView>),
    /// The search failed with this error.
    Failed(String),
}

impl SubjectSearch {
    /// Returns the state for an entered text without spaces at both ends, and the last result.
    pub fn of(typed: &str, result: Option<&UserSearchResult>) -> Self {
        if !may_be_user_name(typed) {
            return Self::NoUserName;
        }
        match result {
            Some(UserSearchResult { name, people }) if name == typed => match people {
                Ok(people) => Self::Found(people.clone()),
                Err(problem) => Self::Failed(problem.message.clone()),
            },
            // The user selected this text from the list.
            Some(UserSearchResult {
                people: Ok(people), ..
            }) => Self::Running(named(people, typed).cloned()),
            _ => Self::Running(None),
        }
    }

    /// Returns the found users.
    pub fn people(&self) -> &[PersonView] {
        match self {
            Self::Found(people) => people,
            Self::NoUserName | Self::Running(_) | Self::Failed(_) => &[],
        }
    }

    /// Reports whether the form can be submitted: the text is not empty, and the subject is known.
    pub fn is_ready(&self, typed: &str) -> bool {
        *self != Self::Running(None) && !typed.is_empty()
    }

    /// Reports whether the text matches several users, and is the name of none of them.
    pub fn is_ambiguous(&self, typed: &str) -> bool {
        let people = self.people();
        people.len() > 1 && named(people, typed).is_none()
    }

    /// Returns the help text of the field.
    pub fn help(&self, typed: &str) -> String {
        let people = match self {
            Self::NoUserName => return t().members.subject_help().to_owned(),
            Self::Running(None) => return t().members.searching_users().to_owned(),
            Self::Running(Some(known)) => return format!("{}.", person(known)),
            Self::Failed(error) => return t().members.search_failed(error),
            Self::Found(people) => people,
        };
        match named(people, typed).map(person) {
            Some(known) => t().members.user_found(&known, people.len() - 1),
            None => t().members.users_found(people.len()),
        }
    }
}

/// Returns the user with exactly this user name.
fn named<'a>(people: &'a [PersonView], name: &str) -> Option<&'a PersonView> {
    people.iter().find(|it| it.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemKind;

    fn user(name: &str) -> PersonView {
        PersonView {
            name: name.to_owned(),
            display_name: None,
            identities: Vec::new(),
        }
    }

    fn found(name: &str, people: &[&str]) -> UserSearchResult {
        UserSearchResult {
            name: name.to_owned(),
            people: Ok(people.iter().map(|name| user(name)).collect()),
        }
    }

    #[test]
    fn group_names_and_empty_texts_are_not_searched() {
        for typed in ["", "drover:corp:7"] {
            let search = SubjectSearch::of(typed, Some(&found("ann", &["ann"])));
            assert_eq!(search, SubjectSearch::NoUserName);
            assert_eq!(search.is_ready(typed), !typed.is_empty());
        }
    }

    #[test]
    fn form_is_ready_after_the_search_of_the_entered_text() {
        let search = |result: Option<UserSearchResult>| SubjectSearch::of("ann", result.as_ref());
        assert!(!search(None).is_ready("ann"));
        assert!(!search(Some(found("an", &["andy"]))).is_ready("ann"));
        assert!(search(Some(found("ann", &[]))).is_ready("ann"));
    }

    #[test]
    fn user_selected_from_the_previous_result_needs_no_new_search() {
        let search = SubjectSearch::of("ann", Some(&found("an", &["andy", "ann"])));
        assert_eq!(search, SubjectSearch::Running(Some(user("ann"))));
        assert!(search.is_ready("ann") && search.people().is_empty());
        assert_eq!(search.help("ann"), format!("{}.", person(&user("ann"))));
    }

    #[test]
    fn text_that_matches_several_users_is_ambiguous_without_an_exact_name() {
        for (people, expected) in [
            (&["andy", "anna"][..], true),
            (&["ann", "anna"], false),
            (&["anna"], false),
            (&[], false),
        ] {
            let search = SubjectSearch::of("ann", Some(&found("ann", people)));
            assert_eq!(search.is_ambiguous("ann"), expected, "{people:?}");
        }
        assert!(!SubjectSearch::of("ann", None).is_ambiguous("ann"));
    }

    #[test]
    fn failed_search_shows_the_error_and_allows_submission() {
        let failed = |name: &str| UserSearchResult {
            name: name.to_owned(),
            people: Err(Problem {
                kind: ProblemKind::Failed,
                message: "no directory".to_owned(),
                fields: Vec::new(),
            }),
        };
        let search = SubjectSearch::of("ann", Some(&failed("ann")));
        assert!(search.help("ann").contains("no directory"));
        assert!(search.is_ready("ann"));
        // The error of a previous text does not apply.
        let search = SubjectSearch::of("ann", Some(&failed("an")));
        assert_eq!(search, SubjectSearch::Running(None));
    }
}
