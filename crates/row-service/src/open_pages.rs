//! The limit of open pages of each user.

use std::collections::HashMap;
use std::sync::Arc;

use drover_api::ids::UserUid;
use parking_lot::Mutex;

/// Maximum number of open pages of a user.
const MAX_PAGES: usize = 32;

/// The numbers of open pages of users. Clones share the numbers.
#[derive(Clone, Default)]
pub(crate) struct OpenPages(Arc<Mutex<HashMap<UserUid, usize>>>);

/// An open page. Dropping the value closes the page.
pub(crate) struct OpenPage {
    pages: OpenPages,
    user: UserUid,
}

impl OpenPages {
    /// Opens a page. Returns `None` if the user has the maximum number of open pages.
    pub(crate) fn open(&self, user: &UserUid) -> Option<OpenPage> {
        let mut pages = self.0.lock();
        let count = pages.entry(user.clone()).or_default();
        if *count >= MAX_PAGES {
            return None;
        }
        *count += 1;
        Some(OpenPage {
            pages: self.clone(),
            user: user.clone(),
        })
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let mut pages = self.pages.0.lock();
        if let Some(count) = pages.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                pages.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_with_the_maximum_number_of_pages_opens_a_page_after_closing_another() {
        let (pages, ann) = (OpenPages::default(), UserUid::new("ann"));
        let mut open: Vec<_> = (0..MAX_PAGES).map(|_| pages.open(&ann)).collect();
        assert!(open.iter().all(Option::is_some));
        assert!(pages.open(&ann).is_none());
        assert!(pages.open(&UserUid::new("bob")).is_some());
        open.pop();
        assert!(pages.open(&ann).is_some());
        drop(open);
        assert!(pages.0.lock().is_empty());
    }
}
