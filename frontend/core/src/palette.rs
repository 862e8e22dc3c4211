//! Fuzzy search in titles, for the command palette.

/// Returns the match score of the entered characters. A higher score is a better match; `None`
/// means no match. Matches at word starts and matches of adjacent characters score higher.
pub fn match_score(typed: &str, title: &str) -> Option<u32> {
    let mut score = 0;
    let mut typed_letters = typed
        .chars()
        .filter(|c| !c.is_whitespace())
        .flat_map(char::to_lowercase)
        .peekable();
    let (mut at_start, mut matched_before) = (true, false);
    for letter in title.chars() {
        let same = letter.to_lowercase().next();
        if typed_letters.peek().is_some() && typed_letters.peek() == same.as_ref() {
            typed_letters.next();
            score += 1 + 4 * u32::from(at_start) + 5 * u32::from(matched_before);
            matched_before = true;
        } else {
            matched_before = false;
        }
        at_start = !letter.is_alphanumeric();
    }
    typed_letters.peek().is_none().then_some(score)
}

/// Returns the indexes of the matching titles, best first; all titles if the input is empty.
pub fn ranked_matches<'a>(typed: &str, titles: impl IntoIterator<Item = &'a str>) -> Vec<usize> {
    let mut found: Vec<(usize, u32)> = titles
        .into_iter()
        .enumerate()
        .filter_map(|(place, title)| Some((place, match_score(typed, title)?)))
        .collect();
    found.sort_by_key(|(place, score)| (std::cmp::Reverse(*score), *place));
    found.into_iter().map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_search_ranks_word_starts_and_adjacent_characters_higher() {
        let titles = ["Change password", "Go to clusters", "Use the dark theme"];
        assert_eq!(ranked_matches("", titles), [0, 1, 2]);
        assert_eq!(ranked_matches("gtc", titles), [1]);
        assert_eq!(ranked_matches("DARK", titles), [2]);
        assert_eq!(ranked_matches("xyz", titles), [0; 0]);
        assert_eq!(ranked_matches("c", titles)[0], 0);
        assert!(match_score("clus", "Go to clusters") > match_score("clus", "a c l u s"));
    }
}
