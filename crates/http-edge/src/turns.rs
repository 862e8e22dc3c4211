//! Turns at what costs: each person has one at a time, and few people have one at once.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// Who is at something; clones share it.
#[derive(Clone, Debug)]
pub struct Turns {
    most: usize,
    among: Arc<Mutex<HashSet<Box<str>>>>,
}

/// Somebody's turn; over when dropped.
#[derive(Debug)]
pub struct Turn {
    who: Box<str>,
    among: Arc<Mutex<HashSet<Box<str>>>>,
}

/// Why somebody has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTurn {
    /// For themselves.
    Yours,
    /// For others.
    Others,
}

impl Turns {
    /// For so many people at once.
    pub fn of(most: usize) -> Self {
        Self {
            most,
            among: Arc::default(),
        }
    }

    /// A turn for the person of this UID.
    pub fn take(&self, who: &str) -> Result<Turn, NoTurn> {
        let mut among = self.among.lock();
        if among.contains(who) {
            return Err(NoTurn::Yours);
        }
        if among.len() >= self.most {
            return Err(NoTurn::Others);
        }
        among.insert(who.into());
        Ok(Turn {
            who: who.into(),
            among: Arc::clone(&self.among),
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.among.lock().remove(&self.who);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_person_has_one_turn_at_a_time_and_few_people_have_one_at_once() {
        let turns = Turns::of(2);
        let ann = turns.take("ann").ok();
        assert_eq!(turns.take("ann").err(), Some(NoTurn::Yours));
        let bob = turns.clone().take("bob").ok();
        assert!(bob.is_some());
        assert_eq!(turns.take("eve").err(), Some(NoTurn::Others));
        drop(ann);
        let eve = turns.take("eve").ok();
        assert!(eve.is_some());
        assert_eq!(turns.take("ann").err(), Some(NoTurn::Others));
        drop(bob);
        assert!(
            turns.take("ann").is_ok(),
            "a turn is over when it is dropped"
        );
    }
}
