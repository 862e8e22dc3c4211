//! Selects the rows of a long table that the page renders.

/// A range of table rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The index of the first rendered row.
    pub first: usize,
    /// The index after the last rendered row.
    pub end: usize,
}

/// The number of rows rendered above and below the visible part, so that scrolling shows no gaps.
const OVERSCAN: usize = 8;
/// The number of rows by which the loaded part of a list moves.
pub const STEP: usize = 25;
/// The maximum number of rendered rows, for any screen height.
pub const MAX_ROWS: usize = 120;

impl Window {
    /// Returns the rows to render if `scrolled` pixels are above the visible part.
    pub fn at(scrolled: f64, visible: f64, row: f64, rows: usize) -> Self {
        if row.is_nan() || row <= 0.0 {
            return Self::default();
        }
        let top = whole(scrolled / row).min(rows);
        let first = top.saturating_sub(OVERSCAN);
        let shown = whole((visible / row).ceil()) + 2 * OVERSCAN;
        Self {
            first,
            end: (first + shown.min(MAX_ROWS)).min(rows),
        }
    }

    /// Returns the rendered rows if only `count` rows from the index `first` are loaded.
    #[must_use]
    pub fn loaded(self, first: usize, count: usize) -> Self {
        let begin = self.first.max(first);
        let end = self.end.min(first + count);
        if begin < end {
            Self { first: begin, end }
        } else {
            Self {
                first: self.first,
                end: self.first,
            }
        }
    }

    /// Returns the rows to load: the rendered rows, and rows above and below, so that scrolling by a
    /// few rows loads no rows. The result changes only every [`STEP`] rows.
    pub fn to_load(self) -> (usize, usize) {
        let first = self.first.saturating_sub(STEP) / STEP * STEP;
        let end = (self.end + 2 * STEP) / STEP * STEP;
        (first, end - first)
    }

    /// Returns the height in pixels of the rows above and below the rendered rows.
    pub fn padding(self, row: f64, rows: usize) -> (f64, f64) {
        let pixels = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX)) * row;
        (pixels(self.first), pixels(rows.saturating_sub(self.end)))
    }
}

/// Converts a number to a count of rows. The result is 0 for a negative number, which occurs when
/// the browser scrolls beyond the start.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to the range of the type"
)]
fn whole(value: f64) -> usize {
    value.clamp(0.0, f64::from(u32::MAX)) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn list_renders_visible_rows_and_a_few_adjacent_rows(
            rows in 0_usize..100_000, scrolled in 0.0..2e6_f64, visible in 0.0..2_000.0_f64,
        ) {
            let window = Window::at(scrolled, visible, 40.0, rows);
            prop_assert!(window.first <= window.end && window.end <= rows);
            prop_assert!(window.end - window.first <= MAX_ROWS);
            let (above, below) = window.padding(40.0, rows);
            let height = f64::from(u32::try_from(rows).unwrap()) * 40.0;
            let rendered = f64::from(u32::try_from(window.end - window.first).unwrap()) * 40.0;
            prop_assert!((above + rendered + below - height).abs() < 1e-6);
            if scrolled + visible <= height {
                prop_assert!(above <= scrolled && height - below >= scrolled + visible);
            }
        }
    }

    #[test]
    fn loaded_part_contains_the_rendered_rows() {
        let window = Window {
            first: 100,
            end: 160,
        };
        let (first, count) = window.to_load();
        assert_eq!((first, count), (75, 125));
        assert_eq!(window.loaded(first, count), window);
        assert_eq!(
            window.loaded(120, 100),
            Window {
                first: 120,
                end: 160
            }
        );
        let none = Window {
            first: 100,
            end: 100,
        };
        assert_eq!(window.loaded(200, 100), none);
        assert_eq!(window.loaded(0, 0), none);
    }

    #[test]
    fn list_with_invalid_scroll_position_renders_few_rows() {
        for odd in [f64::NAN, f64::INFINITY, -50.0] {
            let window = Window::at(odd, odd, 40.0, 10_000);
            assert!(window.end - window.first <= MAX_ROWS, "{odd}");
        }
        assert_eq!(Window::at(0.0, 100.0, 0.0, 10), Window::default());
    }
}
