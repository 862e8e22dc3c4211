//! The line of the last samples of a row's usage.

use std::fmt::Write as _;

use drover_rows::Row;
use drover_rows::samples::{MAX_SAMPLES, RoundedAmount};
use drover_rows::usage::Resource;
use jiff::{SignedDuration, Timestamp};

use super::usage::amount_text;
use crate::age::age;
use crate::messages::t;

/// The width of the drawing in pixels.
pub const WIDTH: f64 = 56.0;
/// The height of the drawing in pixels.
pub const HEIGHT: f64 = 16.0;
/// The distance of the line from the edges of the drawing, so that the line is completely visible.
const MARGIN: f64 = 1.0;
/// The smallest height of the drawing as a share of the highest value, so that small changes look
/// small.
const MIN_RANGE: f64 = 0.2;

/// The line of the last samples of a row's usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparkline {
    /// The points of an SVG polyline. The newest sample is at the right edge.
    pub points: String,
    /// The lowest and the highest value, and the period of the samples.
    pub summary: String,
}

/// Returns the line of a row's usage. Returns `None` for fewer than two samples.
pub fn sparkline(row: &Row, resource: Resource) -> Option<Sparkline> {
    let samples = row.samples.as_ref().filter(|_| row.usage.is_some())?;
    let values = samples.of(resource);
    let values = &values[values.len().saturating_sub(MAX_SAMPLES)..];
    let (low, high) = (values.iter().min()?.amount(), values.iter().max()?.amount());
    let period = SignedDuration::from_secs(samples.seconds.into());
    let period = age(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH + period);
    let text = |amount| amount_text(amount, resource);
    (values.len() > 1).then(|| Sparkline {
        points: points(values, low, high),
        summary: t().kinds.usage_range(&text(low), &text(high), &period),
    })
}

/// Returns the points of the line.
#[expect(
    clippy::cast_precision_loss,
    reason = "a drawing of 16 pixels shows no differences in the last bits"
)]
fn points(values: &[RoundedAmount], low: u64, high: u64) -> String {
    let (low, high) = (low as f64, high as f64);
    let range = (high - low).max(high * MIN_RANGE).max(1.0);
    let base = f64::midpoint(low, high) - range / 2.0;
    let step = (WIDTH - 2.0 * MARGIN) / (MAX_SAMPLES - 1) as f64;
    let mut points = String::new();
    for (after, value) in (0..values.len()).rev().zip(values) {
        let x = WIDTH - MARGIN - step * after as f64;
        let share = (value.amount() as f64 - base) / range;
        let y = HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN);
        // Writing to a `String` cannot fail.
        let _ = write!(points, "{x:.1},{y:.1} ");
    }
    points.truncate(points.trim_end().len());
    points
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use drover_rows::row::RowContent;
    use drover_rows::samples::UsageSamples;
    use drover_rows::{Amounts, Columns};
    use proptest::prelude::*;

    use super::*;

    fn row(values: &[u64]) -> Row {
        let columns = Columns::from([]);
        let content = RowContent::default();
        let mut row = Row::new("a".into(), columns, content, Timestamp::UNIX_EPOCH);
        let values = values.iter().map(|value| RoundedAmount::new(*value));
        row.usage = Some(Amounts::default());
        row.samples = Some(Arc::new(UsageSamples {
            seconds: 285,
            cpu: values.clone().collect(),
            memory: values.collect(),
        }));
        row
    }

    fn shown(values: &[u64]) -> Option<Sparkline> {
        sparkline(&row(values), Resource::Cpu)
    }

    #[test]
    fn newest_sample_is_at_the_right_edge_and_the_highest_at_the_top() {
        let line = shown(&[100, 300, 200]).unwrap();
        assert_eq!(line.points, "49.3,15.0 52.2,1.0 55.0,8.0");
        assert_eq!(line.summary, "Lowest 0.1, highest 0.3 in the last 4m");
        let memory = sparkline(&row(&[512 << 20, 1 << 30]), Resource::Memory).unwrap();
        assert_eq!(
            memory.summary,
            "Lowest 512 MiB, highest 1 GiB in the last 4m"
        );
    }

    #[test]
    fn small_changes_look_small() {
        assert_eq!(shown(&[1_000, 1_020]).unwrap().points, "52.2,8.7 55.0,7.3");
        assert_eq!(shown(&[0, 0]).unwrap().points, "52.2,8.0 55.0,8.0");
    }

    #[test]
    fn row_with_fewer_than_two_samples_or_without_usage_has_no_line() {
        assert_eq!((shown(&[]), shown(&[100])), (None, None));
        let mut row = row(&[100, 200]);
        row.usage = None;
        assert_eq!(sparkline(&row, Resource::Cpu), None);
        (row.usage, row.samples) = (Some(Amounts::default()), None);
        assert_eq!(sparkline(&row, Resource::Cpu), None);
    }

    proptest! {
        #[test]
        fn every_point_is_inside_the_drawing(values in proptest::collection::vec(any::<u64>(), 2..100)) {
            let line = shown(&values).unwrap();
            let points: Vec<&str> = line.points.split(' ').collect();
            prop_assert_eq!(points.len(), values.len().min(MAX_SAMPLES));
            for point in points {
                let (x, y) = point.split_once(',').unwrap();
                let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                prop_assert!((0.0..=WIDTH).contains(&x) && (0.0..=HEIGHT).contains(&y), "{line:?}");
            }
        }
    }
}
