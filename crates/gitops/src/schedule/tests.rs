use jiff::tz::TimeZone;

use super::*;

/// Central European Time, with clock changes at 02:00 and 03:00.
fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn next(cron: &str, after: &str, zone: &TimeZone) -> Option<String> {
    let cron: Cron = cron.parse().unwrap();
    let next = cron.next_after(time(after), zone)?;
    Some(next.to_string())
}

fn windows(schedule: &str, duration: &str, zone: TimeZone) -> Result<Windows, ScheduleError> {
    let spec = ScheduleSpec {
        schedule: schedule.to_owned(),
        duration: duration.to_owned(),
        ..ScheduleSpec::default()
    };
    Windows::new(&spec, zone)
}

#[test]
fn expressions_of_fleets_scheduler_have_the_same_next_time() {
    // 2026-01-01 is a Thursday.
    let after = "2026-01-01T00:00:00Z";
    for (cron, expected) in [
        ("* * * * * *", "2026-01-01T00:00:01Z"),
        ("0 0 12 * * ?", "2026-01-01T12:00:00Z"),
        ("0 15 10 ? * *", "2026-01-01T10:15:00Z"),
        ("0 0/5 14,18 * * ?", "2026-01-01T14:00:00Z"),
        ("30 10-20/5 * * * *", "2026-01-01T00:10:30Z"),
        ("0 10,44 14 ? 3 WED", "2026-03-04T14:10:00Z"),
        ("0 15 10 ? * MON-FRI", "2026-01-01T10:15:00Z"),
        ("0 15 10 15 * ?", "2026-01-15T10:15:00Z"),
        ("0 15 10 ? * 6L", "2026-01-30T10:15:00Z"),
        ("0 15 10 ? * 6#3", "2026-01-16T10:15:00Z"),
        ("0 15 10 ? * 1", "2026-01-04T10:15:00Z"),
        ("0 15 10 ? * sun", "2026-01-04T10:15:00Z"),
        ("0 15 10 L * ?", "2026-01-31T10:15:00Z"),
        ("0 15 10 L-2 * ?", "2026-01-29T10:15:00Z"),
        ("0 0 0 LW * ?", "2026-01-30T00:00:00Z"),
        ("0 0 0 17W * ?", "2026-01-16T00:00:00Z"),
        ("0 0 0 1W 8 ?", "2026-08-03T00:00:00Z"),
        ("0 0 0 29 2 ?", "2028-02-29T00:00:00Z"),
        ("0 0 0 ? 2 1#5", "2032-02-29T00:00:00Z"),
        ("0 0 0 1 1 ? 2030", "2030-01-01T00:00:00Z"),
        ("0 0 0 * * 1", "2026-01-04T00:00:00Z"),
        ("@hourly", "2026-01-01T01:00:00Z"),
        ("@weekly", "2026-01-04T00:00:00Z"),
    ] {
        assert_eq!(
            next(cron, after, &TimeZone::UTC).as_deref(),
            Some(expected),
            "{cron}"
        );
    }
}

#[test]
fn date_that_never_occurs_has_no_next_time() {
    for cron in ["0 0 0 31 2 ?", "0 0 0 1 1 ? 2020"] {
        assert_eq!(
            next(cron, "2026-01-01T00:00:00Z", &TimeZone::UTC),
            None,
            "{cron}"
        );
    }
}

#[test]
fn invalid_expressions_have_errors() {
    for cron in [
        "",
        "* * * * *",
        "* * * * * * * *",
        "60 * * * * *",
        "* * 24 * * *",
        "0 0 0 0 * ?",
        "0 0 0 32 * ?",
        "0 0 0 * 13 ?",
        "0 0 0 ? * 0",
        "0 0 0 ? * 8",
        "0 0 0 ? * 6#6",
        "0 0 0 1 * 1",
        "5-1 * * * * *",
        "*/0 * * * * *",
        "*/99 * * * * *",
        "a * * * * *",
        "+1 * * * * *",
        ", * * * * *",
        "1-2-3 * * * * *",
        "99999999999 * * * * *",
        "0 0 0 W * ?",
    ] {
        assert!(cron.parse::<Cron>().is_err(), "{cron}");
    }
}

#[test]
fn skipped_local_time_becomes_the_time_of_the_clock_change() {
    let cron = "0 30 2 * * ?";
    let expected = Some("2026-03-29T01:00:00Z".to_owned());
    assert_eq!(next(cron, "2026-03-28T12:00:00Z", &berlin()), expected);
    let expected = Some("2026-03-30T00:30:00Z".to_owned());
    assert_eq!(next(cron, "2026-03-29T01:00:00Z", &berlin()), expected);
    let hourly = next("0 0 * * * ?", "2026-03-29T00:00:00Z", &berlin());
    assert_eq!(hourly.as_deref(), Some("2026-03-29T01:00:00Z"));
}

#[test]
fn repeated_local_time_occurs_once() {
    let cron = "0 30 2 * * ?";
    let first = next(cron, "2026-10-24T12:00:00Z", &berlin()).unwrap();
    assert_eq!(first, "2026-10-25T00:30:00Z");
    assert_eq!(
        next(cron, &first, &berlin()).unwrap(),
        "2026-10-26T01:30:00Z"
    );
}

#[test]
fn window_is_active_from_its_start_to_its_end() {
    let windows = windows("0 0 22 * * ?", "4h", berlin()).unwrap();
    let at = |text| {
        let window = windows.at(time(text)).unwrap();
        (
            window.active_until.is_some(),
            window.next_change().to_string(),
        )
    };
    assert_eq!(
        at("2026-06-01T19:59:59Z"),
        (false, "2026-06-01T20:00:00Z".to_owned())
    );
    assert_eq!(
        at("2026-06-01T20:00:00Z"),
        (true, "2026-06-02T00:00:00Z".to_owned())
    );
    assert_eq!(
        at("2026-06-01T23:59:59.5Z"),
        (true, "2026-06-02T00:00:00Z".to_owned())
    );
    assert_eq!(
        at("2026-06-02T00:00:00Z"),
        (false, "2026-06-02T20:00:00Z".to_owned())
    );
}

#[test]
fn window_that_overlaps_the_next_window_is_an_error() {
    for (duration, is_valid) in [("59m59s", true), ("1h", false), ("2h", false)] {
        let windows = windows("0 0 * * * *", duration, TimeZone::UTC).unwrap();
        let result = windows.at(time("2026-01-01T00:30:00Z"));
        assert_eq!(result.is_ok(), is_valid, "{duration}");
    }
}

#[test]
fn duration_is_between_a_second_and_a_year() {
    for duration in ["", "0", "1ms", "1d", "-1h", "9000h"] {
        let result = windows("0 0 * * * *", duration, TimeZone::UTC);
        assert!(
            matches!(result, Err(ScheduleError::Duration(_))),
            "{duration}"
        );
    }
}

#[test]
fn schedule_without_future_start_is_an_error() {
    let windows = windows("0 0 0 1 1 ? 2020", "1h", TimeZone::UTC).unwrap();
    let result = windows.at(time("2026-01-01T00:30:00Z"));
    assert_eq!(result, Err(ScheduleError::NoStart));
}
