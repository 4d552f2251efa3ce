//! `Retry-After`: seconds, or a date as in RFC 9110, section 5.6.7.
//!
//! Has no clock: the caller supplies the time, preferably the server's own `Date`.

use core::time::Duration;

/// Maximum accepted value, a year, so that sums can't overflow.
const LONGEST: u64 = 366 * 24 * 3600;

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
