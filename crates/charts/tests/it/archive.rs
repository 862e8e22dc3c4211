//! Archives of charts, also archives that no program of Helm writes.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Type of an entry with a file.
pub(crate) const FILE: u8 = b'0';
/// Type of an entry with a symbolic link.
pub(crate) const LINK: u8 = b'2';

/// A tar archive (ustar).
#[derive(Default)]
pub(crate) struct Tar(Vec<u8>);

impl Tar {
    #[must_use]
    pub(crate) fn file(self, name: &str, content: &[u8]) -> Self {
        self.entry(name, FILE, "", content)
    }

    /// Adds an entry. `target` is the target of a link.
    #[must_use]
    pub(crate) fn entry(mut self, name: &str, kind: u8, target: &str, content: &[u8]) -> Self {
        let mut header = [0_u8; 512];
        let mut put = |at: usize, text: &str| {
            header[at..at + text.len()].copy_from_slice(text.as_bytes());
        };
        put(0, name);
        put(100, "0000644");
        put(108, "0000000");
        put(116, "0000000");
        put(124, &format!("{:011o}", content.len()));
        put(136, "00000000000");
        put(148, "        ");
        put(157, target);
        put(257, "ustar");
        put(263, "00");
        header[156] = kind;
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.0.extend_from_slice(&header);
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// Returns the compressed archive.
    pub(crate) fn gzip(mut self) -> Vec<u8> {
        self.0.extend_from_slice(&[0; 1024]);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.0).unwrap();
        encoder.finish().unwrap()
    }
}

/// Returns an archive with the `Chart.yaml` of a chart.
pub(crate) fn tar(name: &str, version: &str) -> Tar {
    let text = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    Tar::default().file(&format!("{name}/Chart.yaml"), text.as_bytes())
}

/// Returns the archive of a chart with one template.
pub(crate) fn chart(name: &str, version: &str) -> Vec<u8> {
    tar(name, version)
        .file(&format!("{name}/templates/a.yaml"), b"kind: ConfigMap\n")
        .gzip()
}
