//! Go's layouts of times such as `2006-01-02`.

use crate::value::{Civil, Time, days_from_civil};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// A part of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Month,
    MonthName,
    ShortMonthName,
    PaddedMonth,
    WeekdayName,
    ShortWeekdayName,
    Day,
    SpacedDay,
    PaddedDay,
    SpacedYearDay,
    PaddedYearDay,
    Hour,
    Hour12,
    PaddedHour12,
    Minute,
    PaddedMinute,
    Second,
    PaddedSecond,
    Year,
    ShortYear,
    UpperHalf,
    LowerHalf,
    ZoneName,
    /// A numeric time zone, with `Z` for UTC or without.
    Zone(&'static str, bool),
    /// Fractional seconds. The number of digits is fixed, or trailing zeros are removed.
    Fraction(usize, bool),
}

/// The texts of parts. Longer texts are before their prefixes.
const PARTS: &[(&str, Part)] = &[
    ("January", Part::MonthName),
    ("Jan", Part::ShortMonthName),
    ("Monday", Part::WeekdayName),
    ("Mon", Part::ShortWeekdayName),
    ("MST", Part::ZoneName),
    ("002", Part::PaddedYearDay),
    ("01", Part::PaddedMonth),
    ("02", Part::PaddedDay),
    ("03", Part::PaddedHour12),
    ("04", Part::PaddedMinute),
    ("05", Part::PaddedSecond),
    ("06", Part::ShortYear),
    ("15", Part::Hour),
    ("1", Part::Month),
    ("2006", Part::Year),
    ("2", Part::Day),
    ("__2", Part::SpacedYearDay),
    ("_2", Part::SpacedDay),
    ("3", Part::Hour12),
    ("4", Part::Minute),
    ("5", Part::Second),
    ("PM", Part::UpperHalf),
    ("pm", Part::LowerHalf),
    ("-07:00:00", Part::Zone("+00:00:00", false)),
    ("-070000", Part::Zone("+000000", false)),
    ("-07:00", Part::Zone("+00:00", false)),
    ("-0700", Part::Zone("+0000", false)),
    ("-07", Part::Zone("+00", false)),
    ("Z07:00:00", Part::Zone("+00:00:00", true)),
    ("Z070000", Part::Zone("+000000", true)),
    ("Z07:00", Part::Zone("+00:00", true)),
    ("Z0700", Part::Zone("+0000", true)),
    ("Z07", Part::Zone("+00", true)),
];

/// Returns the part at the start of a layout, with the part's length.
fn part_at(layout: &str) -> Option<(Part, usize)> {
    if layout.starts_with("_2006") {
        return None;
    }
    if layout.starts_with(['.', ',']) {
        let digit = layout[1..]
            .chars()
            .next()
            .filter(|it| matches!(it, '0' | '9'))?;
        let rest = layout[1..].trim_start_matches(digit);
        if rest.starts_with(|next: char| next.is_ascii_digit()) {
            return None;
        }
        let digits = layout.len() - 1 - rest.len();
        return Some((Part::Fraction(digits, digit == '0'), digits + 1));
    }
    let (text, part) = PARTS.iter().find(|(text, _)| layout.starts_with(text))?;
    let is_short_name = matches!(part, Part::ShortMonthName | Part::ShortWeekdayName);
    let continues = layout[text.len()..].starts_with(|next: char| next.is_ascii_lowercase());
    (!is_short_name || !continues).then_some((*part, text.len()))
}

/// Formats a time with a layout.
pub(in crate::functions) fn format(time: Time, layout: &str) -> String {
    let civil = time.civil();
    let mut out = String::new();
    let mut rest = layout;
    while let Some(first) = rest.chars().next() {
        if let Some((part, length)) = part_at(rest) {
            push(&mut out, part, time, civil, &rest[..length]);
            rest = &rest[length..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

fn push(out: &mut String, part: Part, time: Time, civil: Civil, text: &str) {
    let month = MONTHS[usize::from(civil.month.clamp(1, 12)) - 1];
    let weekday = DAYS[usize::from(civil.weekday % 7)];
    let hour = match civil.hour % 12 {
        0 => 12,
        hour => hour,
    };
    let is_morning = civil.hour < 12;
    let formatted = match part {
        Part::Month => civil.month.to_string(),
        Part::MonthName => month.to_owned(),
        Part::ShortMonthName => month[..3].to_owned(),
        Part::PaddedMonth => format!("{:02}", civil.month),
        Part::WeekdayName => weekday.to_owned(),
        Part::ShortWeekdayName => weekday[..3].to_owned(),
        Part::Day => civil.day.to_string(),
        Part::SpacedDay => format!("{:2}", civil.day),
        Part::PaddedDay => format!("{:02}", civil.day),
        Part::SpacedYearDay => format!("{:3}", civil.year_day),
        Part::PaddedYearDay => format!("{:03}", civil.year_day),
        Part::Hour => format!("{:02}", civil.hour),
        Part::Hour12 => hour.to_string(),
        Part::PaddedHour12 => format!("{hour:02}"),
        Part::Minute => civil.minute.to_string(),
        Part::PaddedMinute => format!("{:02}", civil.minute),
        Part::Second => civil.second.to_string(),
        Part::PaddedSecond => format!("{:02}", civil.second),
        Part::Year if civil.year < 0 => format!("-{:04}", civil.year.unsigned_abs()),
        Part::Year => format!("{:04}", civil.year),
        Part::ShortYear => format!("{:02}", civil.year.rem_euclid(100)),
        Part::UpperHalf => if is_morning { "AM" } else { "PM" }.to_owned(),
        Part::LowerHalf => if is_morning { "am" } else { "pm" }.to_owned(),
        Part::ZoneName => "UTC".to_owned(),
        Part::Zone(_, true) => "Z".to_owned(),
        Part::Zone(zero, false) => zero.to_owned(),
        Part::Fraction(digits, is_fixed) => {
            let all = format!("{:09}", time.nanoseconds);
            let digits = format!("{:0<digits$}", &all[..digits.min(9)]);
            let kept = if is_fixed {
                digits.as_str()
            } else {
                digits.trim_end_matches('0')
            };
            if kept.is_empty() {
                String::new()
            } else {
                format!("{}{kept}", &text[..1])
            }
        }
    };
    out.push_str(&formatted);
}

/// The parsed parts of a time.
struct Parsed {
    civil: Civil,
    nanoseconds: u32,
    offset: i64,
    is_afternoon: Option<bool>,
    year_day: Option<u16>,
}

/// Parses a time. The result is in UTC.
pub(super) fn parse(layout: &str, text: &str) -> Option<Time> {
    let mut parsed = Parsed {
        civil: Civil {
            year: 0,
            month: 1,
            day: 1,
            hour: 0,
            minute: 0,
            second: 0,
            weekday: 0,
            year_day: 0,
        },
        nanoseconds: 0,
        offset: 0,
        is_afternoon: None,
        year_day: None,
    };
    let mut layout = layout;
    let mut rest = text;
    while let Some(first) = layout.chars().next() {
        if let Some((part, length)) = part_at(layout) {
            rest = parsed.read(part, rest)?;
            layout = &layout[length..];
            if matches!(part, Part::Second | Part::PaddedSecond)
                && !matches!(part_at(layout), Some((Part::Fraction(..), _)))
            {
                rest = parsed.fraction(rest);
            }
        } else {
            layout = &layout[first.len_utf8()..];
            rest = match rest.strip_prefix(first) {
                Some(after) => after,
                // A space in the layout matches no space at the end of the text.
                None if first == ' ' && rest.is_empty() => rest,
                None => return None,
            };
        }
    }
    rest.is_empty().then(|| parsed.time()).flatten()
}

/// Reads a number with a minimum and a maximum number of digits.
fn digits(text: &str, minimum: usize, maximum: usize) -> Option<(u16, &str)> {
    let count = text
        .bytes()
        .take(maximum)
        .take_while(u8::is_ascii_digit)
        .count();
    let (number, rest) = text.split_at(count);
    (count >= minimum)
        .then(|| number.parse().ok())
        .flatten()
        .map(|it| (it, rest))
}

fn name<'t>(text: &'t str, names: &[&str], length: Option<usize>) -> Option<(u8, &'t str)> {
    let found = names.iter().position(|name| {
        let name = &name[..length.unwrap_or(name.len())];
        let start = text.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name))
    })?;
    let end = length.unwrap_or(names[found].len());
    Some((u8::try_from(found).ok()?, &text[end..]))
}

impl Parsed {
    fn read<'t>(&mut self, part: Part, text: &'t str) -> Option<&'t str> {
        let small = |number: u16| u8::try_from(number).ok();
        let (target, minimum) = match part {
            Part::MonthName | Part::ShortMonthName => {
                let short = (part == Part::ShortMonthName).then_some(3);
                let (month, rest) = name(text, &MONTHS, short)?;
                self.civil.month = month + 1;
                return Some(rest);
            }
            Part::WeekdayName => return name(text, &DAYS, None).map(|(_, rest)| rest),
            Part::ShortWeekdayName => return name(text, &DAYS, Some(3)).map(|(_, rest)| rest),
            Part::Year => {
                let (year, rest) = digits(text, 4, 4)?;
                self.civil.year = year.into();
                return Some(rest);
            }
            Part::ShortYear => {
                let (year, rest) = digits(text, 2, 2)?;
                self.civil.year = i64::from(year) + if year >= 69 { 1900 } else { 2000 };
                return Some(rest);
            }
            Part::SpacedYearDay | Part::PaddedYearDay => {
                let (day, rest) = digits(text.trim_start_matches(' '), 1, 3)?;
                self.year_day = Some(day);
                return Some(rest);
            }
            Part::UpperHalf | Part::LowerHalf => return self.half(part, text),
            Part::ZoneName => return text.strip_prefix("UTC"),
            Part::Zone(form, has_letter) => return self.zone(form, has_letter, text),
            Part::Fraction(count, true) => return self.fixed_fraction(count, text),
            Part::Fraction(_, false) => return Some(self.fraction(text)),
            Part::Month => (&mut self.civil.month, 1),
            Part::PaddedMonth => (&mut self.civil.month, 2),
            Part::Day | Part::SpacedDay => (&mut self.civil.day, 1),
            Part::PaddedDay => (&mut self.civil.day, 2),
            Part::Hour | Part::Hour12 => (&mut self.civil.hour, 1),
            Part::PaddedHour12 => (&mut self.civil.hour, 2),
            Part::Minute => (&mut self.civil.minute, 1),
            Part::PaddedMinute => (&mut self.civil.minute, 2),
            Part::Second => (&mut self.civil.second, 1),
            Part::PaddedSecond => (&mut self.civil.second, 2),
        };
        let text = match part {
            Part::SpacedDay => text.strip_prefix(' ').unwrap_or(text),
            _ => text,
        };
        let (number, rest) = digits(text, minimum, 2)?;
        *target = small(number)?;
        Some(rest)
    }

    fn half<'t>(&mut self, part: Part, text: &'t str) -> Option<&'t str> {
        let (morning, afternoon) = match part {
            Part::UpperHalf => ("AM", "PM"),
            _ => ("am", "pm"),
        };
        self.is_afternoon = Some(text.starts_with(afternoon));
        text.strip_prefix(morning)
            .or_else(|| text.strip_prefix(afternoon))
    }

    fn zone<'t>(&mut self, form: &str, has_letter: bool, text: &'t str) -> Option<&'t str> {
        if let Some(rest) = text.strip_prefix('Z').filter(|_| has_letter) {
            return Some(rest);
        }
        let zone = text.get(..form.len())?;
        let same_form = zone
            .bytes()
            .zip(form.bytes())
            .all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                b'+' => matches!(byte, b'+' | b'-'),
                other => byte == other,
            });
        if !same_form {
            return None;
        }
        let numbers: String = zone.chars().filter(char::is_ascii_digit).collect();
        let numbers: i64 = format!("{numbers:0<6}").parse().ok()?;
        let (hours, minutes, seconds) = (numbers / 10_000, numbers / 100 % 100, numbers % 100);
        if hours > 24 || minutes >= 60 || seconds >= 60 {
            return None;
        }
        let offset = hours * 3_600 + minutes * 60 + seconds;
        self.offset = if zone.starts_with('-') {
            -offset
        } else {
            offset
        };
        Some(&text[form.len()..])
    }

    /// Reads optional fractional seconds.
    fn fraction<'t>(&mut self, text: &'t str) -> &'t str {
        let Some(after) = text.strip_prefix(['.', ',']) else {
            return text;
        };
        let rest = after.trim_start_matches(|it: char| it.is_ascii_digit());
        let digits = &after[..after.len() - rest.len()];
        if digits.is_empty() {
            return text;
        }
        let digits = &digits[..digits.len().min(9)];
        self.nanoseconds = format!("{digits:0<9}").parse().unwrap_or(0);
        rest
    }

    fn fixed_fraction<'t>(&mut self, count: usize, text: &'t str) -> Option<&'t str> {
        let digits = text.strip_prefix(['.', ','])?.get(..count)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.fraction(text.get(..=count)?);
        Some(&text[count + 1..])
    }

    fn time(mut self) -> Option<Time> {
        let civil = &mut self.civil;
        match self.is_afternoon {
            Some(true) if civil.hour < 12 => civil.hour += 12,
            Some(false) if civil.hour == 12 => civil.hour = 0,
            _ => {}
        }
        let is_leap = civil.year % 4 == 0 && (civil.year % 100 != 0 || civil.year % 400 == 0);
        let last_day = match civil.month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        if !(1..=last_day).contains(&civil.day)
            || civil.hour > 23
            || civil.minute > 59
            || civil.second > 59
        {
            return None;
        }
        let days = match self.year_day {
            Some(day) if (1..=365 + u16::from(is_leap)).contains(&day) => {
                days_from_civil(civil.year, 1, 1) + i64::from(day) - 1
            }
            Some(_) => return None,
            None => days_from_civil(civil.year, civil.month, civil.day),
        };
        let clock =
            i64::from(civil.hour) * 3_600 + i64::from(civil.minute) * 60 + i64::from(civil.second);
        Some(Time {
            seconds: days * 86_400 + clock - self.offset,
            nanoseconds: self.nanoseconds,
        })
    }
}
