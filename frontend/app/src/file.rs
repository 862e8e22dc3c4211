//! Downloads of files.

use js_sys::{Array, Uint8Array};
use leptos::prelude::document;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{Blob, HtmlAnchorElement, Url};

/// The size of the parts that the browser keeps outside of the memory of the page, in bytes.
const PART_BYTES: u32 = 4 * 1024 * 1024;
/// The memory for the object of a received message, in bytes.
const MESSAGE_OVERHEAD: u32 = 256;

/// Saves a text as a file. Returns false if the browser does not support downloads.
pub(crate) fn save(name: &str, text: &str) -> bool {
    try_save(name, text).is_ok()
}

fn try_save(name: &str, text: &str) -> Result<(), JsValue> {
    let parts = Array::of1(&JsValue::from_str(text));
    try_save_blob(name, &Blob::new_with_str_sequence(&parts)?)
}

fn try_save_blob(name: &str, blob: &Blob) -> Result<(), JsValue> {
    let url = Url::create_object_url_with_blob(blob)?;
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(&url);
    link.set_download(name);
    link.click();
    // The browser has copied the content.
    Url::revoke_object_url(&url)
}

/// The received bytes of a file. The browser stores large Blobs on the disk.
#[derive(Default)]
pub(crate) struct ReceivedFile {
    blobs: Array,
    pending: Array,
    pending_bytes: u32,
}

impl ReceivedFile {
    /// Appends bytes. Returns false if the browser cannot store the bytes.
    pub(crate) fn append(&mut self, bytes: &Uint8Array) -> bool {
        self.pending.push(bytes);
        // A container can send many short messages, and each needs an object of the browser.
        self.pending_bytes += bytes.length() + MESSAGE_OVERHEAD;
        self.pending_bytes < PART_BYTES || self.store().is_ok()
    }

    fn store(&mut self) -> Result<(), JsValue> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        self.blobs
            .push(&Blob::new_with_u8_array_sequence(&pending)?.into());
        Ok(())
    }

    /// Saves the file. Returns false if the browser cannot save the file.
    pub(crate) fn save(mut self, name: &str) -> bool {
        let stored = self.store();
        let blob = stored.and_then(|()| Blob::new_with_blob_sequence(&self.blobs));
        blob.and_then(|blob| try_save_blob(name, &blob)).is_ok()
    }
}
