//! Functions of URLs, with the rules of Go's `net/url`.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Type::{Dict as Map, Str};
use super::{Args, Function, fixed};
use crate::error::CallError;
use crate::value::{Bytes, Dict, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("urlParse", &[Str], parse_to_dict),
    fixed("urlJoin", &[Map], join),
];

/// The parts of a URL whose escaping differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Host,
    Path,
    User,
    Fragment,
}

impl Mode {
    fn escapes(self, byte: u8) -> bool {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            return false;
        }
        let kept: &[u8] = match self {
            Self::Host => b"!$&'()*+,;=:[]<>\"",
            Self::Path => b"$&+,/:;=@",
            Self::User => b"$&+,;=",
            Self::Fragment => b"$&+,/:;=?@!()*",
        };
        !kept.contains(&byte)
    }

    fn escape(self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        for byte in text {
            if self.escapes(*byte) {
                out.extend_from_slice(format!("%{byte:02X}").as_bytes());
            } else {
                out.push(*byte);
            }
        }
        out
    }

    fn unescape(self, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let [byte, after @ ..] = rest {
            rest = after;
            if *byte == b'%' {
                let digits = std::str::from_utf8(after.get(..2)?).ok()?;
                if !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
                    return None;
                }
                let decoded = u8::from_str_radix(digits, 16).ok()?;
                if self == Self::Host && decoded < 0x80 && digits != "25" {
                    return None;
                }
                out.push(decoded);
                rest = &after[2..];
            } else if self == Self::Host && byte.is_ascii() && self.escapes(*byte) {
                return None;
            } else {
                out.push(*byte);
            }
        }
        Some(out)
    }
}

#[derive(Debug, Default)]
struct Url {
    scheme: Vec<u8>,
    opaque: Vec<u8>,
    /// The escaped user with the escaped password.
    user: Option<Vec<u8>>,
    host: Vec<u8>,
    path: Vec<u8>,
    query: Vec<u8>,
    fragment: Vec<u8>,
}

fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == at) {
        Some(position) => (&text[..position], Some(&text[position + 1..])),
        None => (text, None),
    }
}

/// Splits the scheme from a URL.
fn split_scheme(text: &[u8]) -> Option<(&[u8], &[u8])> {
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b':' if at == 0 => return None,
            b':' => return Some((&text[..at], &text[at + 1..])),
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            _ => break,
        }
    }
    Some((b"", text))
}

fn is_port(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

impl Url {
    fn parse(text: &[u8]) -> Option<Self> {
        let (text, fragment) = cut(text, b'#');
        if text.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
            return None;
        }
        let mut url = Self {
            fragment: Mode::Fragment.unescape(fragment.unwrap_or_default())?,
            ..Self::default()
        };
        if text == b"*" {
            url.path = text.to_vec();
            return Some(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (mut rest, query) = cut(rest, b'?');
        url.query = query.unwrap_or_default().to_vec();
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Some(url);
            }
            if cut(rest, b'/').0.contains(&b':') {
                return None;
            }
        }
        let has_authority = !url.scheme.is_empty() || !rest.starts_with(b"///");
        if let Some(authority) = rest.strip_prefix(b"//").filter(|_| has_authority) {
            let end = authority.iter().position(|byte| *byte == b'/');
            let (authority, path) = authority.split_at(end.unwrap_or(authority.len()));
            rest = path;
            url.authority(authority)?;
        }
        url.path = Mode::Path.unescape(rest)?;
        Some(url)
    }

    fn authority(&mut self, text: &[u8]) -> Option<()> {
        let at = text.iter().rposition(|byte| *byte == b'@');
        let host = at.map_or(text, |at| &text[at + 1..]);
        let port = if host.starts_with(b"[") {
            let end = host.iter().rposition(|byte| *byte == b']')?;
            &host[end + 1..]
        } else {
            let colon = host.iter().rposition(|byte| *byte == b':');
            &host[colon.unwrap_or(host.len())..]
        };
        if !is_port(port) {
            return None;
        }
        self.host = Mode::Host.unescape(host)?;
        if let Some(at) = at {
            self.user = Some(normalize_user(&text[..at])?);
        }
        Some(())
    }

    fn hostname(&self) -> &[u8] {
        if self.host.starts_with(b"[") {
            let end = self.host.iter().position(|byte| *byte == b']');
            return end.map_or(&self.host, |end| &self.host[1..end]);
        }
        let colon = self.host.iter().rposition(|byte| *byte == b':');
        let colon = colon.filter(|colon| is_port(&self.host[*colon..]));
        colon.map_or(&self.host, |colon| &self.host[..colon])
    }

    fn print(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            let has_scheme = !self.scheme.is_empty() && !self.path.is_empty();
            if has_scheme || !self.host.is_empty() || self.user.is_some() {
                out.extend_from_slice(b"//");
                if let Some(user) = &self.user {
                    out.extend_from_slice(user);
                    out.push(b'@');
                }
                out.extend_from_slice(&Mode::Host.escape(&self.host));
            }
            let path = if self.path == b"*" {
                self.path.clone()
            } else {
                Mode::Path.escape(&self.path)
            };
            if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
                out.push(b'/');
            }
            if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
                out.extend_from_slice(b"./");
            }
            out.extend_from_slice(&path);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend_from_slice(&Mode::Fragment.escape(&self.fragment));
        }
        out
    }
}

/// Decodes and encodes the user and the password of a URL.
fn normalize_user(text: &[u8]) -> Option<Vec<u8>> {
    let valid = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
    if !text.iter().all(valid) {
        return None;
    }
    let (user, password) = cut(text, b':');
    let mut out = Mode::User.escape(&Mode::User.unescape(user)?);
    if let Some(password) = password {
        out.push(b':');
        out.extend(Mode::User.escape(&Mode::User.unescape(password)?));
    }
    Some(out)
}

fn parse_to_dict(args: &Args<'_>) -> Result<Value, CallError> {
    args.reserve(4, args.bytes(0).len())?;
    let url = Url::parse(args.bytes(0)).ok_or("unable to parse url")?;
    let hostname = url.hostname().to_vec();
    let parts = [
        ("scheme", url.scheme),
        ("host", url.host),
        ("hostname", hostname),
        ("path", url.path),
        ("query", url.query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", url.user.unwrap_or_default()),
    ];
    let entries = parts.into_iter().map(|(key, text)| {
        let key: Bytes = Rc::from(key.as_bytes());
        (key, Value::str(text))
    });
    Ok(Value::Dict(Dict::new(
        args.budget,
        entries.collect::<BTreeMap<_, _>>(),
    )))
}

fn join(args: &Args<'_>) -> Result<Value, CallError> {
    let dict = args.dict(0);
    let part = |key: &str| match dict.get(key.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::Str(text)) => {
            args.reserve(3, text.len())?;
            Ok(text.to_vec())
        }
        Some(_) => Err(CallError::Failed(format!(
            "unable to parse {key} key, must be of type string"
        ))),
    };
    let user = part("userinfo")?;
    let user = if user.is_empty() {
        None
    } else {
        let text = [b"proto://", user.as_slice(), b"@host"].concat();
        let parsed = Url::parse(&text).ok_or("unable to parse userinfo in dict")?;
        parsed.user
    };
    let url = Url {
        scheme: part("scheme")?,
        opaque: part("opaque")?,
        user,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        fragment: part("fragment")?,
    };
    Ok(Value::str(url.print()))
}
