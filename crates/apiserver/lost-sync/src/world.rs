//! What is durable, and what is not yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The unit that a disk writes at once.
const SECTOR: usize = 512;

/// Reproducible arbitrary numbers (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// Why an operation is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The power is cut.
    Off,
    /// There is no space.
    Full,
    /// The disk says that it failed.
    Failed,
}

/// All files of a disk.
#[derive(Debug, Default)]
pub(crate) struct World {
    files: BTreeMap<PathBuf, File>,
    /// Deleted, with the content that was durable; the deletion is not durable yet.
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
    /// Whether the name is durable.
    named: bool,
    pending: Vec<Pending>,
    size: u64,
}

#[derive(Debug)]
enum Pending {
    Write { offset: usize, data: Vec<u8> },
    Truncate(usize),
}

/// What becomes of that which was not synced.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Lost,
    Kept,
    Partly,
}

impl World {
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

    pub(crate) fn knows(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// A file is opened; `content` is what the real one has, for a file that is not known yet.
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

    /// Whether anything can be done at all.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.off { Err(Refusal::Off) } else { Ok(()) }
    }

    /// Counts an operation; true if the power fails in the middle of it.
    fn tick(&mut self) -> Result<bool, Refusal> {
        self.check()?;
        if let Some(left) = &mut self.countdown {
            *left = left.saturating_sub(1);
            self.off = *left == 0;
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

    /// Makes a file durable, and with it, as SQLite does for its logs, the folder's names.
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

    /// What is left of each file after a power failure; the power is on again after it.
    pub(crate) fn lose(&mut self, chance: &mut Chance) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let fate = match chance.below(4) {
            0 => Fate::Lost,
            1 => Fate::Kept,
            _ => Fate::Partly,
        };
        let mut left = BTreeMap::new();
        for (path, durable) in std::mem::take(&mut self.deleted) {
            left.insert(path, chance.coin().then_some(durable));
        }
        for (path, file) in std::mem::take(&mut self.files) {
            if file.named || chance.coin() {
                left.insert(path, Some(file.after(fate, chance)));
            } else {
                left.entry(path).or_insert(None);
            }
        }
        *self = Self {
            syncs: self.syncs,
            ..Self::default()
        };
        left
    }
}

impl File {
    fn after(self, fate: Fate, chance: &mut Chance) -> Vec<u8> {
        let mut content = self.durable;
        for pending in self.pending {
            match fate {
                Fate::Lost => {}
                Fate::Kept => pending.apply(&mut content),
                Fate::Partly => match chance.below(3) {
                    0 => {}
                    1 => pending.apply(&mut content),
                    _ => pending.apply_partly(&mut content, chance),
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

    fn apply_partly(self, content: &mut Vec<u8>, chance: &mut Chance) {
        match self {
            Self::Write { offset, data } => {
                for (number, sector) in data.chunks(SECTOR).enumerate() {
                    if chance.coin() {
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

    fn fates(world: impl Fn() -> World) -> Vec<Option<Vec<u8>>> {
        let mut all: Vec<_> = (0..200)
            .map(|seed| {
                let mut left = world().lose(&mut Chance::new(seed));
                left.remove(Path::new("a")).unwrap_or_default()
            })
            .collect();
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn what_was_synced_stays_and_what_was_not_may_go() {
        let all = fates(|| {
            let mut world = World::default();
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
    fn a_name_is_durable_with_its_folder_and_not_before() {
        let world = |folder| {
            let mut world = World::default();
            world.opened(Path::new("a"), None);
            world.write(Path::new("a"), 0, b"x").unwrap();
            world.sync(Path::new("a"), folder).unwrap();
            world
        };
        assert_eq!(fates(|| world(true)), [Some(b"x".to_vec())]);
        assert_eq!(fates(|| world(false)), [None, Some(b"x".to_vec())]);
    }

    #[test]
    fn a_deleted_file_may_come_back_until_the_folder_is_synced() {
        let world = |folder| {
            let mut world = World::default();
            world.opened(Path::new("a"), Some(b"old".to_vec()));
            world.delete(Path::new("a"), folder).unwrap();
            world
        };
        assert_eq!(fates(|| world(false)), [None, Some(b"old".to_vec())]);
        assert_eq!(fates(|| world(true)), [None]);
    }

    #[test]
    fn a_failed_sync_loses_what_it_was_to_keep() {
        let all = fates(|| {
            let mut world = World::default();
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
    fn the_operation_that_the_power_fails_in_may_be_half_done() {
        let mut world = World::default();
        let path = Path::new("a");
        world.opened(path, Some(Vec::new()));
        world.cut_after(2);
        world.write(path, 0, b"x").unwrap();
        assert_eq!(world.write(path, 1, b"y"), Err(Refusal::Off));
        assert_eq!(world.sync(path, true), Err(Refusal::Off));
        assert!(world.is_off());
    }
}
