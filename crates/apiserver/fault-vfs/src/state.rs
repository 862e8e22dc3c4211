//! The state of the simulated disk: durable data, and data that is not synced yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The size of an atomic write, in bytes.
const SECTOR: usize = 512;

/// Reproducible random numbers (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator. Generators with equal seeds return equal sequences of numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next random number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a random number below `end`, which must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// The reason why an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The simulated power is off.
    Off,
    /// The simulated disk is full.
    Full,
    /// The simulated disk reports an input/output error.
    Failed,
}

/// The files of a simulated disk, and its injected faults.
#[derive(Debug, Default)]
pub(crate) struct DiskState {
    files: BTreeMap<PathBuf, File>,
    /// Deleted files with their durable content. The deletion of these files is not durable yet.
    deleted: BTreeMap<PathBuf, Vec<u8>>,
    open: usize,
    countdown: Option<u64>,
    off: bool,
    space: Option<u64>,
    failing: u32,
    syncs: u64,
}

#[derive(Debug, Default)]
struct File {
    durable: Vec<u8>,
    /// True if the directory entry of the file is durable.
    named: bool,
    pending: Vec<Pending>,
    size: u64,
}

#[derive(Debug)]
enum Pending {
    Write { offset: usize, data: Vec<u8> },
    Truncate(usize),
}

/// The effect of a power failure on a write that was not synced.
#[derive(Debug, Clone, Copy)]
enum CrashEffect {
    Lost,
    Durable,
    Partial,
}

impl DiskState {
    pub(crate) fn cut_after(&mut self, operations: u64) {
        self.countdown = Some(operations);
    }

    pub(crate) fn is_off(&self) -> bool {
        self.off
    }

    pub(crate) fn set_space(&mut self, bytes: Option<u64>) {
        self.space = bytes;
    }

    pub(crate) fn fail_syncs(&mut self, count: u32) {
        self.failing = count;
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.syncs
    }

    pub(crate) fn open_files(&self) -> usize {
        self.open
    }

    pub(crate) fn is_tracked(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// Tracks a file that SQLite has opened. `content` is the content of the real file. If the VFS
    /// already tracks the file, the tracked content does not change.
    pub(crate) fn opened(&mut self, path: &Path, content: Option<Vec<u8>>) {
        self.open += 1;
        self.files.entry(path.to_owned()).or_insert_with(|| {
            let named = content.is_some();
            let durable = content.unwrap_or_default();
            File {
                named,
                size: durable.len() as u64,
                durable,
                pending: Vec::new(),
            }
        });
    }

    pub(crate) fn closed(&mut self) {
        self.open -= 1;
    }

    /// Returns an error if the simulated power is off.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.off { Err(Refusal::Off) } else { Ok(()) }
    }

    /// Counts an operation. Returns true if the power failure occurs during this operation.
    fn tick(&mut self) -> Result<bool, Refusal> {
        self.check()?;
        if let Some(remaining) = &mut self.countdown {
            *remaining = remaining.saturating_sub(1);
            self.off = *remaining == 0;
        }
        Ok(self.off)
    }

    pub(crate) fn write(&mut self, path: &Path, offset: u64, data: &[u8]) -> Result<(), Refusal> {
        let cut = self.tick()?;
        let file = self.files.entry(path.to_owned()).or_default();
        let end = offset + data.len() as u64;
        let growth = end.saturating_sub(file.size);
        if let Some(space) = &mut self.space {
            *space = space.checked_sub(growth).ok_or(Refusal::Full)?;
        }
        file.size = file.size.max(end);
        file.pending.push(Pending::Write {
            offset: to_usize(offset),
            data: data.to_owned(),
        });
        if cut { Err(Refusal::Off) } else { Ok(()) }
    }

    pub(crate) fn truncate(&mut self, path: &Path, size: u64) -> Result<(), Refusal> {
        let cut = self.tick()?;
        let file = self.files.entry(path.to_owned()).or_default();
        if let Some(space) = &mut self.space {
            *space += file.size.saturating_sub(size);
        }
        file.size = size;
        file.pending.push(Pending::Truncate(to_usize(size)));
        if cut { Err(Refusal::Off) } else { Ok(()) }
    }

    /// Makes the content of a file durable. With `folder`, also makes the directory entries
    /// durable, as SQLite's VFS does for journals and WAL files.
    pub(crate) fn sync(&mut self, path: &Path, folder: bool) -> Result<(), Refusal> {
        if self.tick()? {
            return Err(Refusal::Off);
        }
        self.syncs += 1;
        let file = self.files.entry(path.to_owned()).or_default();
        let pending = std::mem::take(&mut file.pending);
        if self.failing > 0 {
            self.failing -= 1;
            return Err(Refusal::Failed);
        }
        for change in pending {
            change.apply(&mut file.durable);
        }
        if folder {
            self.sync_folder();
        }
        Ok(())
    }

    fn sync_folder(&mut self) {
        for file in self.files.values_mut() {
            file.named = true;
        }
        self.deleted.clear();
    }

    pub(crate) fn delete(&mut self, path: &Path, folder: bool) -> Result<(), Refusal> {
        let cut = self.tick()?;
        if let Some(file) = self.files.remove(path) {
            if let Some(space) = &mut self.space {
                *space += file.size;
            }
            if file.named {
                self.deleted.insert(path.to_owned(), file.durable);
            }
        }
        if cut {
            return Err(Refusal::Off);
        }
        if folder {
            self.sync_folder();
        }
        Ok(())
    }

    /// Computes the content of each file after a power failure, and switches the power on.
    pub(crate) fn crash(&mut self, random: &mut Random) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let fate = match random.below(4) {
            0 => CrashEffect::Lost,
            1 => CrashEffect::Durable,
            _ => CrashEffect::Partial,
        };
        let mut remaining = BTreeMap::new();
        for (path, durable) in std::mem::take(&mut self.deleted) {
            remaining.insert(path, random.flip().then_some(durable));
        }
        for (path, file) in std::mem::take(&mut self.files) {
            if file.named || random.flip() {
                remaining.insert(path, Some(file.after(fate, random)));
            } else {
                remaining.entry(path).or_insert(None);
            }
        }
        *self = Self {
            syncs: self.syncs,
            ..Self::default()
        };
        remaining
    }
}

impl File {
    fn after(self, fate: CrashEffect, random: &mut Random) -> Vec<u8> {
        let mut content = self.durable;
        for pending in self.pending {
            match fate {
                CrashEffect::Lost => {}
                CrashEffect::Durable => pending.apply(&mut content),
                CrashEffect::Partial => match random.below(3) {
                    0 => {}
                    1 => pending.apply(&mut content),
                    _ => pending.apply_partly(&mut content, random),
                },
            }
        }
        content
    }
}

impl Pending {
    fn apply(self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, data } => put(content, offset, &data),
            Self::Truncate(size) => content.resize(size, 0),
        }
    }

    fn apply_partly(self, content: &mut Vec<u8>, random: &mut Random) {
        match self {
            Self::Write { offset, data } => {
                for (number, sector) in data.chunks(SECTOR).enumerate() {
                    if random.flip() {
                        put(content, offset + number * SECTOR, sector);
                    }
                }
            }
            Self::Truncate(_) => self.apply(content),
        }
    }
}

fn put(content: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(data);
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(world: impl Fn() -> DiskState) -> Vec<Option<Vec<u8>>> {
        let mut all: Vec<_> = (0..200)
            .map(|seed| {
                let mut remaining = world().crash(&mut Random::new(seed));
                remaining.remove(Path::new("a")).unwrap_or_default()
            })
            .collect();
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn power_failure_preserves_synced_data_and_may_lose_unsynced_data() {
        let all = fates(|| {
            let mut world = DiskState::default();
            let path = Path::new("a");
            world.opened(path, Some(b"old".to_vec()));
            world.write(path, 0, b"new").unwrap();
            world.sync(path, false).unwrap();
            world.write(path, 3, b"er").unwrap();
            world
        });
        assert_eq!(all, [Some(b"new".to_vec()), Some(b"newer".to_vec())]);
    }

    #[test]
    fn power_failure_preserves_new_file_if_its_folder_was_synced() {
        let world = |folder| {
            let mut world = DiskState::default();
            world.opened(Path::new("a"), None);
            world.write(Path::new("a"), 0, b"x").unwrap();
            world.sync(Path::new("a"), folder).unwrap();
            world
        };
        assert_eq!(fates(|| world(true)), [Some(b"x".to_vec())]);
        assert_eq!(fates(|| world(false)), [None, Some(b"x".to_vec())]);
    }

    #[test]
    fn deleted_file_can_reappear_after_power_failure_until_folder_sync() {
        let world = |folder| {
            let mut world = DiskState::default();
            world.opened(Path::new("a"), Some(b"old".to_vec()));
            world.delete(Path::new("a"), folder).unwrap();
            world
        };
        assert_eq!(fates(|| world(false)), [None, Some(b"old".to_vec())]);
        assert_eq!(fates(|| world(true)), [None]);
    }

    #[test]
    fn power_failure_after_failed_sync_loses_unsynced_data() {
        let all = fates(|| {
            let mut world = DiskState::default();
            world.opened(Path::new("a"), Some(b"old".to_vec()));
            world.write(Path::new("a"), 0, b"new").unwrap();
            world.fail_syncs(1);
            assert_eq!(world.sync(Path::new("a"), false), Err(Refusal::Failed));
            world.sync(Path::new("a"), false).unwrap();
            world
        });
        assert_eq!(all, [Some(b"old".to_vec())]);
    }

    #[test]
    fn interrupted_write_can_be_partial_after_power_failure() {
        let mut world = DiskState::default();
        let path = Path::new("a");
        world.opened(path, Some(Vec::new()));
        world.cut_after(2);
        world.write(path, 0, b"x").unwrap();
        assert_eq!(world.write(path, 1, b"y"), Err(Refusal::Off));
        assert_eq!(world.sync(path, true), Err(Refusal::Off));
        assert!(world.is_off());
    }
}
