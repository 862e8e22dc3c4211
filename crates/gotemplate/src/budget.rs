//! Limits of one rendering.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The maximum nesting of lists in a value, and of all values that a function walks.
pub(crate) const MAX_VALUE_DEPTH: u32 = 128;

/// The limits of one rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of the output in bytes.
    pub output_bytes: usize,
    /// The maximum number of steps. A step is one evaluated node, one element of a created list, or
    /// eight bytes of a created string. The number of steps also bounds the memory.
    pub steps: u64,
    /// The maximum nesting of evaluated actions, parentheses and template calls. A nesting of 200
    /// needs less than 2 MiB of stack, the stack of a thread in Rust.
    pub depth: u32,
}

impl Default for Limits {
    /// 4 MiB of output, one million steps and a nesting of 200.
    fn default() -> Self {
        Self {
            output_bytes: 4 << 20,
            steps: 1_000_000,
            depth: 200,
        }
    }
}

/// The limit that a rendering exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// [`Limits::output_bytes`].
    #[error("output size")]
    OutputBytes,
    /// [`Limits::steps`].
    #[error("number of evaluation steps")]
    Steps,
    /// [`Limits::depth`].
    #[error("nesting of actions")]
    Depth,
    /// The nesting of a value, which is at most 128.
    #[error("nesting of values")]
    ValueDepth,
}

/// The entries of a dictionary, which the end of a rendering removes.
pub(crate) trait Clear {
    /// Removes all entries.
    fn clear(&self);
}

/// The remaining steps of a rendering, and the rendering's dictionaries.
pub(crate) struct Budget {
    steps: Cell<u64>,
    /// All dictionaries. The function `set` can create cycles, so dropping references does not free
    /// every dictionary, and a long chain of dictionaries would overflow the stack.
    dictionaries: RefCell<Vec<Rc<dyn Clear>>>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            steps: Cell::new(limits.steps),
            dictionaries: RefCell::default(),
        }
    }

    /// Subtracts `count` steps.
    pub(crate) fn spend(&self, count: usize) -> Result<(), Limit> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let left = self.steps.get().checked_sub(count);
        self.steps.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Limit::Steps)
    }

    /// Subtracts the steps of a string with `bytes` bytes.
    pub(crate) fn spend_bytes(&self, bytes: usize) -> Result<(), Limit> {
        self.spend(bytes / 8 + 1)
    }

    /// Registers a dictionary, which the budget clears at the end.
    pub(crate) fn register(&self, entries: Rc<dyn Clear>) {
        self.dictionaries.borrow_mut().push(entries);
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        for entries in self.dictionaries.borrow().iter() {
            entries.clear();
        }
    }
}

/// Checks the depth of a recursion over a value.
pub(crate) fn check_depth(depth: u32) -> Result<(), Limit> {
    if depth > MAX_VALUE_DEPTH {
        return Err(Limit::ValueDepth);
    }
    Ok(())
}
