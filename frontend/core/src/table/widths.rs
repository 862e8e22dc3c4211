//! The widths of columns, from the lengths of their texts.

/// The average width of a letter in a table, in pixels.
const LETTER: f64 = 7.4;
/// The space on the left and on the right of a text, in pixels.
const PADDING: f64 = 26.0;
/// The maximum width that a column requests, in pixels.
const MAX: f64 = 420.0;

/// Returns the width in pixels of a column with a text of this length.
pub fn text_width(letters: usize) -> f64 {
    let letters = u32::try_from(letters).unwrap_or(u32::MAX);
    (f64::from(letters) * LETTER + PADDING).min(MAX)
}

/// A column whose width [`fit`] computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedColumn {
    /// The requested width, in pixels.
    pub wanted: f64,
    /// The additional width that the column requests after all columns have the requested widths.
    pub extra: f64,
    /// The width to which the column shrinks, relative to other columns.
    pub share: f64,
}

/// Distributes `available` pixels to columns, and returns their widths. If the space is sufficient
/// for the requested widths, all columns grow in proportion. Their additional widths count only if
/// the space is sufficient for all of them. Otherwise only the widest columns shrink, to widths in
/// proportion to their shares.
pub fn fit(available: f64, columns: &[FittedColumn]) -> Vec<f64> {
    let with_extra = columns.iter().map(|column| column.wanted + column.extra);
    let wanted = columns.iter().map(|column| column.wanted);
    if let Some(widths) = grow(available, with_extra).or_else(|| grow(available, wanted)) {
        return widths;
    }
    let mut ascending = columns.to_vec();
    ascending.sort_by(|a, b| (a.wanted / a.share).total_cmp(&(b.wanted / b.share)));
    let (mut rest, mut limit) = (available.max(0.0), f64::INFINITY);
    for (place, column) in ascending.iter().enumerate() {
        let shares: f64 = ascending[place..].iter().map(|column| column.share).sum();
        if column.wanted / column.share > rest / shares {
            limit = rest / shares;
            break;
        }
        rest -= column.wanted;
    }
    let widths = columns.iter();
    widths
        .map(|column| column.wanted.min(limit * column.share))
        .collect()
}

/// Enlarges the widths in proportion. Returns `None` if the space is not sufficient.
fn grow(available: f64, widths: impl Iterator<Item = f64> + Clone) -> Option<Vec<f64>> {
    let sum: f64 = widths.clone().sum();
    let factor = if sum > 0.0 { available / sum } else { 1.0 };
    (sum <= available).then(|| widths.map(|width| width * factor).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn columns(wanted: &[f64], share: f64) -> Vec<FittedColumn> {
        let shares = std::iter::once(share).chain(std::iter::repeat(1.0));
        let columns = wanted.iter().zip(shares);
        columns
            .map(|(&wanted, share)| FittedColumn {
                wanted,
                extra: 0.0,
                share,
            })
            .collect()
    }

    #[test]
    fn only_the_widest_columns_shrink() {
        let fit = |available, share| fit(available, &columns(&[400.0, 60.0, 190.0], share));
        assert_eq!(fit(300.0, 1.0), [120.0, 60.0, 120.0]);
        assert_eq!(fit(500.0, 1.0), [250.0, 60.0, 190.0]);
        assert_eq!(fit(300.0, 2.0), [160.0, 60.0, 80.0]);
        assert_eq!(fit(1300.0, 2.0), [800.0, 120.0, 380.0]);
        assert_eq!(fit(0.0, 1.0), [0.0; 3]);
    }

    #[test]
    fn additional_width_is_given_only_if_all_columns_have_it() {
        let mut columns = columns(&[100.0, 50.0], 1.0);
        columns[1].extra = 50.0;
        assert_eq!(fit(400.0, &columns), [200.0, 200.0]);
        assert_eq!(fit(180.0, &columns), [120.0, 60.0]);
    }

    #[test]
    fn long_text_requests_a_limited_width() {
        assert!(text_width(16) < text_width(26));
        assert!(text_width(usize::MAX) <= MAX);
    }

    proptest! {
        #[test]
        fn columns_fill_the_table(
            available in 0.0..4000.0_f64,
            share in 1.0..4.0_f64,
            wanted in prop::collection::vec(30.0..MAX, 1..20),
        ) {
            let widths = fit(available, &columns(&wanted, share));
            prop_assert!((widths.iter().sum::<f64>() - available).abs() < 0.01);
            let is_short = wanted.iter().sum::<f64>() > available;
            for (width, wanted) in widths.iter().zip(&wanted) {
                prop_assert!(!is_short || width <= wanted);
                prop_assert!(is_short || width >= wanted);
            }
        }
    }
}
