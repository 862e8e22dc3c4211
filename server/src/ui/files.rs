//! The files of the web UI and their metadata.

/// A file of the web UI, uncompressed and compressed.
#[derive(Debug)]
pub(super) struct File {
    /// Path of the file in URLs, without the leading `/`.
    pub(super) path: &'static str,
    /// Hash of the uncompressed content, in hexadecimal.
    pub(super) version: &'static str,
    /// The uncompressed content.
    pub(super) plain: &'static [u8],
    /// The content, compressed with Brotli.
    pub(super) brotli: Option<&'static [u8]>,
    /// The content, compressed with gzip.
    pub(super) gzip: Option<&'static [u8]>,
}

/// The table of all files, which `build/page.rs` generates.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

pub(super) fn find(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

impl File {
    /// Returns the `Cache-Control` header. Assets never expire, because their names change with
    /// their content.
    pub(super) fn caching(&self) -> &'static str {
        if self.path.starts_with("assets/") {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        }
    }

    /// Returns the media type. Responses also set `X-Content-Type-Options: nosniff`.
    pub(super) fn media_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            // Browsers compile WebAssembly while it downloads only with this type.
            Some("wasm") => "application/wasm",
            Some("woff2") => "font/woff2",
            _ => "application/octet-stream",
        }
    }
}

/// Returns all files of the web UI.
#[cfg(test)]
pub(super) fn all() -> &'static [File] {
    FILES
}
