//! Content negotiation: formats of bodies, and transformations of responses.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

use crate::resource::Origin;
use crate::status::ApiError;

/// A body format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON (`application/json`).
    Json,
    /// YAML (`application/yaml`).
    Yaml,
}

/// The transformation of an object or list in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Representation {
    /// The object or list is not transformed.
    Plain,
    /// A Table of `meta.k8s.io`.
    Table(MetaVersion),
    /// A PartialObjectMetadata of `meta.k8s.io`.
    Metadata(MetaVersion),
    /// A PartialObjectMetadataList of `meta.k8s.io`.
    MetadataList(MetaVersion),
}

/// A version of `meta.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaVersion {
    /// The version `v1`.
    V1,
    /// The version `v1beta1`.
    V1Beta1,
}

impl MetaVersion {
    /// Returns the value of `apiVersion`.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The negotiated form of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// The format of the response body.
    pub format: Format,
    /// The transformation of the response.
    pub shape: Representation,
}

/// The support of an endpoint for tables and partial metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transforms {
    /// The endpoint returns objects or lists, which can be transformed.
    Allowed,
    /// The endpoint returns Status, discovery or similar documents, which are not transformed.
    None,
}

/// The supported media types.
pub const MEDIA_TYPES: [&str; 2] = ["application/json", "application/yaml"];
const STREAM_TYPES: [&str; 1] = ["application/json;stream=watch"];

impl Format {
    /// Returns the value of the header `Content-Type`.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

/// A clause of an `Accept` header.
#[derive(Debug, Clone)]
pub(crate) struct Clause<'a> {
    pub(crate) kind: &'a str,
    pub(crate) subtype: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl Clause<'_> {
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.parameters
            .iter()
            .rev()
            .find(|(key, _)| *key == name)
            .map_or("", |(_, value)| *value)
    }

    fn accepts(&self, subtype: &str) -> bool {
        (self.kind == "application" && (self.subtype == subtype || self.subtype == "*"))
            || (self.kind == "*" && self.subtype == "*")
    }
}

/// Returns the clauses of an `Accept` header by descending weight.
pub(crate) fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(clause).collect();
    clauses.sort_by(|a, b| {
        b.quality
            .total_cmp(&a.quality)
            .then_with(|| (a.kind == "*").cmp(&(b.kind == "*")))
            .then_with(|| (a.subtype == "*").cmp(&(b.subtype == "*")))
    });
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (kind, subtype) = match parts.next()?.split_once('/') {
        Some((kind, subtype)) => (kind.trim(), subtype.trim()),
        None if text.trim() == "*" => ("*", "*"),
        None => return None,
    };
    let mut quality = 1.0;
    let mut parameters = Vec::new();
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        match key.trim() {
            "q" => quality = value.trim().parse().unwrap_or(1.0),
            key => parameters.push((key, value.trim().trim_matches('"'))),
        }
    }
    Some(Clause {
        kind,
        subtype,
        parameters,
        quality,
    })
}

/// Returns the text of a header. The result is empty if the header is absent.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> &'a str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// Negotiates the form of a response.
///
/// # Errors
///
/// Returns 406 if the server supports no accepted media type.
pub fn accepted(headers: &HeaderMap, transforms: Transforms) -> Result<Accepted, ApiError> {
    choose(header(headers, &ACCEPT), transforms, &MEDIA_TYPES)
        .ok_or_else(|| ApiError::not_acceptable(&MEDIA_TYPES))
}

/// Negotiates the form of watch events, which are lines of JSON.
///
/// # Errors
///
/// Returns 406 if the client does not accept JSON.
pub fn accepted_stream(headers: &HeaderMap) -> Result<Representation, ApiError> {
    choose(header(headers, &ACCEPT), Transforms::Allowed, &MEDIA_TYPES)
        .filter(|accepted| accepted.format == Format::Json)
        .map(|accepted| accepted.shape)
        .ok_or_else(|| ApiError::not_acceptable(&STREAM_TYPES))
}

fn choose(header: &str, transforms: Transforms, types: &[&str]) -> Option<Accepted> {
    if header.is_empty() {
        return Some(Accepted {
            format: Format::Json,
            shape: Representation::Plain,
        });
    }
    let clauses = clauses(header);
    clauses.iter().find_map(|clause| {
        types.iter().find_map(|media_type| {
            let subtype = media_type.strip_prefix("application/")?;
            let shape = clause
                .accepts(subtype)
                .then(|| shape(clause, transforms))??;
            let format = if subtype == "json" {
                Format::Json
            } else {
                Format::Yaml
            };
            Some(Accepted { format, shape })
        })
    })
}

/// Returns the transformation for the parameters `as`, `g` and `v` of a clause. Returns `None` if
/// the server does not support the transformation.
fn shape(clause: &Clause<'_>, transforms: Transforms) -> Option<Representation> {
    let stream = clause.parameter("stream");
    if !matches!(stream, "" | "watch") {
        return None;
    }
    let requested = ["as", "g", "v"].map(|name| clause.parameter(name));
    if requested == [""; 3] {
        return Some(Representation::Plain);
    }
    if transforms == Transforms::None || requested[1] != "meta.k8s.io" {
        return None;
    }
    let version = match requested[2] {
        "v1" => MetaVersion::V1,
        "v1beta1" => MetaVersion::V1Beta1,
        _ => return None,
    };
    match requested[0] {
        "Table" => Some(Representation::Table(version)),
        "PartialObjectMetadata" => Some(Representation::Metadata(version)),
        "PartialObjectMetadataList" => Some(Representation::MetadataList(version)),
        _ => None,
    }
}

/// Returns the media type of a body in lower case, without parameters. The result is JSON by
/// default.
pub(crate) fn content_type(headers: &HeaderMap) -> String {
    let text = header(headers, &CONTENT_TYPE);
    let media_type = text.split(';').next().unwrap_or_default().trim();
    if text.is_empty() {
        Format::Json.media_type().to_owned()
    } else {
        media_type.to_ascii_lowercase()
    }
}

/// A format of request bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFormat {
    /// JSON (`application/json`).
    Json,
    /// YAML (`application/yaml`).
    Yaml,
    /// Protobuf (`application/vnd.kubernetes.protobuf`), which kubectl's typed clients send. These
    /// clients accept JSON responses.
    Protobuf,
}

/// The media types of bodies of built-in kinds.
const BODY_TYPES: [&str; 3] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Returns the format of a request body.
///
/// # Errors
///
/// Returns 415 for other media types. Custom kinds do not support Protobuf.
pub fn body_format(headers: &HeaderMap, origin: Origin) -> Result<BodyFormat, ApiError> {
    match (content_type(headers).as_str(), origin) {
        ("application/json", _) => Ok(BodyFormat::Json),
        ("application/yaml", _) => Ok(BodyFormat::Yaml),
        ("application/vnd.kubernetes.protobuf", Origin::BuiltIn) => Ok(BodyFormat::Protobuf),
        (_, Origin::BuiltIn) => Err(ApiError::unsupported_media_type(&BODY_TYPES)),
        (_, Origin::Custom) => Err(ApiError::unsupported_media_type(&MEDIA_TYPES)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(text: &str) -> Result<Accepted, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, text.parse().unwrap());
        accepted(&headers, Transforms::Allowed)
    }

    #[test]
    fn accept_header_of_kubectl_selects_a_table() {
        let found = accept(
            "application/json;as=Table;v=v1;g=meta.k8s.io,\
             application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
        );
        assert_eq!(found.unwrap().shape, Representation::Table(MetaVersion::V1));
    }

    #[test]
    fn unsupported_accept_clauses_are_skipped() {
        let found = accept("application/vnd.kubernetes.protobuf,application/json").unwrap();
        assert_eq!(
            (found.format, found.shape),
            (Format::Json, Representation::Plain)
        );
        let found = accept("application/json;as=Unknown;g=meta.k8s.io;v=v1, */*;q=0.1").unwrap();
        assert_eq!(found.shape, Representation::Plain);
        let found = accept("application/json;q=0.2, application/yaml").unwrap();
        assert_eq!(found.format, Format::Yaml);
    }

    #[test]
    fn accept_header_with_only_protobuf_is_rejected() {
        let error = accept("application/vnd.kubernetes.protobuf").unwrap_err();
        assert_eq!(
            error.message,
            "only the following media types are accepted: application/json, application/yaml"
        );
        assert_eq!(error.code, http::StatusCode::NOT_ACCEPTABLE);
    }

    #[test]
    fn request_for_a_table_of_a_status_or_discovery_document_is_rejected() {
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            "application/json;as=Table;v=v1;g=meta.k8s.io"
                .parse()
                .unwrap(),
        );
        assert!(accepted(&headers, Transforms::None).is_err());
    }

    #[test]
    fn protobuf_bodies_of_custom_kinds_are_rejected() {
        let mut headers = HeaderMap::new();
        let format = |headers: &HeaderMap, origin| body_format(headers, origin).ok();
        assert_eq!(format(&headers, Origin::Custom), Some(BodyFormat::Json));
        let json = "application/json; charset=utf-8".parse().unwrap();
        headers.insert(CONTENT_TYPE, json);
        assert_eq!(format(&headers, Origin::BuiltIn), Some(BodyFormat::Json));
        let protobuf = "application/vnd.kubernetes.protobuf".parse().unwrap();
        headers.insert(CONTENT_TYPE, protobuf);
        assert_eq!(
            format(&headers, Origin::BuiltIn),
            Some(BodyFormat::Protobuf)
        );
        assert_eq!(
            body_format(&headers, Origin::Custom).unwrap_err().code,
            http::StatusCode::UNSUPPORTED_MEDIA_TYPE
        );
    }

    #[test]
    fn watch_events_are_always_encoded_as_json() {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, "application/json;stream=watch".parse().unwrap());
        assert_eq!(accepted_stream(&headers).unwrap(), Representation::Plain);
        headers.insert(ACCEPT, "application/yaml".parse().unwrap());
        assert_eq!(
            accepted_stream(&headers).unwrap_err().message,
            "only the following media types are accepted: application/json;stream=watch"
        );
    }
}
