//! Parsing of the response headers of a list: the next page and the withheld organizations.

use std::num::NonZeroU64;

use thiserror::Error;
use url::Url;

/// Reason for which Drover cannot request the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    /// The header is invalid under RFC 8288, or contains two links to next pages.
    #[error("the Link header is invalid")]
    Malformed,
    /// The next page is outside of the API, and Drover sends the user's token only to the API.
    #[error("the Link header points outside the API")]
    OutsideApi,
}

/// Returns the URL of the next page from the value of a `Link` header (RFC 8288 §3). Returns `None`
/// on the last page.
///
/// The caller joins several headers with commas (RFC 9110 §5.3). The returned URL is always below
/// `api`.
pub fn next(value: &str, api: &Url) -> Result<Option<Url>, LinkError> {
    let mut found = None;
    let mut rest = value.trim_matches(is_blank);
    while !rest.is_empty() {
        let (link, after) = Link::read(rest)?;
        if link.is_next && found.replace(link.target).is_some() {
            return Err(LinkError::Malformed);
        }
        rest = after.trim_start_matches(|c| is_blank(c) || c == ',');
    }
    let Some(target) = found else {
        return Ok(None);
    };
    let target = api.join(target).map_err(|_| LinkError::Malformed)?;
    let below = target.origin() == api.origin()
        && target.scheme() == api.scheme()
        && target.path().starts_with(api.path())
        && target.username().is_empty()
        && target.password().is_none();
    if below {
        Ok(Some(target))
    } else {
        Err(LinkError::OutsideApi)
    }
}

/// Parsed link with its target and relation.
struct Link<'a> {
    target: &'a str,
    is_next: bool,
}

impl<'a> Link<'a> {
    /// Parses the first link. Returns the link and the remaining text. The remaining text is empty
    /// or begins with a comma.
    fn read(text: &'a str) -> Result<(Self, &'a str), LinkError> {
        let (target, mut rest) = text
            .strip_prefix('<')
            .and_then(|text| text.split_once('>'))
            .ok_or(LinkError::Malformed)?;
        let mut relation = None;
        loop {
            rest = rest.trim_start_matches(is_blank);
            if rest.is_empty() || rest.starts_with(',') {
                break;
            }
            let (name, value, after) =
                parameter(rest.strip_prefix(';').ok_or(LinkError::Malformed)?)?;
            // Only the first `rel` counts (RFC 8288 §3.3).
            if name.eq_ignore_ascii_case("rel") && relation.is_none() {
                relation = Some(value);
            }
            rest = after;
        }
        let mut relations = relation.unwrap_or_default().split(is_blank);
        let is_next = relations.any(|relation| relation.eq_ignore_ascii_case("next"));
        Ok((Self { target, is_next }, rest))
    }
}

/// Parses the parameter after a semicolon. Returns the name, the value and the remaining text.
fn parameter(text: &str) -> Result<(&str, &str, &str), LinkError> {
    let text = text.trim_start_matches(is_blank);
    let end = text.find(['=', ';', ',']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let name = name.trim_end_matches(is_blank);
    let Some(value) = rest.strip_prefix('=') else {
        return Ok((name, "", rest));
    };
    let value = value.trim_start_matches(is_blank);
    if let Some(quoted) = value.strip_prefix('"') {
        let end = closing_quote(quoted).ok_or(LinkError::Malformed)?;
        return Ok((name, &quoted[..end], &quoted[end + 1..]));
    }
    let end = value.find([';', ',']).unwrap_or(value.len());
    let (value, rest) = value.split_at(end);
    Ok((name, value.trim_end_matches(is_blank), rest))
}

/// Returns the position of the closing quotation mark. A backslash escapes the next character (RFC
/// 9110 §5.6.4).
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// Parses the value of an `X-GitHub-SSO` header, such as `partial-results;
/// organizations=21955855,20582480`. Returns the IDs of the organizations that GitHub omits from a
/// list because of their single sign-on. Returns an empty list for other values.
pub fn withheld(value: &str) -> Vec<NonZeroU64> {
    let mut parts = value.split(';').map(str::trim);
    if parts.next() != Some("partial-results") {
        return Vec::new();
    }
    parts
        .filter_map(|part| part.strip_prefix("organizations="))
        .flat_map(|ids| ids.split(','))
        .filter_map(|id| id.trim().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api() -> Url {
        Url::parse("https://api.github.com/").unwrap()
    }

    #[test]
    fn next_page_is_read_from_the_link_header() {
        let at = "https://api.github.com/user/teams?page=2";
        let table = [
            ("", None),
            ("  \t", None),
            (
                r#"<https://api.github.com/user/teams?page=2>; rel="next", <https://api.github.com/user/teams?page=5>; rel="last""#,
                Some(at),
            ),
            (
                r#"<https://api.github.com/user/teams?page=1>; rel="prev", <https://api.github.com/user/teams?page=1>; rel="first""#,
                None,
            ),
            (
                r#"<https://api.github.com/user/teams?page=5>; rel="last",<https://api.github.com/user/teams?page=2>;rel=next"#,
                Some(at),
            ),
            (
                r#"<https://api.github.com/user/teams?page=2> ; REL = "last NEXT""#,
                Some(at),
            ),
            (
                r#"<https://api.github.com/user/teams?page=2>; title="a, \"<https://evil.example>; rel=next"; rel="next""#,
                Some(at),
            ),
            (
                r#"<https://api.github.com/user/teams?page=2>; rel="next"; rel="last""#,
                Some(at),
            ),
            (
                r#"<https://api.github.com/user/teams?page=2>; rel="last"; rel="next""#,
                None,
            ),
            (
                "<https://api.github.com/user/teams?page=2>; x; rel=next",
                Some(at),
            ),
            (
                r#"<https://api.github.com/user/teams?page=2>; rel="nextly""#,
                None,
            ),
            ("</user/teams?page=2>; rel=next", Some(at)),
            (
                "<https://api.github.com/user/teams?a=,;&page=2>; rel=next",
                Some("https://api.github.com/user/teams?a=,;&page=2"),
            ),
        ];
        for (header, expected) in table {
            let found = next(header, &api()).unwrap();
            assert_eq!(found.as_ref().map(Url::as_str), expected, "{header}");
        }
    }

    #[test]
    fn next_page_outside_the_api_is_rejected() {
        for header in [
            "<https://evil.example/user/teams?page=2>; rel=next",
            "<//evil.example/user/teams>; rel=next",
            r"<\\evil.example/user/teams>; rel=next",
            "<http://api.github.com/user/teams?page=2>; rel=next",
            "<https://api.github.com:444/user/teams>; rel=next",
            "<https://api.github.com.evil.example/>; rel=next",
            "<https://me@api.github.com/user/teams>; rel=next",
            "<data:text/plain,x>; rel=next",
        ] {
            assert_eq!(next(header, &api()), Err(LinkError::OutsideApi), "{header}");
        }
    }

    #[test]
    fn malformed_link_header_is_rejected() {
        for header in [
            "<https://api.github.com/user/teams?page=2",
            "https://api.github.com/user/teams?page=2; rel=next",
            r#"<https://api.github.com/user/teams?page=2>; rel="next"#,
            "<https://api.github.com/user/teams?page=2> rel=next",
            "<https://api.github.com/a>; rel=next, <https://api.github.com/b>; rel=next",
            "<https://[/>; rel=next",
            "; rel=next",
        ] {
            assert_eq!(next(header, &api()), Err(LinkError::Malformed), "{header}");
        }
    }

    #[test]
    fn next_page_url_of_an_enterprise_server_must_be_under_its_api_path() {
        let api = Url::parse("https://git.acme.example/api/v3/").unwrap();
        for (target, accepted) in [
            ("https://git.acme.example/api/v3/user/teams?page=2", true),
            ("/api/v3/user/teams?page=2", true),
            ("https://git.acme.example/acme/pages/collect", false),
            ("https://git.acme.example/api/v3/../../acme/collect", false),
            (
                "https://git.acme.example/api/v3/%2e%2e/%2E%2e/collect",
                false,
            ),
            ("https://git.acme.example/api/v33/user/teams", false),
        ] {
            let found = next(&format!("<{target}>; rel=\"next\""), &api);
            assert_eq!(found.is_ok(), accepted, "{target}: {found:?}");
        }
    }

    #[test]
    fn withheld_organization_ids_are_parsed_from_sso_header() {
        for (header, ids) in [
            (
                "partial-results; organizations=21955855,20582480",
                vec![21_955_855, 20_582_480],
            ),
            ("partial-results;organizations= 1 , 2 ,x,,0,-3", vec![1, 2]),
            ("partial-results", vec![]),
            ("required; url=https://github.com/orgs/acme/sso", vec![]),
            ("required; organizations=1", vec![]),
            ("", vec![]),
        ] {
            let found: Vec<_> = withheld(header).into_iter().map(u64::from).collect();
            assert_eq!(found, ids, "{header}");
        }
    }
}
