//! The periods of the charts.

use jiff::{SignedDuration, Timestamp};

use crate::messages::t;

/// The number of points of a chart.
const POINTS: i64 = 120;

/// The period of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// One hour.
    #[default]
    Hour,
    /// Six hours.
    SixHours,
    /// One day.
    Day,
    /// One week.
    Week,
}

impl Span {
    /// All periods, from the shortest.
    pub const ALL: [Self; 4] = [Self::Hour, Self::SixHours, Self::Day, Self::Week];

    /// Returns the value of the URL's parameter.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::SixHours => "6h",
            Self::Day => "1d",
            Self::Week => "7d",
        }
    }

    /// Returns the period with this key, or one hour.
    pub fn of_key(key: &str) -> Self {
        let found = Self::ALL.into_iter().find(|it| it.key() == key);
        found.unwrap_or_default()
    }

    /// Returns the label.
    pub fn words(self) -> &'static str {
        match self {
            Self::Hour => t().metrics.hour(),
            Self::SixHours => t().metrics.six_hours(),
            Self::Day => t().metrics.day(),
            Self::Week => t().metrics.week(),
        }
    }

    const fn seconds(self) -> i64 {
        match self {
            Self::Hour => 3_600,
            Self::SixHours => 6 * 3_600,
            Self::Day => 24 * 3_600,
            Self::Week => 7 * 24 * 3_600,
        }
    }

    /// Returns the time between two points, in seconds.
    pub const fn step(self) -> i64 {
        self.seconds() / POINTS
    }

    /// Returns the start of the period that ends now.
    pub fn start(self, now: Timestamp) -> Timestamp {
        let start = now.checked_sub(SignedDuration::from_secs(self.seconds()));
        start.unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_unique_keys_and_few_points() {
        for span in Span::ALL {
            assert_eq!(Span::of_key(span.key()), span);
            assert_eq!(span.seconds() / span.step(), POINTS);
        }
        assert_eq!(Span::of_key("1y"), Span::Hour);
        let now = Timestamp::from_second(10_000).unwrap();
        assert_eq!(Span::Hour.start(now).as_second(), 6_400);
    }
}
