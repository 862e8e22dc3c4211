//! Lists whose objects are encoded as JSON by the reader threads.
//!
//! The reader copies each object once, from the database into the text of the list. Lists of whole
//! prefixes stay in memory for a few seconds. While no object below the prefix changes, later lists
//! share the text.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use rusqlite::Connection;

use super::error::ListError;
use super::feed::Feed;
use super::read::{At, Collect, List, ObjectRef, list_into};

/// Size of the chunks of encoded objects, in bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// Minimum size of a shared list, in bytes. A shorter list is read from the database in less than a
/// millisecond.
const SHARED_FROM_BYTES: usize = 128 << 10;
/// Time after its last use at which a shared list is dropped.
const SHARED_FOR: Duration = Duration::from_secs(5);

/// The form of the objects in an encoded list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemForm {
    /// The first bytes of all objects: the opening brace, `apiVersion` and `kind`.
    pub head: Vec<u8>,
    /// True if the list contains the objects without `apiVersion` and `kind`.
    pub drops_head: bool,
}

/// The encoded objects of a list, or of a page of a list.
#[derive(Debug, Clone)]
pub struct EncodedPage {
    /// The objects as JSON, separated by commas. Lists share the chunks.
    pub chunks: Arc<[Bytes]>,
    /// The total length of the chunks.
    pub length: usize,
    /// The key of the last object.
    pub last: Option<Arc<str>>,
    /// The revision that the list shows.
    pub revision: u64,
    /// The number of objects after the last object; see [`Page`](super::Page).
    pub remaining: u64,
}

/// Encodes the objects of a list.
struct Encoding<'a> {
    form: &'a ItemForm,
    chunks: Vec<Bytes>,
    current: Vec<u8>,
    length: usize,
    count: usize,
    last: String,
    /// True if an object does not have the form.
    differs: bool,
}

impl<'a> Encoding<'a> {
    fn new(form: &'a ItemForm) -> Self {
        Self {
            form,
            chunks: Vec::new(),
            current: Vec::new(),
            length: 0,
            count: 0,
            last: String::new(),
            differs: false,
        }
    }

    fn finish_chunk(&mut self) {
        self.length += self.current.len();
        let mut chunk = std::mem::take(&mut self.current);
        // The memory limits count the length of a chunk, not its capacity.
        if chunk.capacity() - chunk.len() > chunk.len() / 8 {
            chunk.shrink_to_fit();
        }
        self.chunks.push(chunk.into());
    }
}

impl Collect for Encoding<'_> {
    fn add(&mut self, object: ObjectRef<'_>) {
        self.differs |= !object.value.starts_with(&self.form.head);
        if self.differs {
            return;
        }
        if self.current.capacity() == 0 {
            self.current.reserve(CHUNK_BYTES);
        }
        if self.count > 0 {
            self.current.push(b',');
        }
        let start = self.current.len();
        let dropped = if self.form.drops_head {
            self.form.head.len() - 1
        } else {
            0
        };
        object.write_json(&mut self.current, dropped);
        if dropped > 0 {
            self.current[start] = b'{';
        }
        self.count += 1;
        self.last.clear();
        self.last.push_str(object.key);
        // The next object of the same size still fits into the allocation.
        let size = self.current.len() - start;
        if self.current.len() + size > CHUNK_BYTES {
            self.finish_chunk();
        }
    }

    fn end(&self) -> (usize, Option<&str>) {
        (self.count, (self.count > 0).then_some(self.last.as_str()))
    }
}

/// Reads and encodes a list. Returns `None` if an object does not have the form.
fn read(conn: &Connection, list: &List, form: &ItemForm) -> Result<Option<EncodedPage>, ListError> {
    let mut encoding = Encoding::new(form);
    let end = list_into(conn, list, &mut encoding)?;
    if encoding.differs {
        return Ok(None);
    }
    if !encoding.current.is_empty() {
        encoding.finish_chunk();
    }
    Ok(Some(EncodedPage {
        length: encoding.length,
        last: encoding.end().1.map(Into::into),
        chunks: encoding.chunks.into(),
        revision: end.revision,
        remaining: end.remaining,
    }))
}

/// The lists in memory.
#[derive(Debug)]
pub(super) struct EncodedLists {
    feed: Arc<Feed>,
    max_bytes: usize,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    lists: Vec<SharedList>,
    /// True if a task drops unused lists.
    expiring: bool,
}

#[derive(Debug)]
struct SharedList {
    prefix: String,
    form: ItemForm,
    page: EncodedPage,
    used: Instant,
}

impl EncodedLists {
    pub(super) fn new(feed: Arc<Feed>, max_bytes: usize) -> Self {
        Self {
            feed,
            max_bytes,
            shared: Mutex::default(),
        }
    }

    /// Returns the list from memory, or reads the list.
    pub(super) fn list(
        &self,
        conn: &Connection,
        list: &List,
        form: &ItemForm,
    ) -> Result<Option<EncodedPage>, ListError> {
        // Another reader may have read the list while this read waited.
        if let Some(page) = self.recall(list, form) {
            return Ok(Some(page));
        }
        let page = read(conn, list, form)?;
        if let Some(page) = &page {
            self.share(list, form, page);
        }
        Ok(page)
    }

    /// Returns a list of a whole prefix from memory if no object below the prefix has changed.
    pub(super) fn recall(&self, list: &List, form: &ItemForm) -> Option<EncodedPage> {
        if !is_whole(list) {
            return None;
        }
        let mut shared = self.shared.lock();
        let is_same = |one: &SharedList| one.prefix == list.prefix && one.form == *form;
        let index = shared.lists.iter().position(is_same)?;
        let found = &mut shared.lists[index];
        // All acknowledged changes are in the feed.
        if let Some(revision) = self.feed.unchanged(&list.prefix, found.page.revision) {
            found.page.revision = revision;
            found.used = Instant::now();
            return Some(found.page.clone());
        }
        shared.lists.swap_remove(index);
        None
    }

    /// Keeps a list of a whole prefix in memory.
    fn share(&self, list: &List, form: &ItemForm, page: &EncodedPage) {
        if !is_whole(list) || page.length < SHARED_FROM_BYTES || page.length > self.max_bytes {
            return;
        }
        let mut shared = self.shared.lock();
        let lists = &mut shared.lists;
        lists.retain(|one| one.prefix != list.prefix || one.form != *form);
        lists.push(SharedList {
            prefix: list.prefix.clone(),
            form: form.clone(),
            page: page.clone(),
            used: Instant::now(),
        });
        while lists.iter().map(|one| one.page.length).sum::<usize>() > self.max_bytes {
            let uses = lists.iter().enumerate();
            let Some((oldest, _)) = uses.min_by_key(|(_, one)| one.used) else {
                return;
            };
            lists.swap_remove(oldest);
        }
    }

    /// Starts a task that drops unused lists, if lists are in memory and no such task runs.
    pub(super) fn expire(self: &Arc<Self>) {
        {
            let mut shared = self.shared.lock();
            if shared.expiring || shared.lists.is_empty() {
                return;
            }
            shared.expiring = true;
        }
        let lists = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SHARED_FOR).await;
                match lists.upgrade() {
                    Some(lists) if lists.drop_unused() => {}
                    _ => return,
                }
            }
        });
    }

    /// Drops unused lists. Returns false if no list is left.
    fn drop_unused(&self) -> bool {
        let mut shared = self.shared.lock();
        shared.lists.retain(|one| one.used.elapsed() < SHARED_FOR);
        shared.expiring = !shared.lists.is_empty();
        shared.expiring
    }
}

/// Reports whether the list contains all objects below its prefix, in their latest state.
fn is_whole(list: &List) -> bool {
    list.at == At::Latest && list.after.is_none() && list.limit.is_none()
}

#[cfg(test)]
mod tests;
