//! The geometry of a line chart: the line, the axes and the reference lines.

use std::fmt::Write as _;

use jiff::Timestamp;

use crate::messages::t;
use crate::quantity::{bytes, cores_with_unit};

/// The width of the drawing in units of the path.
pub const WIDTH: f64 = 600.0;
/// The height of the drawing in units of the path.
pub const HEIGHT: f64 = 140.0;
/// The number of intervals of the time axis.
const TIMES: i32 = 4;
/// Maximum number of intervals of the value axis.
const VALUES: f64 = 4.0;
/// A reference line above this multiple of the highest value would make the line of values flat.
const MAX_REFERENCE: f64 = 4.0;
/// A gap of this multiple of the average distance between two points interrupts the line.
const GAP: f64 = 4.0;

/// A value at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The time of the measurement.
    pub at: Timestamp,
    /// The value.
    pub value: f64,
}

/// A constant value that a chart shows as a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// The name of the value.
    pub name: &'static str,
    /// The value.
    pub value: f64,
}

/// The unit of the values of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartUnit {
    /// Cores.
    Cores,
    /// Bytes.
    Bytes,
}

impl ChartUnit {
    /// Formats a value.
    pub fn words(self, value: f64) -> String {
        match self {
            Self::Cores => cores_with_unit(value),
            Self::Bytes => bytes(value),
        }
    }

    /// Returns the smallest height of a chart, so that the axis of unused resources has round values.
    const fn smallest(self) -> f64 {
        match self {
            Self::Cores => 0.01,
            Self::Bytes => 1024.0,
        }
    }

    /// Returns the smallest round interval that needs at most [`VALUES`] intervals for a value.
    fn interval(self, highest: f64) -> f64 {
        let raw = highest / VALUES;
        match self {
            Self::Cores => {
                let power = 10_f64.powf(raw.log10().floor());
                let factor = [1.0, 2.0, 5.0].into_iter().find(|it| it * power >= raw);
                factor.unwrap_or(10.0) * power
            }
            // Powers of two give round numbers of KiB, MiB and GiB.
            Self::Bytes => 2_f64.powf(raw.log2().ceil()),
        }
    }
}

/// A label of an axis or of a reference line.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The distance from the start of the axis; 1 is the complete axis.
    pub share: f64,
    /// The text.
    pub words: String,
}

/// A point of the line.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartPoint {
    /// The position on the time axis; 1 is the end of the period.
    pub x: f64,
    /// The position on the value axis; 1 is the top.
    pub y: f64,
    /// The time of the measurement.
    pub at: Timestamp,
    /// The value with its unit.
    pub words: String,
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The line as an SVG path in a drawing of [`WIDTH`] and [`HEIGHT`].
    pub line: String,
    /// The labels of the value axis, from the bottom.
    pub values: Vec<Mark>,
    /// The labels of the time axis: the position and the time.
    pub times: Vec<(f64, Timestamp)>,
    /// The reference lines.
    pub references: Vec<Mark>,
    /// The points in the order of time.
    pub points: Vec<ChartPoint>,
    /// The newest and the highest value.
    pub summary: String,
}

impl Chart {
    /// Returns the index of the point that is nearest to a position on the time axis.
    pub fn nearest(&self, x: f64) -> Option<usize> {
        let distance = |index: &usize| (self.points[*index].x - x).abs();
        (0..self.points.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

/// Returns the chart of the points of a period. Returns `None` without points.
pub fn chart(
    points: &[Point],
    references: &[Reference],
    unit: ChartUnit,
    (start, end): (Timestamp, Timestamp),
) -> Option<Chart> {
    let length = seconds_between(start, end).max(1.0);
    let place = |at: Timestamp| seconds_between(start, at) / length;
    let shown: Vec<&Point> = points
        .iter()
        .filter(|it| (0.0..=1.0).contains(&place(it.at)))
        .collect();
    let newest = shown.last()?.value;
    let highest = shown.iter().map(|it| it.value).fold(0.0, f64::max);
    let near = |it: &&Reference| it.value <= highest * MAX_REFERENCE;
    let references: Vec<_> = references.iter().filter(near).collect();
    let top = references.iter().map(|it| it.value);
    let top = top.fold(highest, f64::max).max(unit.smallest());
    let interval = unit.interval(top);
    let intervals = (top / interval).ceil().max(1.0);
    let top = intervals * interval;
    let points: Vec<_> = shown
        .iter()
        .map(|it| ChartPoint {
            x: place(it.at),
            y: (it.value / top).clamp(0.0, 1.0),
            at: it.at,
            words: unit.words(it.value),
        })
        .collect();
    Some(Chart {
        line: line(&points),
        values: values(unit, interval, intervals),
        times: times(start, length),
        references: references
            .into_iter()
            .map(|Reference { name, value }| Mark {
                share: value / top,
                words: format!("{name}: {}", unit.words(*value)),
            })
            .collect(),
        summary: t().chart.summary(&unit.words(newest), &unit.words(highest)),
        points,
    })
}

/// Returns the labels of the value axis.
fn values(unit: ChartUnit, interval: f64, intervals: f64) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut step = 0.0;
    while step <= intervals {
        marks.push(Mark {
            share: step / intervals,
            words: unit.words(step * interval),
        });
        step += 1.0;
    }
    marks
}

/// Returns the labels of the time axis.
fn times(start: Timestamp, length: f64) -> Vec<(f64, Timestamp)> {
    let mark = |step: i32| {
        let share = f64::from(step) / f64::from(TIMES);
        let passed = jiff::SignedDuration::try_from_secs_f64(length * share).ok()?;
        Some((share, start.checked_add(passed).ok()?))
    };
    (0..=TIMES).filter_map(mark).collect()
}

/// Returns the path of the line. A gap in the measurements interrupts the line.
#[expect(
    clippy::cast_precision_loss,
    reason = "a chart has at most some thousands of points"
)]
fn line(points: &[ChartPoint]) -> String {
    let first = points.first().map_or(0.0, |it| it.x);
    let last = points.last().map_or(0.0, |it| it.x);
    let average = (last - first) / points.len().saturating_sub(1).max(1) as f64;
    let mut path = String::new();
    let mut previous: Option<f64> = None;
    for point in points {
        let is_gap = previous.is_none_or(|previous| point.x - previous > average * GAP);
        let command = if is_gap { 'M' } else { 'L' };
        let (x, y) = (point.x * WIDTH, (1.0 - point.y) * HEIGHT);
        // Writing to a `String` cannot fail.
        let _ = write!(path, "{command}{x:.1} {y:.1}");
        // A single point is a dot.
        if is_gap {
            path.push_str("h0");
        }
        previous = Some(point.x);
    }
    path
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds since 1970 fit the 53 bits of an f64"
)]
fn seconds_between(start: Timestamp, end: Timestamp) -> f64 {
    (end.as_millisecond() - start.as_millisecond()) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn drawn(values: &[(i64, f64)], references: &[Reference], unit: ChartUnit) -> Option<Chart> {
        let points: Vec<_> = values
            .iter()
            .map(|(second, value)| Point {
                at: at(*second),
                value: *value,
            })
            .collect();
        chart(&points, references, unit, (at(0), at(100)))
    }

    #[test]
    fn line_covers_the_period_and_the_axis_has_round_values() {
        let chart = drawn(&[(0, 0.5), (50, 1.5), (100, 1.0)], &[], ChartUnit::Cores);
        let chart = chart.unwrap();
        assert_eq!(chart.line, "M0.0 93.3h0L300.0 0.0L600.0 46.7");
        let values: Vec<_> = chart.values.iter().map(|it| it.words.as_str()).collect();
        assert_eq!(values, ["0 cores", "0.5 cores", "1 core", "1.5 cores"]);
        assert_eq!(chart.summary, "now 1 core, highest 1.5 cores");
        let nearest = [-1.0, 0.3, 0.9].map(|x| chart.nearest(x));
        assert_eq!(nearest, [Some(0), Some(1), Some(2)]);
        assert_eq!(chart.times.len(), 5);
        assert_eq!(chart.times[2], (0.5, at(50)));
    }

    #[test]
    fn values_of_memory_are_powers_of_two() {
        let mib = f64::from(1 << 20);
        let chart = drawn(&[(1, 300.0 * mib)], &[], ChartUnit::Bytes).unwrap();
        let values: Vec<_> = chart.values.iter().map(|it| it.words.as_str()).collect();
        assert_eq!(values, ["0 B", "128 MiB", "256 MiB", "384 MiB"]);
    }

    #[test]
    fn a_distant_limit_does_not_flatten_the_line() {
        let reference = |name, value| Reference { name, value };
        let references = [reference("Requests", 2.0), reference("Limits", 50.0)];
        let chart = drawn(&[(1, 1.0), (2, 1.0)], &references, ChartUnit::Cores).unwrap();
        assert_eq!(chart.references.len(), 1, "{:?}", chart.references);
        assert_eq!(chart.references[0].words, "Requests: 2 cores");
        assert!((chart.references[0].share - 1.0).abs() < 1e-9);
    }

    #[test]
    fn gaps_interrupt_the_line_and_old_points_are_not_shown() {
        let mut values: Vec<_> = (0..20).map(|second| (second, 1.0)).collect();
        values.extend((80..100).map(|second| (second, 1.0)));
        values.insert(0, (-5, 9.0));
        let chart = drawn(&values, &[], ChartUnit::Cores).unwrap();
        assert_eq!(chart.line.matches('M').count(), 2);
        assert_eq!(chart.points.len(), 40);
        assert_eq!(drawn(&[(-5, 1.0)], &[], ChartUnit::Cores), None);
        assert_eq!(drawn(&[], &[], ChartUnit::Cores), None);
    }

    proptest! {
        #[test]
        fn every_value_is_inside_the_drawing(
            values in proptest::collection::vec((0_i64..100, 0.0_f64..1e18), 1..50),
            requested in proptest::option::of(0.0_f64..1e18),
            is_bytes in any::<bool>(),
        ) {
            let mut values = values;
            values.sort_by_key(|it| it.0);
            let unit = if is_bytes { ChartUnit::Bytes } else { ChartUnit::Cores };
            let reference = requested.map(|value| Reference { name: "Requests", value });
            let chart = drawn(&values, reference.as_slice(), unit).unwrap();
            prop_assert!(chart.values.len() >= 2 && chart.values.len() <= 6, "{:?}", chart.values);
            for point in &chart.points {
                prop_assert!((0.0..=1.0).contains(&point.x) && (0.0..=1.0).contains(&point.y));
            }
        }
    }
}
