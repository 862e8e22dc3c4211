//! Addresses of a GitHub server.

use url::{Host, Url};

use crate::ProviderError;

/// Field of the AuthProvider's spec that contains the address.
const FIELD: &str = "github.url";

/// Addresses of a GitHub server: web pages and REST API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Base URL of the web pages. The path ends with a slash.
    pub web: Url,
    /// Base URL of the REST API. The path ends with a slash.
    pub api: Url,
}

impl Endpoints {
    /// Returns the endpoints of the server with this URL. `None` selects github.com.
    ///
    /// A GitHub Enterprise Server has the URL `https://host`, and its API is below `/api/v3`. An
    /// enterprise with data residency has the URL `https://name.ghe.com`, and its API is at
    /// `https://api.name.ghe.com`.
    pub fn of(url: Option<&str>) -> Result<Self, ProviderError> {
        let wrong = |problem: &str| ProviderError::Misconfigured {
            field: FIELD,
            problem: format!("{problem}; enter only https:// and the host name of the server"),
        };
        let web = Url::parse(url.unwrap_or("https://github.com"))
            .map_err(|error| wrong(&format!("the value is not a URL ({error})")))?;
        if web.scheme() != "https" {
            return Err(wrong("the value does not begin with https://"));
        }
        if !web.username().is_empty() || web.password().is_some() {
            return Err(wrong("the value contains a user name or a password"));
        }
        if web.path() != "/" || web.query().is_some() || web.fragment().is_some() {
            return Err(wrong("the value has a path, a query or a fragment"));
        }
        let api = match web.host() {
            Some(Host::Domain(name)) if is_api_host(name) => {
                return Err(wrong(
                    "the value is the address of the REST API, not of the web pages",
                ));
            }
            Some(Host::Domain(name)) if name == "github.com" || name.ends_with(".ghe.com") => {
                let mut api = web.clone();
                api.set_host(Some(&format!("api.{name}")))
                    .map_err(|error| {
                        wrong(&format!("the value has an invalid host name ({error})"))
                    })?;
                api
            }
            Some(_) => below(&web, "api/v3/"),
            None => return Err(wrong("the value has no host name")),
        };
        Ok(Self { web, api })
    }

    /// Returns the URL of a web page.
    pub(super) fn page(&self, path: &str) -> Url {
        below(&self.web, path)
    }

    /// Returns the URL of a REST API resource.
    pub(super) fn rest(&self, path: &str) -> Url {
        below(&self.api, path)
    }

    /// Returns the base URL of the web pages for display.
    pub(super) fn name(&self) -> String {
        self.web.as_str().trim_end_matches('/').to_owned()
    }
}

fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path()));
    url
}

/// Reports whether a host name is the host of a REST API. Users can confuse this host with the host
/// of the web pages.
fn is_api_host(name: &str) -> bool {
    name == "api.github.com" || (name.starts_with("api.") && name.ends_with(".ghe.com"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_endpoint_depends_on_the_type_of_github_server() {
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
            // A host of another owner that ends in github.com.
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
    fn error_of_invalid_github_address_describes_the_expected_format() {
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
                error.starts_with("github.url: ") && error.contains("enter only https://"),
                "{url}: {error}"
            );
            assert!(!error.contains("secret"));
        }
    }
}
