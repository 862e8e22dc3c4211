//! Points in time in UTC.

use std::fmt;

/// A point in time in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time {
    /// Seconds since 1970.
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

/// The parts of a point in time in the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// The month, which starts with 1.
    pub(crate) month: u8,
    pub(crate) day: u8,
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
    /// The day of the week, which starts with 0 for Sunday.
    pub(crate) weekday: u8,
    /// The day of the year, which starts with 1.
    pub(crate) year_day: u16,
}

const DAY: i64 = 86_400;

/// Returns the number of days between a date and 1970-01-01.
pub(crate) fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    // The computation uses years that start in March, so the leap day is the last day of a year.
    let month = i64::from(month);
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

impl Time {
    /// Go's zero time, the start of the year 1.
    pub(crate) const ZERO: Self = Self {
        seconds: -62_135_596_800,
        nanoseconds: 0,
    };

    pub(crate) fn civil(self) -> Civil {
        let days = self.seconds.div_euclid(DAY);
        let second_of_day = self.seconds.rem_euclid(DAY);
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let small = |number: i64| u8::try_from(number).unwrap_or(0);
        let year_day = days - days_from_civil(year, 1, 1) + 1;
        Civil {
            year,
            month: small(month),
            day: small(day),
            hour: small(second_of_day / 3_600),
            minute: small(second_of_day / 60 % 60),
            second: small(second_of_day % 60),
            weekday: small((days + 4).rem_euclid(7)),
            year_day: u16::try_from(year_day).unwrap_or(0),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = self.civil();
        write!(
            f,
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second
        )?;
        if self.nanoseconds > 0 {
            let fraction = format!("{:09}", self.nanoseconds);
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        f.write_str(" +0000 UTC")
    }
}
