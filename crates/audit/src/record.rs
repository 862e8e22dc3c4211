//! The content of one line of the audit log.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use drover_access::identity::{Account, Identity, Principal};
use drover_api::ids::ClusterUid;
pub use drover_api::rest::{AuditOutcome as Outcome, AuditStage as Stage};
use http::{HeaderValue, Method};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::redact::redacted;
use drover_access::verb::Verb;

/// ID of one request in the audit log, in the server's logs and in the response header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId {
    pub(super) start: u64,
    pub(super) number: u64,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:x}", self.start, self.number)
    }
}

impl From<RequestId> for HeaderValue {
    /// Formats the ID without `format!`, because the server calls this function for every request.
    fn from(id: RequestId) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |number: u64, position: u32| DIGITS[(number >> (4 * position) & 15) as usize];
        let mut text = [b'-'; 33];
        for position in 0..16 {
            text[15 - position as usize] = digit(id.start, position);
        }
        let places = (u64::BITS - id.number.leading_zeros()).div_ceil(4).max(1);
        for position in 0..places {
            text[16 + (places - position) as usize] = digit(id.number, position);
        }
        Self::from_bytes(&text[..17 + places as usize]).expect("hexadecimal digits and a dash")
    }
}

/// A user, or a service account of the hub: the UID, and the name at the time of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditCaller {
    /// The login name of a user, or `system:serviceaccount:<namespace>:<name>`.
    pub name: Arc<str>,
    /// UID of the user or service account.
    pub uid: Arc<str>,
    /// ID of the token. `None` for a service account token without an ID (KEP-4193).
    pub token: Option<Arc<str>>,
    /// Name of the impersonated user on the cluster (`kubectl --as`).
    pub acting_as: Option<String>,
}

impl From<&Identity> for AuditCaller {
    fn from(identity: &Identity) -> Self {
        Self {
            name: identity.user_name.as_str().into(),
            uid: identity.user_uid.as_str().into(),
            token: Some(identity.token.id.as_str().into()),
            acting_as: None,
        }
    }
}

impl From<&Account> for AuditCaller {
    fn from(account: &Account) -> Self {
        Self {
            name: account.name.as_str().into(),
            uid: account.uid.as_str().into(),
            token: account.token_id().map(Into::into),
            acting_as: None,
        }
    }
}

impl From<&Principal> for AuditCaller {
    fn from(principal: &Principal) -> Self {
        match principal {
            Principal::User(identity) => (&**identity).into(),
            Principal::Account(account) => account.into(),
        }
    }
}

/// The target cluster of a request. The UID is set after Drover has read the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterRef {
    /// Name of the cluster in the request.
    pub name: Arc<str>,
    /// UID of the cluster. `None` for the hub, which has no UID.
    pub uid: Option<ClusterUid>,
}

/// Maximum recorded length of path and query, in bytes.
const ASKED_BYTES: usize = 2048;
/// Maximum recorded length of a method, in bytes. Real methods are shorter.
const METHOD_BYTES: usize = 32;

/// The recorded path and query of a request. The length is limited, because an unauthenticated
/// client can send a long path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTarget {
    text: Box<str>,
    whole: usize,
}

impl RequestTarget {
    /// Truncates a target to the first 2 KiB.
    pub fn of(target: &str) -> Self {
        Self {
            text: target[..target.floor_char_boundary(ASKED_BYTES)].into(),
            whole: target.len(),
        }
    }

    fn truncate(&mut self, bytes: usize) {
        if self.text.len() > bytes {
            self.text = self.text[..self.text.floor_char_boundary(bytes)].into();
        }
    }

    fn is_truncated(&self) -> bool {
        self.text.len() < self.whole
    }
}

/// Returns the method, truncated to 32 bytes.
pub fn short_method(method: &Method) -> Method {
    let bytes = method.as_str().as_bytes();
    bytes
        .get(..METHOD_BYTES)
        .and_then(|start| Method::from_bytes(start).ok())
        .unwrap_or_else(|| method.clone())
}

/// The properties of a request. Drover sets more properties while it checks the request.
#[derive(Clone, Debug)]
pub struct Subject {
    /// ID of the request.
    pub id: RequestId,
    /// Time at which the request arrived.
    pub received: Timestamp,
    /// Address of the client.
    pub source: Option<IpAddr>,
    /// The caller, after authentication.
    pub person: Option<AuditCaller>,
    /// The target cluster, after the path was parsed.
    pub cluster: Option<ClusterRef>,
    /// Name of the object, under `/v1`.
    pub object: Option<Box<str>>,
    /// Kubernetes verb of the request.
    pub verb: Verb,
    /// HTTP method, truncated by [`short_method`].
    pub method: Method,
    /// Path and query as the cluster receives them, or the route under `/v1`. The log omits parts
    /// that may be secret.
    pub target: RequestTarget,
}

/// One line of the audit log.
#[derive(Clone, Debug)]
pub struct Record {
    /// The properties of the request.
    pub subject: Arc<Subject>,
    /// Stage of the request: its begin or its end.
    pub stage: Stage,
    /// Outcome of the request.
    pub outcome: Outcome,
    /// Status code of the response. `None` if Drover sent no response.
    pub code: Option<u16>,
    /// Reason of a refusal or revocation, in `PascalCase`.
    pub reason: Option<&'static str>,
    /// Number of bytes of the request's body, or bytes from the client on an upgraded stream.
    pub bytes_in: u64,
    /// Number of bytes of the response's body, or bytes to the client on an upgraded stream.
    pub bytes_out: u64,
    /// Duration from the arrival of the request to the record.
    pub duration: Duration,
}

impl Record {
    /// Returns the approximate size in memory, in bytes.
    pub(super) fn size(&self) -> usize {
        let subject = &*self.subject;
        let person = subject.person.as_ref();
        let person = person.map_or(0, |p| {
            let acting = p.acting_as.as_ref().map_or(0, String::len);
            let token = p.token.as_ref().map_or(0, |token| token.len());
            p.name.len() + p.uid.len() + token + acting
        });
        size_of::<Self>() + size_of::<Subject>() + subject.target.text.len() + person
    }

    /// Truncates the target to this number of bytes.
    pub(super) fn truncate_target(&mut self, bytes: usize) {
        Arc::make_mut(&mut self.subject).target.truncate(bytes);
    }

    /// Appends the record to `out` as one JSON object.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        let subject = &*self.subject;
        let person = subject.person.as_ref();
        let mut line = JsonObject::new(out);
        line.value("time", &subject.received)?;
        line.value("stage", &self.stage)?;
        line.value("id", &DisplayText(subject.id))?;
        line.value("source", &subject.source)?;
        line.text("user", person.map(|p| &*p.name))?;
        line.text("userUid", person.map(|p| &*p.uid))?;
        line.text("token", person.and_then(|p| p.token.as_deref()))?;
        line.text("actingAs", person.and_then(|p| p.acting_as.as_deref()))?;
        let cluster = subject.cluster.as_ref();
        line.text("cluster", cluster.map(|p| &*p.name))?;
        let uid = cluster.and_then(|p| p.uid.as_ref());
        line.text("clusterUid", uid.map(ClusterUid::as_str))?;
        line.value("verb", &subject.verb)?;
        line.text("method", Some(subject.method.as_str()))?;
        line.text("path", Some(&redacted(&subject.target.text)))?;
        if subject.target.is_truncated() {
            line.value("pathBytes", &subject.target.whole)?;
        }
        if let Some(object) = &subject.object {
            line.text("object", Some(object))?;
        }
        line.value("outcome", &self.outcome)?;
        line.value("code", &self.code)?;
        line.text("reason", self.reason)?;
        line.value("bytesIn", &self.bytes_in)?;
        line.value("bytesOut", &self.bytes_out)?;
        line.value("durationMs", &(self.duration.as_secs_f64() * 1e3))?;
        line.end();
        Ok(())
    }
}

/// Writes a JSON object. Unlike `serde_json`, does not escape the keys, and copies text without
/// special characters as a whole. The server writes an object for every request.
struct JsonObject<'a> {
    out: &'a mut Vec<u8>,
    separator: u8,
}

impl<'a> JsonObject<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            separator: b'{',
        }
    }

    /// Writes a key, which must not have characters that JSON escapes.
    fn key(&mut self, key: &'static str) {
        self.out.extend_from_slice(&[self.separator, b'"']);
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.separator = b',';
    }

    fn value(&mut self, key: &'static str, value: &impl Serialize) -> serde_json::Result<()> {
        self.key(key);
        serde_json::to_writer(&mut *self.out, value)
    }

    fn text(&mut self, key: &'static str, text: Option<&str>) -> serde_json::Result<()> {
        let Some(text) = text.filter(|text| is_plain(text)) else {
            return self.value(key, &text);
        };
        self.key(key);
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
        Ok(())
    }

    fn end(self) {
        self.out.push(b'}');
    }
}

/// Reports whether JSON strings contain this text unchanged (RFC 8259 section 7).
fn is_plain(text: &str) -> bool {
    // Without an early return, the compiler checks several bytes at a time.
    text.bytes()
        .map(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
        .fold(true, |plain, byte| plain & byte)
}

struct DisplayText<T>(T);

impl<T: fmt::Display> Serialize for DisplayText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_header_and_audit_record_have_the_same_request_id() {
        for number in [0, 1, 15, 16, 0xabc_def0, u64::MAX] {
            let id = RequestId {
                start: 0x0123_4567_89ab_cdef,
                number,
            };
            assert_eq!(HeaderValue::from(id), id.to_string());
        }
    }

    #[test]
    fn every_text_is_written_in_the_same_form_as_by_serde_json() {
        let ascii = (0..=0x7f).map(|byte| char::from(byte).to_string());
        let texts = ascii.chain(["", "a b", "ü\u{2028}😀", "a\"b\\c\n\u{1}"].map(str::to_owned));
        for text in texts {
            let mut line = Vec::new();
            let mut object = JsonObject::new(&mut line);
            object.text("a", Some(&text)).unwrap();
            object.text("b", None).unwrap();
            object.end();
            let expected = format!("{{\"a\":{},\"b\":null}}", serde_json::json!(text));
            assert_eq!(String::from_utf8(line).unwrap(), expected);
        }
    }
}
