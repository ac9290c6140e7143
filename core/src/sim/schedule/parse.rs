//! A schedule from its text.

use core::{str::FromStr, time::Duration};
use std::vec::Vec;

use super::{Expected, Occurrence, Schedule, ScheduleError, duration, syntax::Words};
use crate::{
    Instant,
    sim::fault::{Fault, Target, Way},
};

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (mut seed, mut servers, mut lasts, mut faults) = (None, None, None, Vec::new());
        let mut last = 1;
        for (number, line) in (1..).zip(text.lines()) {
            let words = &mut Words::new(number, line);
            match words.peek() {
                "" => {}
                "seed" => set(&mut seed, "seed", words, |words| {
                    words.read(Expected::Number64, number64)
                })?,
                "servers" => set(&mut servers, "servers", words, number32)?,
                "lasts" => set(&mut lasts, "lasts", words, duration)?,
                "at" => faults.push(occurrence(words)?),
                _ => return Err(words.wrong(Expected::Line)),
            }
            words.end()?;
            last = number + 1;
        }
        let missing = |setting| ScheduleError {
            line: last,
            column: 1,
            expected: Expected::Setting(setting),
        };
        Ok(Self {
            seed: seed.ok_or(missing("seed"))?,
            servers: servers.ok_or(missing("servers"))?,
            lasts: lasts.ok_or(missing("lasts"))?,
            faults,
        })
    }
}

/// Of one line, without a line break.
impl FromStr for Occurrence {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let words = &mut Words::new(1, text);
        let occurrence = occurrence(words)?;
        words.end().map(|()| occurrence)
    }
}

/// As in a schedule: its name and its values.
impl FromStr for Fault {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let words = &mut Words::new(1, text);
        let fault = fault(words)?;
        words.end().map(|()| fault)
    }
}

/// Reads a line that may come once.
fn set<T>(
    setting: &mut Option<T>,
    name: &'static str,
    words: &mut Words<'_>,
    read: impl FnOnce(&mut Words<'_>) -> Result<T, ScheduleError>,
) -> Result<(), ScheduleError> {
    if setting.is_some() {
        return Err(words.wrong(Expected::Once(name)));
    }
    words.expect(name)?;
    *setting = Some(read(words)?);
    Ok(())
}

fn occurrence(words: &mut Words<'_>) -> Result<Occurrence, ScheduleError> {
    words.expect("at")?;
    let at = words.read(Expected::Time, time)?;
    let no_duration = words.wrong(Expected::For);
    let lasts = match words.skip("for") {
        true => Some(duration(words)?),
        false => None,
    };
    let no_target = words.wrong(Expected::Target);
    let target = match words.peek() {
        "all" | "server" => Some(target(words)?),
        _ => None,
    };
    let fault = fault(words)?;
    Ok(Occurrence {
        at,
        lasts: match fault.is_instant() {
            true => lasts.unwrap_or_default(),
            false => lasts.ok_or(no_duration)?,
        },
        target: match fault.has_no_target() {
            true => target.unwrap_or(Target::All),
            false => target.ok_or(no_target)?,
        },
        fault,
    })
}

fn target(words: &mut Words<'_>) -> Result<Target, ScheduleError> {
    match words.skip("all") {
        true => Ok(Target::All),
        false => server(words).map(Target::Server),
    }
}

fn server(words: &mut Words<'_>) -> Result<u32, ScheduleError> {
    words.expect("server")?;
    number32(words)
}

fn fault(words: &mut Words<'_>) -> Result<Fault, ScheduleError> {
    let kind = words.read(Expected::Fault, |word| {
        Fault::KINDS.into_iter().find(|fault| fault.kind() == word)
    })?;
    Ok(match kind {
        Fault::Slow(_) => Fault::Slow(duration(words)?),
        Fault::Throttle(_) => Fault::Throttle(duration(words)?),
        Fault::Partition(_) => Fault::Partition(way(words)?),
        Fault::Stall(_) => Fault::Stall(way(words)?),
        Fault::Latency { .. } => Fault::Latency {
            by: duration(words)?,
            jitter: match words.skip("jitter") {
                true => duration(words)?,
                false => Duration::ZERO,
            },
        },
        Fault::Bandwidth(_) => Fault::Bandwidth(number32(words)?),
        Fault::NameMoves(_) => {
            words.expect("to")?;
            Fault::NameMoves(server(words)?)
        }
        plain => plain,
    })
}

fn way(words: &mut Words<'_>) -> Result<Way, ScheduleError> {
    words.read(Expected::Way, |word| match word {
        "to-server" => Some(Way::ToServer),
        "to-client" => Some(Way::ToClient),
        "both" => Some(Way::Both),
        _ => None,
    })
}

fn duration(words: &mut Words<'_>) -> Result<Duration, ScheduleError> {
    words.read(Expected::Duration, duration::parse)
}

fn time(word: &str) -> Option<Instant> {
    let nanos = u64::try_from(duration::parse(word)?.as_nanos()).ok()?;
    Some(Instant::from_nanos(nanos))
}

fn number32(words: &mut Words<'_>) -> Result<u32, ScheduleError> {
    words.read(Expected::Number32, |word| number64(word)?.try_into().ok())
}

/// Digits only: no sign.
fn number64(word: &str) -> Option<u64> {
    let is_digits = word.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::{format, string::ToString};

    use super::*;

    const TEXT: &str = "\
seed 7
servers 3
lasts 1h
at 12.5s for 30s server 2 black-hole
at 1m for 10s all latency 200ms jitter 50ms
at 1m for 1m1.000000001s server 1 latency 5us
at 1m30s server 0 half-open
at 1m30s for 5ms all reset
at 2m for 1ns server 1 partition to-client
at 3m for 1s all name-moves to server 0
at 4m for 1s server 1 bandwidth 1000
at 5m for 1s all throttle 1.5s
at 2h for 1h sleep
at 2h for 1h server 4294967295 list-fails
";

    #[test]
    fn what_was_written_is_read_and_written_again() {
        let schedule: Schedule = TEXT.parse().unwrap();
        assert_eq!(schedule.to_string(), TEXT);
        for fault in &schedule.faults {
            assert_eq!(fault.to_string().parse(), Ok(*fault));
            assert_eq!(fault.fault.to_string().parse(), Ok(fault.fault));
        }
        assert_eq!(
            schedule.faults[1],
            Occurrence {
                at: Instant::from_millis(60_000),
                lasts: Duration::from_secs(10),
                target: Target::All,
                fault: Fault::Latency {
                    by: Duration::from_millis(200),
                    jitter: Duration::from_millis(50),
                },
            }
        );
    }

    #[test]
    fn comments_blanks_and_the_order_of_lines_do_not_matter() {
        let text =
            "# by hand\r\n\n  at 5s  for 1s\tall crash# now\r\nlasts 1m\nservers 2\nseed 0 #";
        let fault = (Duration::from_secs(5), Duration::from_secs(1));
        let expected = Schedule::new(0, 2, Duration::from_secs(60));
        let expected = expected.fault(fault.0, fault.1, Target::All, Fault::Crash);
        assert_eq!(text.parse(), Ok(expected));
    }

    #[test]
    fn every_fault_is_read_by_its_name() {
        for fault in Fault::KINDS {
            assert_eq!(fault.to_string().parse(), Ok(fault));
        }
    }

    #[test]
    fn an_error_says_where_and_what_was_expected() {
        for (line, column, expected) in [
            ("on 1s for 1s all crash", 1, Expected::Line),
            ("  sed 1", 3, Expected::Line),
            ("seed 1", 1, Expected::Once("seed")),
            ("at", 3, Expected::Time),
            ("at soon", 4, Expected::Time),
            ("at 5124096h for 1s all crash", 4, Expected::Time),
            ("at 1s for ever all crash", 11, Expected::Duration),
            ("at 1s all crash", 7, Expected::For),
            ("at 1s for 1s crash", 14, Expected::Target),
            ("at 1s reset", 7, Expected::Target),
            ("at 1s for 1s server crash", 21, Expected::Number32),
            ("at 1s for 1s server +1 crash", 21, Expected::Number32),
            (
                "at 1s for 1s server 4294967296 crash",
                21,
                Expected::Number32,
            ),
            ("at 1s for 1s all", 17, Expected::Fault),
            ("at 1s for 1s all Crash", 18, Expected::Fault),
            ("at 1s for 1s all crash now", 24, Expected::End),
            ("at 1s for 1s all slow", 22, Expected::Duration),
            (
                "at 1s for 1s all latency 1s jitter # 5",
                35,
                Expected::Duration,
            ),
            ("at 1s for 1s all stall up", 24, Expected::Way),
            (
                "at 1s for 1s all name-moves server 1",
                29,
                Expected::Word("to"),
            ),
            (
                "at 1s for 1s all name-moves to 1",
                32,
                Expected::Word("server"),
            ),
            ("at\u{2003}1s for 1s all crásh", 18, Expected::Fault),
        ] {
            let error = ScheduleError {
                line: 4,
                column,
                expected,
            };
            let text = format!("seed 1\nservers 1\nlasts 1s\n{line}\n");
            assert_eq!(text.parse::<Schedule>(), Err(error), "{line}");
        }
    }

    #[test]
    fn a_missing_line_is_expected_at_the_end() {
        for (text, line, setting) in [
            ("", 1, "seed"),
            ("seed 1\nlasts 1s\n", 3, "servers"),
            ("seed 1\nservers 1", 3, "lasts"),
        ] {
            let error = ScheduleError {
                line,
                column: 1,
                expected: Expected::Setting(setting),
            };
            assert_eq!(text.parse::<Schedule>(), Err(error));
        }
    }

    #[test]
    fn as_json_it_reads_like_the_text() {
        let text = "seed 7\nservers 3\nlasts 1m\nat 1s for 2s server 1 slow 0.5s\nat 2s all reset";
        let schedule: Schedule = text.parse().unwrap();
        let json = concat!(
            r#"{"seed":7,"servers":3,"lasts":{"secs":60,"nanos":0},"faults":["#,
            r#"{"at":1000000000,"lasts":{"secs":2,"nanos":0},"target":{"server":1},"#,
            r#""fault":{"slow":{"secs":0,"nanos":500000000}}},"#,
            r#"{"at":2000000000,"lasts":{"secs":0,"nanos":0},"target":"all","fault":"reset"}]}"#,
        );
        assert_eq!(serde_json::to_string(&schedule).unwrap(), json);
        assert_eq!(serde_json::from_str::<Schedule>(json).unwrap(), schedule);
    }
}
