//! Where a GitHub is.

use url::{Host, Url};

use crate::ProviderError;

/// Of the AuthProvider's spec.
const FIELD: &str = "github.url";

/// Where a GitHub is: its pages, and its REST API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Its pages; its path ends in a slash.
    pub web: Url,
    /// Its REST API; its path ends in a slash, and everything below it is the API.
    pub api: Url,
}

impl Endpoints {
    /// Those of github.com, of a GitHub Enterprise Server (`https://host`, whose API is below
    /// `/api/v3`), or of an enterprise with data residency (`https://name.ghe.com`, whose API is at
    /// `https://api.name.ghe.com`).
    pub fn of(url: Option<&str>) -> Result<Self, ProviderError> {
        let wrong = |problem: &str| ProviderError::Misconfigured {
            field: FIELD,
            problem: format!("{problem}; write https:// and the name of the server, nothing else"),
        };
        let web = Url::parse(url.unwrap_or("https://github.com"))
            .map_err(|error| wrong(&format!("it is no URL ({error})")))?;
        if web.scheme() != "https" {
            return Err(wrong("it does not begin with https://"));
        }
        if !web.username().is_empty() || web.password().is_some() {
            return Err(wrong("it holds a name or a password"));
        }
        if web.path() != "/" || web.query().is_some() || web.fragment().is_some() {
            return Err(wrong("something stands behind the server's name"));
        }
        let api = match web.host() {
            Some(Host::Domain(name)) if of_the_api(name) => {
                return Err(wrong(
                    "this is where its API is, and people sign in elsewhere",
                ));
            }
            Some(Host::Domain(name)) if name == "github.com" || name.ends_with(".ghe.com") => {
                let mut api = web.clone();
                api.set_host(Some(&format!("api.{name}")))
                    .map_err(|error| wrong(&format!("it is no server's name ({error})")))?;
                api
            }
            Some(_) => below(&web, "api/v3/"),
            None => return Err(wrong("it names no server")),
        };
        Ok(Self { web, api })
    }

    /// One of its pages.
    pub(super) fn page(&self, path: &str) -> Url {
        below(&self.web, path)
    }

    /// Something of its API.
    pub(super) fn rest(&self, path: &str) -> Url {
        below(&self.api, path)
    }

    /// Where its pages are, for people.
    pub(super) fn name(&self) -> String {
        self.web.as_str().trim_end_matches('/').to_owned()
    }
}

fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path()));
    url
}

/// Whether a name is that of an API, which somebody might take for the server's.
fn of_the_api(name: &str) -> bool {
    name == "api.github.com" || (name.starts_with("api.") && name.ends_with(".ghe.com"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_github_has_its_api_somewhere_else() {
        let table = [
            (None, "https://github.com/", "https://api.github.com/"),
            (
                Some("https://github.com"),
                "https://github.com/",
                "https://api.github.com/",
            ),
            (
                Some("https://GitHub.com/"),
                "https://github.com/",
                "https://api.github.com/",
            ),
            (
                Some("https://octocorp.ghe.com"),
                "https://octocorp.ghe.com/",
                "https://api.octocorp.ghe.com/",
            ),
            (
                Some("https://git.acme.example"),
                "https://git.acme.example/",
                "https://git.acme.example/api/v3/",
            ),
            (
                Some("https://git.acme.example:8443/"),
                "https://git.acme.example:8443/",
                "https://git.acme.example:8443/api/v3/",
            ),
            (
                Some("https://192.0.2.7"),
                "https://192.0.2.7/",
                "https://192.0.2.7/api/v3/",
            ),
            // Somebody else's, whatever it ends in.
            (
                Some("https://notgithub.com"),
                "https://notgithub.com/",
                "https://notgithub.com/api/v3/",
            ),
        ];
        for (url, web, api) in table {
            let found = Endpoints::of(url).unwrap();
            assert_eq!((found.web.as_str(), found.api.as_str()), (web, api));
        }
    }

    #[test]
    fn an_address_that_is_not_one_says_what_to_write() {
        for url in [
            "",
            "github.com",
            "http://github.com",
            "https://",
            "https://me:secret@github.com",
            "https://me@github.com",
            "https://github.com/acme",
            "https://git.acme.example/api/v3",
            "https://github.com/?a=b",
            "https://github.com/#a",
            "https://api.github.com",
            "https://api.octocorp.ghe.com",
            "file:///etc/passwd",
        ] {
            let error = Endpoints::of(Some(url)).unwrap_err().to_string();
            assert!(
                error.starts_with("github.url: ") && error.contains("write https://"),
                "{url}: {error}"
            );
            assert!(!error.contains("secret"));
        }
    }
}
