//! Content negotiation of the encoding (RFC 9110, 12.5.3).

use http::HeaderValue;
use http::header::GetAll;

use super::files::File;

/// The encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Brotli (`br`), the smallest encoding.
    Brotli,
    /// The encoding gzip (`gzip`).
    Gzip,
    /// The file without compression.
    Identity,
}

impl Encoding {
    /// Returns the smallest available encoding that the browser accepts.
    pub(super) fn chosen(accepted: &GetAll<'_, HeaderValue>, file: &File) -> Self {
        let texts: Vec<&str> = accepted.iter().filter_map(|v| v.to_str().ok()).collect();
        [Self::Brotli, Self::Gzip]
            .into_iter()
            .find(|form| form.is_in(file) && form.name().is_some_and(|name| takes(&texts, name)))
            .unwrap_or(Self::Identity)
    }

    /// Returns the encoding's name in `Content-Encoding`, or `None` for an uncompressed file.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }

    /// Returns the suffix of the `ETag`. The suffix distinguishes the encodings of one file
    /// version.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => "-br",
            Self::Gzip => "-gz",
            Self::Identity => "",
        }
    }

    /// Returns the file's bytes in this encoding.
    pub(super) fn bytes(self, file: &'static File) -> &'static [u8] {
        match self {
            Self::Brotli => file.brotli,
            Self::Gzip => file.gzip,
            Self::Identity => None,
        }
        .unwrap_or(file.plain)
    }

    fn is_in(self, file: &File) -> bool {
        match self {
            Self::Brotli => file.brotli.is_some(),
            Self::Gzip => file.gzip.is_some(),
            Self::Identity => true,
        }
    }
}

/// Reports whether the `Accept-Encoding` values accept a coding, by name or with `*`.
fn takes(texts: &[&str], name: &str) -> bool {
    let mut any = false;
    for part in texts.iter().flat_map(|text| text.split(',')) {
        let mut words = part.split(';').map(str::trim);
        let coding = words.next().unwrap_or_default();
        let weight = words.find_map(|word| word.strip_prefix("q="));
        let acceptable = weight.is_none_or(|text| text.parse::<f32>().is_ok_and(|q| q > 0.0));
        if coding.eq_ignore_ascii_case(name) {
            return acceptable;
        }
        any |= coding == "*" && acceptable;
    }
    any
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::ACCEPT_ENCODING;

    use super::*;

    const BOTH: File = File {
        path: "assets/a.js",
        version: "1",
        plain: b"plain",
        brotli: Some(b"br"),
        gzip: Some(b"gz"),
    };

    fn chosen(header: Option<&'static str>, file: &File) -> Encoding {
        let mut headers = HeaderMap::new();
        if let Some(text) = header {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(text));
        }
        Encoding::chosen(&headers.get_all(ACCEPT_ENCODING), file)
    }

    #[test]
    fn ui_file_is_sent_in_the_smallest_accepted_encoding() {
        for (header, expected) in [
            (Some("gzip, deflate, br, zstd"), Encoding::Brotli),
            (Some("gzip"), Encoding::Gzip),
            (Some("GZIP;q=0.5"), Encoding::Gzip),
            (Some("br;q=0, gzip"), Encoding::Gzip),
            (Some("br;q=0, *"), Encoding::Gzip),
            (Some("*"), Encoding::Brotli),
            (Some("*;q=0"), Encoding::Identity),
            (Some("br;q=nonsense"), Encoding::Identity),
            (Some("identity"), Encoding::Identity),
            (Some("brotli"), Encoding::Identity),
            (Some(""), Encoding::Identity),
            (None, Encoding::Identity),
        ] {
            assert_eq!(chosen(header, &BOTH), expected, "{header:?}");
        }
    }

    #[test]
    fn ui_file_without_brotli_variant_is_sent_as_gzip_or_uncompressed() {
        let only_gzip = File {
            brotli: None,
            ..BOTH
        };
        assert_eq!(chosen(Some("br, gzip"), &only_gzip), Encoding::Gzip);
        assert_eq!(chosen(Some("br"), &only_gzip), Encoding::Identity);
    }
}
