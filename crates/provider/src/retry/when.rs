//! Times in headers and errors: `Retry-After`, which is seconds or a date as in RFC 9110,
//! section 5.6.7, and the other forms that servers use.
//!
//! Has no clock: the caller supplies the time, preferably the server's own `Date`.

use core::time::Duration;

/// Maximum accepted value, a year, so that sums can't overflow.
pub(super) const LONGEST: u64 = 366 * 24 * 3600;

/// Returns how long a server asks to wait. `value` is its `Retry-After`, `date` its `Date`,
/// and `now` our clock in seconds since 1970, for servers without a `Date`.
pub(super) fn retry_after(value: &str, date: Option<&str>, now: u64) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        let is_usable = seconds.is_finite() && seconds >= 0.0;
        return is_usable.then(|| Duration::from_secs_f64(seconds.min(LONGEST as f64)));
    }
    let then = http_date(value)?;
    let now = date.and_then(http_date).unwrap_or(now);
    Some(Duration::from_secs(then.saturating_sub(now).min(LONGEST)))
}

/// Returns how long a server asks to wait, from a header in milliseconds.
pub(super) fn retry_after_ms(value: &str) -> Option<Duration> {
    let seconds = value.trim().parse::<f64>().ok()? / 1000.0;
    let is_usable = seconds.is_finite() && seconds >= 0.0;
    is_usable.then(|| Duration::from_secs_f64(seconds.min(LONGEST as f64)))
}

/// Returns how long to wait until a time in any form: a duration such as `1m30s`, a number of
/// seconds, a date, or a time since 1970 in seconds or milliseconds. `date` and `now` are
/// as in [`retry_after`].
pub(super) fn time(value: &str, date: Option<&str>, now: u64) -> Option<Duration> {
    /// Larger numbers of seconds are times since 1970; that would be a wait of 30 years.
    const EPOCH: f64 = 1e9;
    let value = value.trim();
    let server_now = date.and_then(http_date).unwrap_or(now) as f64;
    let until = |seconds: f64| {
        let wait = (seconds - server_now).clamp(0.0, LONGEST as f64);
        // Without a clock, a time since 1970 says nothing.
        (server_now > 0.0).then(|| Duration::from_secs_f64(wait))
    };
    match value.parse::<f64>() {
        Ok(number) if number >= EPOCH * 1000.0 => return until(number / 1000.0),
        Ok(number) if number >= EPOCH => return until(number),
        _ => {}
    }
    if let Some(seconds) = iso_date(value) {
        return until(seconds as f64);
    }
    duration(value).or_else(|| retry_after(value, date, now))
}

/// Parses a duration at the beginning of `text`, such as `6.5s`, `28ms`, `1m30s`, or `20
/// seconds`. A number alone is in seconds.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = None;
    loop {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = rest[..rest.len() - digits.len()].trim_end_matches('.');
        let Ok(number) = number.parse::<f64>() else {
            break;
        };
        let unit = digits.trim_start();
        let word = unit.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let seconds = match &unit[..unit.len() - word.len()] {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            // A number without a unit is in seconds, if nothing came before it.
            _ if sum.is_none() => return usable(number),
            _ => break,
        };
        sum = Some(sum.unwrap_or(0.0) + number * seconds);
        // Only a number may follow directly: `1m30s`, `1m 30s`.
        rest = word.trim_start();
    }
    usable(sum?)
}

fn usable(seconds: f64) -> Option<Duration> {
    // In whole milliseconds, which is more than any server means.
    let ms = (seconds * 1000.0).round() / 1000.0;
    ms.is_finite()
        .then(|| Duration::from_secs_f64(ms.clamp(0.0, LONGEST as f64)))
}

/// Parses a date such as `2026-11-26T15:00:00Z` to seconds since 1970.
fn iso_date(text: &str) -> Option<u64> {
    let (date, clock) = text.split_once('T')?;
    let mut date = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    // A fraction of a second, and the zone, which is always UTC.
    let clock = clock.trim_end_matches('Z').trim_end_matches("+00:00");
    let clock = clock.split('.').next()?;
    let mut clock = clock.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let is_date = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    is_date.then(|| days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Parses a date such as `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that servers may
/// send, to seconds since 1970.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, rest) = text.trim().split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words
        .next()?
        .split(':')
        .map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let is_date = (1970..10_000).contains(&year) && (1..=31).contains(&day) && hour < 24;
    // 60 is a leap second.
    if !is_date || minute > 59 || second > 60 {
        return None;
    }
    let days = days_since_1970(year, month, day);
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Returns the days since 1970. Years start in March here, so that the leap day is the last
/// day of a year.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    const MARCH_0_TO_1970: u64 = 719_468;
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    // Counted from March, five months have 153 days and the rounding gives each its length.
    let before_month = (153 * month + 2) / 5;
    year * 365 + year / 4 - year / 100 + year / 400 + before_month + day - 1 - MARCH_0_TO_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Option<u64>) {
        // 2015-10-21, 07:28:00
        let now = 1_445_412_480;
        let expected = expected.map(Duration::from_millis);
        assert_eq!(retry_after(value, None, now), expected, "{value}");
    }

    #[test]
    fn seconds_may_have_fractions() {
        check("7", Some(7000));
        check(" 0.5 ", Some(500));
        check("0", Some(0));
    }

    #[test]
    fn a_date_is_relative_to_the_clock() {
        check("Wed, 21 Oct 2015 07:28:00 GMT", Some(0));
        check("Wed, 21 Oct 2015 07:29:30 GMT", Some(90_000));
        check("Mon, 29 Feb 2016 07:28:00 GMT", Some(131 * 86_400_000));
        check("Wed, 21 Oct 2015 07:00:00 GMT", Some(0));
    }

    #[test]
    fn the_servers_own_clock_takes_precedence() {
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        let then = "Wed, 21 Oct 2015 07:28:05 GMT";
        assert_eq!(
            retry_after(then, Some(date), 7),
            Some(Duration::from_secs(5))
        );
    }

    #[test]
    fn invalid_values_are_ignored() {
        for value in [
            "",
            "soon",
            "-1",
            "NaN",
            "Wed, 99 Oct 2015 07:28:00 GMT",
            "Wed, 21 Okt 2015 07:28:00 GMT",
            "Wed, 21 Oct 1066 07:28:00 GMT",
            "Wed, 21 Oct 2015 24:28:00 GMT",
            "Wed, 21 Oct 2015 07:60:00 GMT",
            "Wed, 21 Oct 2015 07:28:61 GMT",
            "Wed, 21 Oct 2015",
        ] {
            check(value, None);
        }
    }

    #[test]
    fn a_delay_is_limited_to_a_year() {
        check("1e300", Some(LONGEST * 1000));
    }
}
