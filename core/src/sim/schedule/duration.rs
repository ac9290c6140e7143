//! A duration as text, exact to the nanosecond: `1h2m3.000000004s`.

use core::{
    fmt::{self, Display, Formatter},
    time::Duration,
};

/// In nanoseconds, from the longest.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Hours, minutes and seconds; under a second the one unit that makes it 1 or more.
pub(super) struct Text(pub(super) Duration);

impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0.as_secs(), self.0.subsec_nanos());
        if seconds == 0 && nanos >= 1_000_000 {
            decimal(f, nanos.into(), 6)?;
            return f.write_str("ms");
        }
        if seconds == 0 && nanos >= 1_000 {
            decimal(f, nanos.into(), 3)?;
            return f.write_str("us");
        }
        if seconds == 0 && nanos > 0 {
            return write!(f, "{nanos}ns");
        }
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if seconds > 0 || nanos > 0 || self.0.is_zero() {
            decimal(f, seconds * 1_000_000_000 + u64::from(nanos), 9)?;
            f.write_str("s")?;
        }
        Ok(())
    }
}

/// The number with so many digits behind the point, without zeros at its end.
fn decimal(f: &mut Formatter<'_>, number: u64, mut digits: usize) -> fmt::Result {
    let unit = 10_u64.pow(digits as u32);
    let mut fraction = number % unit;
    write!(f, "{}", number / unit)?;
    if fraction == 0 {
        return Ok(());
    }
    while fraction.is_multiple_of(10) {
        fraction /= 10;
        digits -= 1;
    }
    write!(f, ".{fraction:0digits$}")
}

/// `None` if it is no duration, too long for one, or no whole number of nanoseconds.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let (mut rest, mut total, mut last) = (text, 0, u64::MAX);
    loop {
        let (number, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let end = tail.find(|c: char| c.is_ascii_digit());
        let (name, next) = tail.split_at(end.unwrap_or(tail.len()));
        let (_, unit) = *UNITS.iter().find(|(unit, _)| *unit == name)?;
        if unit >= last {
            return None;
        }
        total += nanos(number, unit)?;
        if next.is_empty() {
            break;
        }
        (rest, last) = (next, unit);
    }
    let seconds = u64::try_from(total / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, (total % 1_000_000_000) as u32))
}

/// So many units, which may have a fraction.
fn nanos(number: &str, unit: u64) -> Option<u128> {
    let parse = |digits: &str| digits.parse::<u64>().ok().map(u128::from);
    let unit = u128::from(unit);
    let Some((whole, fraction)) = number.split_once('.') else {
        return Some(parse(number)? * unit);
    };
    let scale = 10_u128.checked_pow(fraction.len() as u32)?;
    let parts = parse(fraction)? * unit;
    (parts % scale == 0).then_some(parse(whole)? * unit + parts / scale)
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_duration_is_written_in_units_that_suit_it() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (999, "999ns"),
            (1_500, "1.5us"),
            (200_000_000, "200ms"),
            (1_000_001, "1.000001ms"),
            (1_000_000_000, "1s"),
            (12_500_000_000, "12.5s"),
            (60_000_000_000, "1m"),
            (90_000_000_000, "1m30s"),
            (60_000_000_001, "1m0.000000001s"),
            (3_600_000_000_000, "1h"),
            (3_723_000_000_004, "1h2m3.000000004s"),
        ] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(Text(duration).to_string(), text);
            assert_eq!(parse(text), Some(duration), "{text}");
        }
        let longest = "5124095576030431h15.999999999s";
        assert_eq!(Text(Duration::MAX).to_string(), longest);
        assert_eq!(parse(longest), Some(Duration::MAX));
    }

    #[test]
    fn other_ways_to_write_a_duration_are_read() {
        for (text, nanos) in [
            ("90s", 90_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("0.5m0.5ms", 30_000_500_000),
            ("1h5ns", 3_600_000_000_005),
            ("007.0s", 7_000_000_000),
            ("0.000000000000h", 0),
        ] {
            assert_eq!(parse(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            "5",
            "s",
            "-1s",
            "+1s",
            "1 s",
            "1.s",
            ".5s",
            "1.2.3s",
            "1m1h",
            "1s1s",
            "1sec",
            "1S",
            "0.5ns",
            "1e3s",
            "1h.5m",
            "٣s",
            "99999999999999999999s",
            "5124095576030432h",
            "0.11111111111111111111111111111111111111111s",
            "0.00000000000000000000000000000000000000000s",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
