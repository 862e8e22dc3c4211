//! The files, and what each is.

/// A file of the web UI, as it is and compressed.
#[derive(Debug)]
pub(super) struct File {
    /// Its path in URLs, without the first `/`.
    pub(super) path: &'static str,
    /// Another text for another content.
    pub(super) version: &'static str,
    /// The content.
    pub(super) plain: &'static [u8],
    /// The content, compressed by Brotli.
    pub(super) brotli: Option<&'static [u8]>,
    /// The content, compressed by gzip.
    pub(super) gzip: Option<&'static [u8]>,
}

/// Made by `build/page.rs`.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The file with this path.
pub(super) fn find(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

impl File {
    /// How long a browser may keep it unasked: names of assets change with what they hold.
    pub(super) fn caching(&self) -> &'static str {
        if self.path.starts_with("assets/") {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        }
    }

    /// Its media type, which browsers are told not to guess.
    pub(super) fn media_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            // Anything else would keep browsers from compiling it while it arrives.
            Some("wasm") => "application/wasm",
            _ => "application/octet-stream",
        }
    }
}

/// All of them.
#[cfg(test)]
pub(super) fn all() -> &'static [File] {
    FILES
}
