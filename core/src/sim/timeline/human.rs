//! Durations, faults and endpoints as people write them.

use core::{fmt, time::Duration};

use std::{format, string::String};

use crate::sim::{Fault, Way};

/// A duration with two units at most: `12ms`, `1.5s`, `2m5s`, `1h`.
#[derive(Clone, Copy)]
pub(super) struct Human(pub(super) Duration);

impl fmt::Display for Human {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = (self.0.as_nanos() + 500) / 1_000;
        let (millis, seconds) = (micros.div_ceil(1_000), (micros + 500_000) / 1_000_000);
        match (micros, millis) {
            (0, _) => f.write_str("0s"),
            (1..1_000, _) => write!(f, "{micros}µs"),
            (_, 0..1_000) => write!(f, "{millis}ms"),
            // Two digits of a second up to ten, then one, then none.
            (..10_000_000, _) => decimal(f, (micros + 5_000) / 10_000, 100),
            (..60_000_000, _) => decimal(f, (micros + 50_000) / 100_000, 10),
            (..3_600_000_000, _) => pair(f, seconds / 60, "m", seconds % 60, "s"),
            _ => pair(f, seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        }
    }
}

fn decimal(f: &mut fmt::Formatter<'_>, parts: u128, of: u128) -> fmt::Result {
    let text = match of {
        100 => format!("{}.{:02}", parts / of, parts % of),
        _ => format!("{}.{}", parts / of, parts % of),
    };
    write!(f, "{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

fn pair(f: &mut fmt::Formatter<'_>, big: u128, a: &str, small: u128, b: &str) -> fmt::Result {
    match small {
        0 => write!(f, "{big}{a}"),
        _ => write!(f, "{big}{a}{small}{b}"),
    }
}

/// A fault with its values: `slow 300ms`, `partition to server`.
pub(super) fn fault(fault: Fault) -> String {
    let kind = fault.kind().replace('-', " ");
    match fault {
        Fault::Slow(by) | Fault::Throttle(by) => format!("{kind} {}", Human(by)),
        Fault::Partition(way) | Fault::Stall(way) => match way {
            Way::ToServer => format!("{kind} to server"),
            Way::ToClient => format!("{kind} to client"),
            Way::Both => kind,
        },
        Fault::Latency { by, jitter } => format!("{kind} +{} to {}", Human(by), Human(by + jitter)),
        Fault::Bandwidth(bytes) => format!("{kind} {bytes} B/s"),
        Fault::NameMoves(server) => format!("{kind} to server {server}"),
        _ => kind,
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_duration_has_two_units_at_most() {
        for (millis, text) in [
            (0, "0s"),
            (12, "12ms"),
            (999, "999ms"),
            (1_500, "1.5s"),
            (2_000, "2s"),
            (59_960, "60s"),
            (125_000, "2m5s"),
            (3_600_000, "1h"),
            (3_725_000, "1h2m"),
        ] {
            assert_eq!(Human(Duration::from_millis(millis)).to_string(), text);
        }
        assert_eq!(Human(Duration::from_micros(70)).to_string(), "70µs");
    }

    #[test]
    fn a_fault_is_named_with_its_values() {
        let by = Duration::from_millis(300);
        for (what, text) in [
            (Fault::BlackHole, "black hole"),
            (Fault::Slow(by), "slow 300ms"),
            (Fault::Partition(Way::ToServer), "partition to server"),
            (Fault::Latency { by, jitter: by }, "latency +300ms to 600ms"),
        ] {
            assert_eq!(fault(what), text);
        }
    }
}
