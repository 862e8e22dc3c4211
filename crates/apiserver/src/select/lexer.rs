//! Tokens of label selectors.

/// An identifier or an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Error,
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Identifier,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

impl Token {
    fn of(text: &[u8]) -> Option<Self> {
        Some(match text {
            b")" => Self::Close,
            b"," => Self::Comma,
            b"!" => Self::Not,
            b"==" => Self::DoubleEquals,
            b"=" => Self::Equals,
            b">" => Self::Greater,
            b"in" => Self::In,
            b"<" => Self::Less,
            b"!=" => Self::NotEquals,
            b"notin" => Self::NotIn,
            b"(" => Self::Open,
            _ => return None,
        })
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

const fn is_sign(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}

/// Splits a selector into tokens. The last token is [`Token::End`].
///
/// A zero byte ends the selector, as in Kubernetes' lexer.
pub(super) fn scan(selector: &str) -> Vec<(Token, String)> {
    let bytes = selector.split('\0').next().unwrap_or("").as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if is_space(*byte) {
            at += 1;
        } else if is_sign(*byte) {
            let (token, text, next) = scan_sign(bytes, at);
            tokens.push((token, text));
            at = next;
        } else {
            let rest = &bytes[at..];
            let length = rest
                .iter()
                .position(|byte| is_sign(*byte) || is_space(*byte))
                .unwrap_or(rest.len());
            let word = &rest[..length];
            tokens.push((
                Token::of(word).unwrap_or(Token::Identifier),
                String::from_utf8_lossy(word).into_owned(),
            ));
            at += length;
        }
    }
    tokens.push((Token::End, String::new()));
    tokens
}

/// Reads the longest operator at `start`.
fn scan_sign(bytes: &[u8], start: usize) -> (Token, String, usize) {
    let mut last = None;
    let mut end = start;
    while end < bytes.len() && is_sign(bytes[end]) {
        end += 1;
        let text = &bytes[start..end];
        if let Some(token) = Token::of(text) {
            last = Some((token, text));
        } else if last.is_some() {
            end -= 1;
            break;
        }
    }
    match last {
        Some((token, text)) => (token, String::from_utf8_lossy(text).into_owned(), end),
        None => (
            Token::Error,
            format!(
                "error expected: keyword found '{}'",
                String::from_utf8_lossy(&bytes[start..end])
            ),
            end,
        ),
    }
}
