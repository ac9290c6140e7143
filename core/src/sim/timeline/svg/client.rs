//! The client's own rows, and its requests as arrows.

use core::time::Duration;

use std::{format, string::String, vec::Vec};

use super::{
    LEFT, Picture, RIGHT,
    canvas::{Anchor, bar, start, to},
    labels::Rows,
    lanes::LaneBox,
};
use crate::{
    Event,
    sim::timeline::{Fate, Human, Moment},
};

/// Decisions in words lie in so many rows.
const ROWS: usize = 2;

/// What is drawn of a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Hedge,
    List,
    Bad,
    End,
}

/// A decision, or many.
struct Decided {
    x: f64,
    mark: Mark,
    words: String,
    times: u32,
}

impl Picture<'_> {
    /// Its requests and decisions, above the lanes; arrows cross nothing but lanes.
    pub(super) fn client(&mut self) {
        if !self.arrows {
            self.request_bars();
        }
        self.decisions();
        self.refreshes();
        self.shared_faults();
        if self.arrows {
            self.requests_line();
        }
        self.y += 2.0;
        self.canvas.line("rule", (8.0, self.y), (RIGHT, self.y));
        self.y += 6.0;
    }

    fn row_name(&mut self, name: &str, y: f64) {
        self.canvas.text("strong", 12.0, y, Anchor::Start, name);
    }

    /// The line from which the arrows start: when a request waits it is thick.
    fn requests_line(&mut self) {
        self.y += 12.0;
        let y = self.y;
        self.requests = y;
        self.row_name("client: requests", y + 4.0);
        self.canvas.line("axis", (LEFT, y), (RIGHT, y));
        for request in self.timeline.requests() {
            let first = request.handovers.first().map(|handover| handover.at);
            let end = request.end.map(|(at, _)| at);
            let until = first.or(end).unwrap_or(self.timeline.ends());
            if until > request.submitted {
                let (from, to) = (self.x(request.submitted), self.x(until));
                self.canvas.line("wait", (from, y), (to, y));
            }
            if let Some((at, _)) = request.failed() {
                let x = self.x(at);
                self.canvas.cross(x, y);
            }
        }
        self.y += 12.0;
    }

    /// From the client to a node and back.
    pub(super) fn draw_arrows(&mut self, boxes: &[LaneBox]) {
        let y = self.requests;
        for request in self.timeline.requests() {
            for handover in &request.handovers {
                let Some(lane) = boxes.get(handover.lane) else {
                    continue;
                };
                let from = self.x(handover.at);
                let until = self.x(handover.until).max(from + 4.0);
                let (middle, end) = ((from + until) / 2.0, lane.top);
                let tip =
                    |x: f64, y: f64, way: f64| format!("{}l-2 {} h4z", start(x, y), -5.0 * way);
                match handover.fate {
                    Fate::Answered => {
                        let path = start(from, y) + &to(middle, end) + &to(until, y + 2.0);
                        self.canvas.path("ask", &path);
                        self.canvas.path("answered", &tip(middle, end, 1.0));
                        self.canvas.path("answered", &tip(until, y, -1.0));
                    }
                    Fate::Lost => {
                        self.canvas.line("lost", (from, y), (from + 2.0, end));
                        self.canvas.path("failed", &tip(from + 2.0, end, 1.0));
                        self.canvas.cross(until, (lane.top + lane.bottom) / 2.0);
                    }
                    Fate::Dropped => self.canvas.line("lost", (from, y), (from + 2.0, end)),
                }
            }
        }
    }

    fn request_bars(&mut self) {
        let buckets = self.traffic.all.clone();
        let most = buckets
            .iter()
            .map(|bucket| bucket.answered + bucket.failed)
            .max();
        let most = most.unwrap_or(0);
        let (height, top) = (44.0, self.y);
        self.row_name("client: requests", top + 12.0);
        let each = format!("each bar {}", Human(self.traffic.bucket));
        self.canvas
            .text("small", 12.0, top + 26.0, Anchor::Start, &each);
        let node = format!("a node's full bar: {}", self.traffic.full_at_a_node());
        self.canvas
            .text("small", 12.0, top + 39.0, Anchor::Start, &node);
        self.canvas.text(
            "small",
            LEFT - 6.0,
            top + 9.0,
            Anchor::End,
            &format!("{most}"),
        );
        self.canvas
            .text("small", LEFT - 6.0, top + height, Anchor::End, "0");
        self.bars(&buckets, top + height, height, most);
        self.y += height + 6.0;
        let retried = buckets
            .iter()
            .map(|bucket| bucket.retried)
            .max()
            .unwrap_or(0);
        if retried > 0 {
            self.row_name("sent again", self.y + 11.0);
            let most = format!("{retried}");
            self.canvas
                .text("small", LEFT - 6.0, self.y + 9.0, Anchor::End, &most);
            let mut path = String::new();
            for (number, bucket) in buckets.iter().enumerate() {
                let (x, wide) = self.bucket(number);
                if bucket.retried > 0 {
                    let high = 16.0 * f64::from(bucket.retried) / f64::from(retried);
                    path += &bar(x, self.y + 16.0, wide, high.max(2.5));
                }
            }
            self.canvas.path("retried", &path);
            self.y += 22.0;
        }
        self.slowest();
    }

    /// The slowest answer of each bucket, on a scale on which each line is ten times the one below.
    fn slowest(&mut self) {
        let slowest = self.traffic.all.iter().map(|bucket| bucket.slowest);
        let top_decade = slowest.max().map_or(0, decade).max(2);
        let (height, top) = (11.0 * f64::from(top_decade + 1), self.y);
        self.row_name("slowest answer", top + 12.0);
        let foot = top + height;
        for decade in 0..=top_decade {
            let y = foot - 11.0 * f64::from(decade);
            let name = format!("{}", Human(Duration::from_millis(10_u64.pow(decade))));
            self.canvas.line("grid", (LEFT, y), (RIGHT, y));
            self.canvas
                .text("small", LEFT - 6.0, y + 3.0, Anchor::End, &name);
        }
        let (mut path, mut gap) = (String::new(), true);
        for (number, bucket) in self.traffic.all.iter().enumerate() {
            let (x, wide) = self.bucket(number);
            if bucket.answered == 0 {
                gap = true;
                continue;
            }
            let y = foot - 11.0 * height_of(bucket.slowest);
            path += &if gap { start(x, y) } else { to(x, y) };
            path += &to(x + wide, y);
            gap = false;
        }
        self.canvas.path("slowest", &path);
        self.y = foot + 8.0;
    }

    /// What the client decided, in words where there is room; without, in a row below.
    fn decisions(&mut self) {
        let decided = self.decided();
        if decided.is_empty() {
            return;
        }
        let mut rows = Rows::new(ROWS, LEFT, RIGHT);
        let top = self.y + 8.0;
        self.row_name("decisions", top + 3.0);
        let mut used = 0;
        for Decided { x, mark, words, .. } in decided {
            let place = rows.place(x, 5.0, &words);
            let row = place.map_or(ROWS, |(row, _)| row);
            let y = top + row as f64 * 15.0;
            used = used.max(row);
            match mark {
                Mark::Hedge => self.canvas.diamond("hedge", x, y),
                Mark::List => self.canvas.diamond("list", x, y),
                Mark::Bad => self.canvas.cross(x, y),
                Mark::End => self.canvas.square("end", x, y),
            }
            if let Some((_, at)) = place {
                self.canvas.text("", at, y + 4.0, Anchor::Start, &words);
            }
        }
        self.y = top + 15.0 * used as f64 + 13.0;
    }

    /// Whenever a source of server lists has been asked.
    fn refreshes(&mut self) {
        let moments = self.timeline.moments().iter();
        let refreshes: Vec<(f64, bool)> = moments
            .filter_map(|moment| match moment.event {
                Event::Refreshed { result, .. } => Some((self.x(moment.at), result.is_failure())),
                _ => None,
            })
            .collect();
        if refreshes.is_empty() {
            return;
        }
        let y = self.y + 6.0;
        self.row_name("list refreshed", y + 4.0);
        for (x, failed) in refreshes {
            match failed {
                true => self.canvas.cross(x, y),
                false => self.canvas.rectangle("refresh", x - 1.0, y - 4.0, 2.0, 8.0),
            }
        }
        self.y += 18.0;
    }

    /// In order of time; the same again soon after is told together.
    fn decided(&self) -> Vec<Decided> {
        let mut all: Vec<Decided> = Vec::new();
        let shutdown = self.timeline.shutdown();
        let shutdown = shutdown.map(|at| (at, Mark::End, String::from("shut down")));
        let moments = self.timeline.moments().iter();
        let decisions = moments.filter_map(|moment| {
            let (mark, words) = self.decision(moment)?;
            Some((moment.at, mark, words))
        });
        for (at, mark, words) in decisions.chain(shutdown) {
            let x = self.x(at);
            match all.last_mut() {
                Some(last) if last.mark == mark && x - last.x < 10.0 => {
                    last.times += 1;
                    last.words = match mark {
                        Mark::Hedge => format!("{} hedges", last.times),
                        Mark::List => format!("{} changes of the list", last.times),
                        Mark::Bad | Mark::End => format!("{words} ×{}", last.times),
                    };
                }
                _ => all.push(Decided {
                    x,
                    mark,
                    words,
                    times: 1,
                }),
            }
        }
        all
    }

    fn decision(&self, moment: &Moment) -> Option<(Mark, String)> {
        Some(match moment.event {
            Event::AttemptStarted { hedge: true, .. } => {
                let lane = moment.lane.and_then(|lane| self.timeline.lanes().get(lane));
                let name = lane.map(|lane| lane.name()).unwrap_or_default();
                (Mark::Hedge, format!("hedge: dials {name} too"))
            }
            Event::ListChanged {
                added,
                removed,
                kept,
            } => {
                let words = match (added, removed, kept) {
                    (added, 0, 0) => format!("list of {added}"),
                    (added, 0, _) => format!("list +{added}"),
                    (0, removed, _) => format!("list −{removed}"),
                    _ => format!("list +{added} −{removed}"),
                };
                (Mark::List, words)
            }
            Event::Rebalanced { moves: true } => {
                (Mark::List, String::from("moves to another server"))
            }
            Event::QueueFull => (Mark::Bad, String::from("queue full")),
            Event::SessionExpired { .. } => (Mark::End, String::from("session over")),
            _ => return None,
        })
    }
}

/// How many whole powers of ten of milliseconds.
fn decade(duration: Duration) -> u32 {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    millis.checked_ilog10().unwrap_or(0)
}

/// The height in decades, straight between them: a logarithm need not be the same everywhere.
fn height_of(duration: Duration) -> f64 {
    let decade = decade(duration);
    let base = 10_u64.pow(decade) as f64;
    let millis = duration.as_nanos() as f64 / 1e6;
    f64::from(decade) + ((millis / base - 1.0) / 9.0).max(0.0)
}
