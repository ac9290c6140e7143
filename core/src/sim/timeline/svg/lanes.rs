//! The lanes: states and traffic.

use std::{format, string::String, vec::Vec};

use super::{
    LEFT, Picture, RIGHT,
    canvas::{Anchor, bar},
};
use crate::{
    Instant,
    sim::timeline::{Band, Bucket, Lane, Place, State},
};

/// Where a lane's band is.
#[derive(Clone, Copy)]
pub(super) struct LaneBox {
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Picture<'_> {
    pub(super) fn lanes(&mut self) -> Vec<LaneBox> {
        let full = self.traffic.full_at_a_node();
        let lanes = self.timeline.lanes().iter().enumerate();
        lanes
            .map(|(index, lane)| self.lane(index, lane, full))
            .collect()
    }

    fn lane(&mut self, index: usize, lane: &Lane, full: u32) -> LaneBox {
        let (band, traffic) = if self.small {
            (10.0, 12.0)
        } else {
            (18.0, 20.0)
        };
        let traffic = if self.arrows { 0.0 } else { traffic };
        let top = self.y;
        // Faults reach down over the band, so that it is seen what they did to it.
        let faults = self.fault_rows(Place::Lane(index));
        let (up, down) = (top + faults, top + faults + band);
        for state in &lane.bands {
            self.band(state, up, down);
        }
        for overlay in &lane.overlays {
            self.band(overlay, up, down);
        }
        let notes = self.notes(index);
        let words = if self.small || notes.is_empty() {
            0.0
        } else {
            14.0
        };
        let foot = down + words + 2.0 + traffic;
        self.faults(Place::Lane(index), Some(foot));
        self.draw_notes(&notes, down);
        if !self.arrows {
            let bars = self.traffic.lanes[index].clone();
            self.bars(&bars, foot, traffic, full);
        }
        self.y = foot;
        let name = shorten(&lane.name());
        let height = if self.small { up + band } else { up + 13.0 };
        self.canvas
            .text("strong", 12.0, height, Anchor::Start, &name);
        if let (Some(server), Some(_)) = (lane.server, &lane.endpoint) {
            let name = format!("server {server}");
            self.canvas
                .text("small", LEFT - 10.0, height, Anchor::End, &name);
        }
        self.separate();
        LaneBox {
            top: up,
            bottom: down,
        }
    }

    pub(super) fn separate(&mut self) {
        let half = if self.small { 2.5 } else { 4.0 };
        self.y += half;
        self.canvas.line("grid", (8.0, self.y), (RIGHT, self.y));
        self.y += half;
    }

    fn band(&mut self, band: &Band, up: f64, down: f64) {
        let (from, to) = (self.x(band.from), self.x(band.to));
        let (wide, middle, height) = ((to - from).max(0.8), (up + down) / 2.0, down - up);
        let (class, above, below) = match band.state {
            State::Unlisted => return self.canvas.line("unlisted", (from, middle), (to, middle)),
            State::Idle => return self.canvas.line("idle", (from, middle), (to, middle)),
            State::Resting => ("resting", 0.3, 0.3),
            State::Rejected => ("rejected", 0.3, 0.3),
            State::Resolving | State::Connecting | State::Handshaking => ("setup", 0.12, 0.12),
            State::Ready => ("ready", 0.0, 0.0),
            State::Draining => ("draining", 0.7, 0.0),
            State::Throttled => ("throttled", 0.0, 0.0),
            State::Unhealthy => ("unhealthy", 0.0, 0.0),
        };
        let (top, rest) = (up + height * above, height * (1.0 - above - below));
        self.canvas.rectangle(class, from, top, wide, rest);
    }

    /// Answered, and above it lost, up to `full` of both; more are not drawn.
    pub(super) fn bars(&mut self, buckets: &[Bucket], foot: f64, height: f64, full: u32) {
        let unit = height / f64::from(full.max(1));
        let (mut answered, mut failed) = (String::new(), String::new());
        for (number, bucket) in buckets.iter().enumerate() {
            let (x, wide) = self.bucket(number);
            let blue = (f64::from(bucket.answered) * unit).min(height);
            if bucket.answered > 0 {
                answered += &bar(x, foot, wide, blue.max(0.8));
            }
            if bucket.failed > 0 {
                // One that failed must not be overlooked beside a hundred that did not.
                let red = (f64::from(bucket.failed) * unit).max(2.5).min(height);
                failed += &bar(x, foot - blue.min(height - red), wide, red);
            }
        }
        self.canvas.path("answered", &answered);
        self.canvas.path("failed", &failed);
    }

    /// Where a bucket begins, and how wide it is.
    pub(super) fn bucket(&self, number: usize) -> (f64, f64) {
        let start = |number: usize| {
            let after = self
                .traffic
                .bucket
                .as_nanos()
                .saturating_mul(number as u128);
            self.x(Instant::from_nanos(
                u64::try_from(after).unwrap_or(u64::MAX),
            ))
        };
        let (from, to) = (start(number), start(number + 1).min(RIGHT));
        (from, (to - from - 0.6).max(0.6))
    }
}

/// A name that fits beside the lanes.
fn shorten(name: &str) -> String {
    const MOST: usize = 17;
    match name.chars().count() {
        0..=MOST => String::from(name),
        _ => name.chars().take(MOST - 1).chain(['…']).collect(),
    }
}
