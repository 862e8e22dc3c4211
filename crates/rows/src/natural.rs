//! The natural order of names.

use std::cmp::Ordering;

/// Compares names in natural order: `web-9` before `web-10`, `v1.9` before `v1.10`.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let (number_a, number_b) = (digits(a), digits(b));
        if number_a > 0 && number_b > 0 {
            let (left, right) = (trimmed(&a[..number_a]), trimmed(&b[..number_b]));
            let found = left.len().cmp(&right.len()).then_with(|| left.cmp(right));
            if found != Ordering::Equal {
                return found;
            }
            (a, b) = (&a[number_a..], &b[number_b..]);
            continue;
        }
        match (a.split_first(), b.split_first()) {
            (Some((left, rest_a)), Some((right, rest_b))) if left == right => {
                (a, b) = (rest_a, rest_b);
            }
            (left, right) => return left.map(|it| it.0).cmp(&right.map(|it| it.0)),
        }
    }
}

fn digits(text: &[u8]) -> usize {
    let end = text.iter().position(|byte| !byte.is_ascii_digit());
    end.unwrap_or(text.len())
}

fn trimmed(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|digit| **digit == b'0').count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_with_numbers_are_sorted_numerically() {
        for (less, more) in [
            ("web-9", "web-10"),
            ("v1.9.3", "v1.10.0"),
            ("a", "b"),
            ("a", "a1"),
            ("a1", "ab"),
            ("", "0"),
        ] {
            assert_eq!(natural(less, more), Ordering::Less, "{less} {more}");
            assert_eq!(natural(more, less), Ordering::Greater, "{more} {less}");
        }
        assert_eq!(natural("a-007", "a-7"), Ordering::Equal);
    }

    proptest! {
        #[test]
        fn natural_name_order_is_a_total_order(mut names in prop::collection::vec("[a-b0-2-]{0,6}", 0..24)) {
            // An inconsistent comparison would panic or leave rows unsorted.
            names.sort_by(|a, b| natural(a, b));
            for pair in names.windows(2) {
                prop_assert_ne!(natural(&pair[0], &pair[1]), Ordering::Greater);
            }
        }
    }
}
