//! A timeline for the terminal.

use std::{format, string::String, vec, vec::Vec};

use super::{Bucket, Lane, Place, State, Timeline, Window, axis, human, human::Human, pack::pack};
use crate::{Event, Instant};

/// Room for the names of the lanes.
const NAMES: usize = 24;
/// How many columns the time has at least.
const LEAST: usize = 40;

const LEGEND: &str = "\
legend   = Ready   r c h resolving, connecting, handshaking   - after a failure, until the next attempt
         . idle, not needed   (blank) not listed   ! unhealthy   t throttled   d drains   a rejected us
         a column shows the least usual state in it; answered: ▁ to █ of the most in a column
         failed, retried: how many in a column, + is 10 and more   list: + longer or - shorter list,
         x failed refresh   moves: h hedge, m move to another server, S shut down, E session over
";

impl Timeline {
    /// The timeline as rows of characters, `columns` wide (at least 64): a row for each server, the
    /// faults below the servers they struck, and above them what became of requests. Below it a
    /// legend. Has no list of [incidents](Self::incidents): print them after it.
    ///
    /// ```
    /// # use redial::sim::{Timeline, Trace};
    /// let text = Timeline::of(&Trace::default(), 0).text(80);
    /// assert!(text.starts_with("client 0 · 0 servers · 0s · 0 faults\n"));
    /// ```
    #[must_use]
    pub fn text(&self, columns: usize) -> String {
        let page = Page::new(self, columns.saturating_sub(NAMES).max(LEAST));
        page.text()
    }
}

/// A timeline that is being written.
struct Page<'a> {
    timeline: &'a Timeline,
    columns: usize,
    text: String,
}

impl<'a> Page<'a> {
    fn new(timeline: &'a Timeline, columns: usize) -> Self {
        Self {
            timeline,
            columns,
            text: String::new(),
        }
    }

    fn text(mut self) -> String {
        self.text = self.timeline.title() + "\n\n";
        self.axis();
        self.requests();
        self.marks();
        self.faults("", Place::Client, "client's machine");
        self.faults("", Place::List, "server list");
        self.faults("", Place::All, "all servers");
        for (index, lane) in self.timeline.lanes.iter().enumerate() {
            let cells: Vec<char> = (0..self.columns).map(|c| self.state(lane, c)).collect();
            let name = match lane.server {
                Some(server) if lane.endpoint.is_some() => format!("{} ({server})", lane.name()),
                _ => lane.name(),
            };
            self.row(&name, cells);
            self.faults("  faults", Place::Lane(index), "");
        }
        self.text.push('\n');
        self.text + LEGEND
    }

    /// The column of a point in time.
    fn column(&self, at: Instant) -> usize {
        let ends = u128::from(self.timeline.ends.as_nanos().max(1));
        let column = u128::from(at.as_nanos()) * self.columns as u128 / ends;
        (column as usize).min(self.columns - 1)
    }

    /// When a column begins.
    fn begins(&self, column: usize) -> Instant {
        let ends = u128::from(self.timeline.ends.as_nanos());
        Instant::from_nanos((ends * column as u128 / self.columns as u128) as u64)
    }

    fn row(&mut self, name: &str, cells: impl IntoIterator<Item = char>) {
        let name: String = name.chars().take(NAMES - 1).collect();
        let cells: String = cells.into_iter().collect();
        self.text += format!("{name:<NAMES$}{cells}").trim_end();
        self.text.push('\n');
    }

    fn axis(&mut self) {
        let (mut names, mut marks) = (vec![' '; self.columns + 8], vec!['-'; self.columns]);
        for tick in axis::ticks(self.timeline.ends, self.columns / 10) {
            let column = self.column(tick);
            marks[column] = '|';
            let name = format!("{}", Human(tick - Instant::ORIGIN));
            for (place, letter) in names[column..].iter_mut().zip(name.chars()) {
                *place = letter;
            }
        }
        self.row("", names);
        self.row("", marks);
    }

    fn requests(&mut self) {
        let buckets = self.buckets();
        let most = buckets
            .iter()
            .map(|bucket| bucket.answered)
            .max()
            .unwrap_or(0);
        let answered = |bucket: &Bucket| match bucket.answered {
            0 => ' ',
            some => {
                let eighth = (u64::from(some) * 8).div_ceil(u64::from(most.max(1))) as u32;
                char::from_u32(0x2580 + eighth.clamp(1, 8)).unwrap_or(' ')
            }
        };
        self.row("answered", buckets.iter().map(answered));
        for (name, number) in [
            ("failed", (|bucket| bucket.failed) as fn(&Bucket) -> u32),
            ("retried", |bucket| bucket.retried),
        ] {
            if buckets.iter().any(|bucket| number(bucket) > 0) {
                self.row(name, buckets.iter().map(|bucket| digit(number(bucket))));
            }
        }
    }

    /// The requests of each column.
    fn buckets(&self) -> Vec<Bucket> {
        let mut buckets = vec![Bucket::default(); self.columns];
        for request in &self.timeline.requests {
            if let Some(at) = request.answered() {
                buckets[self.column(at)].answered += 1;
            }
            if let Some((at, _)) = request.failed() {
                buckets[self.column(at)].failed += 1;
            }
            for handover in request.handovers.iter().skip(1) {
                buckets[self.column(handover.at)].retried += 1;
            }
        }
        buckets
    }

    /// Of marks in one column the last is seen.
    fn marks(&mut self) {
        let (mut list, mut moves) = (vec![' '; self.columns], vec![' '; self.columns]);
        for moment in &self.timeline.moments {
            let column = self.column(moment.at);
            match moment.event {
                Event::ListChanged { added, removed, .. } => {
                    list[column] = if removed > added { '-' } else { '+' };
                }
                Event::Refreshed { result, .. } if result.is_failure() => list[column] = 'x',
                Event::AttemptStarted { hedge: true, .. } => moves[column] = 'h',
                Event::Rebalanced { moves: true } => moves[column] = 'm',
                Event::SessionExpired { .. } => moves[column] = 'E',
                _ => {}
            }
        }
        if let Some(at) = self.timeline.shutdown {
            moves[self.column(at)] = 'S';
        }
        for (name, marks) in [("list", list), ("moves", moves)] {
            if marks.iter().any(|mark| *mark != ' ') {
                self.row(name, marks);
            }
        }
    }

    /// The least usual state of a lane in a column: the one that is drawn last of those in it.
    fn state(&self, lane: &Lane, column: usize) -> char {
        let (from, to) = (self.begins(column), self.begins(column + 1));
        let inside = |band: &&super::Band| {
            (band.from < to && from < band.to) || (band.from == from && from == to)
        };
        let bands = lane.bands.iter().chain(&lane.overlays).filter(inside);
        let states = bands.map(|band| letter(band.state));
        states.max().map_or(' ', |(_, letter)| letter)
    }

    /// The faults of a place, on as many rows as they need.
    fn faults(&mut self, name: &str, place: Place, first: &str) {
        let faults = self.timeline.faults.iter().enumerate();
        let faults: Vec<(usize, &Window)> = faults.filter(|(_, w)| w.place == place).collect();
        let bars: Vec<(usize, String)> = faults
            .iter()
            .map(|(index, window)| (self.column(window.began), self.bar(*index, window)))
            .map(|(at, bar)| {
                (
                    at.min(self.columns.saturating_sub(bar.chars().count())),
                    bar,
                )
            })
            .collect();
        let extents: Vec<(usize, usize)> = bars
            .iter()
            .map(|(at, bar)| (*at, at + bar.chars().count() + 1))
            .collect();
        let (places, rows) = pack(&extents);
        for row in 0..rows {
            let mut cells = vec![' '; self.columns];
            let here = bars.iter().zip(&places).filter(|(_, place)| **place == row);
            for ((at, bar), _) in here {
                for (cell, letter) in cells[*at..].iter_mut().zip(bar.chars()) {
                    *cell = letter;
                }
            }
            self.row(
                if row == 0 && name.is_empty() {
                    first
                } else {
                    name
                },
                cells,
            );
        }
    }

    /// `[1 crash###]`, as long as the fault, or as its name.
    fn bar(&self, index: usize, window: &Window) -> String {
        let name = format!("{} {}", index + 1, human::fault(window.occurrence.fault));
        if window.occurrence.fault.is_instant() {
            return format!("*{name}");
        }
        let ends = self.column(window.ended_or(self.timeline.ends));
        let length = (ends + 1 - self.column(window.began)).saturating_sub(2);
        format!("[{name:~<length$}]")
    }
}

/// How unusual a state is, and its letter.
const fn letter(state: State) -> (u8, char) {
    match state {
        State::Unlisted => (0, ' '),
        State::Idle => (1, '.'),
        State::Ready => (2, '='),
        State::Draining => (3, 'd'),
        State::Resolving => (4, 'r'),
        State::Connecting => (5, 'c'),
        State::Handshaking => (6, 'h'),
        State::Resting => (7, '-'),
        State::Throttled => (8, 't'),
        State::Unhealthy => (9, '!'),
        State::Rejected => (10, 'a'),
    }
}

fn digit(number: u32) -> char {
    match number {
        0 => ' ',
        1..10 => char::from_digit(number, 10).unwrap_or('+'),
        _ => '+',
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing, *};

    #[test]
    fn the_text_of_a_crash_is_the_one_checked_in() {
        let timeline = Timeline::of(&testing::crash(), 0).titled("a crash");
        let text = timeline.text(NAMES + 60);
        assert_eq!(
            text,
            include_str!("crash.txt"),
            "if meant, put this there:\n{text}"
        );
    }

    #[test]
    fn no_row_is_longer_than_asked_for() {
        let trace = testing::script()
            .node(0)
            .at(9_990)
            .begins(
                9_990,
                5,
                crate::sim::Target::Server(0),
                crate::sim::Fault::RejectCredentials,
            )
            .at(10_000)
            .event(Event::QueueFull)
            .trace();
        let text = Timeline::of(&trace, 0).text(80);
        let rows = text.lines().skip(4).take_while(|row| !row.is_empty());
        assert!(
            rows.clone()
                .any(|row| row.contains("[1 reject credentials]")),
            "{text}"
        );
        rows.for_each(|row| assert!(row.chars().count() <= 80, "{row}"));
    }
}
