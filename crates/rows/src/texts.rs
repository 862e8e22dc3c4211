//! Several texts in one allocation.

/// Several texts in one allocation. Rows of large lists use this type, because separate strings
/// would need twice the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    text: Box<str>,
    /// The end of each text, in bytes.
    ends: Box<[u32]>,
}

impl Texts {
    /// Returns the text with this index.
    pub(crate) fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(previous) => *self.ends.get(previous)?,
            None => 0,
        };
        self.text.get(start as usize..end as usize)
    }

    /// Returns the number of texts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the allocated memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * size_of::<u32>()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Texts {
    /// Joins texts. Texts after the first 4 GiB are dropped.
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        let (mut joined, mut ends) = (String::new(), Vec::new());
        for text in texts {
            let text = text.as_ref();
            let Ok(end) = u32::try_from(joined.len() + text.len()) else {
                break;
            };
            joined.push_str(text);
            ends.push(end);
        }
        Self {
            text: joined.into_boxed_str(),
            ends: ends.into_boxed_slice(),
        }
    }
}

/// Truncates a text to a number of bytes.
pub fn truncated(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn joined_texts_are_returned_unchanged(texts in prop::collection::vec("\\PC{0,8}", 0..8)) {
            let joined: Texts = texts.iter().collect();
            prop_assert_eq!(joined.len(), texts.len());
            for (index, text) in texts.iter().enumerate() {
                prop_assert_eq!(joined.get(index), Some(text.as_str()));
            }
            prop_assert_eq!(joined.get(texts.len()), None);
        }
    }
}
