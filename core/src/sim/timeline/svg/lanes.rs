//! The lanes: states, faults, traffic and what happened there.

use std::{format, string::String, vec::Vec};

use super::{
    LEFT, Picture, RIGHT,
    canvas::{Anchor, bar, width},
    labels::{Rows, SIZE},
};
use crate::{
    Event, Instant, NodeState,
    sim::timeline::{Band, Bucket, Lane, Place, State, Window, human, pack::pack},
};

/// The height of a row of faults.
const FAULT: f64 = 16.0;

/// Where a lane's band is.
#[derive(Clone, Copy)]
pub(super) struct LaneBox {
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Picture<'_> {
    /// The faults that strike no single server.
    pub(super) fn shared_faults(&mut self) {
        for (place, name) in [
            (Place::Client, "client's machine"),
            (Place::List, "server list"),
            (Place::All, "all servers"),
        ] {
            let top = self.y;
            let height = self.faults(place, None);
            if height > 0.0 {
                self.y += height;
                self.canvas
                    .text("strong", 12.0, top + 12.0, Anchor::Start, name);
                self.separate();
            }
        }
    }

    pub(super) fn lanes(&mut self) -> Vec<LaneBox> {
        let most = self.traffic.lanes.iter().flatten();
        let most = most
            .map(|bucket| bucket.answered + bucket.failed)
            .max()
            .unwrap_or(0);
        let lanes = self.timeline.lanes().iter().enumerate();
        lanes
            .map(|(index, lane)| self.lane(index, lane, most))
            .collect()
    }

    fn lane(&mut self, index: usize, lane: &Lane, most: u32) -> LaneBox {
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
        self.faults(Place::Lane(index), Some(down + traffic));
        self.y = down + 2.0;
        if !self.arrows {
            let bars = self.traffic.lanes[index].clone();
            self.bars(&bars, down + 2.0 + traffic, traffic, most);
            self.y += traffic;
        }
        if !self.small {
            self.notes(index, up, down);
        }
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

    fn separate(&mut self) {
        self.y += 4.0;
        self.canvas.line("grid", (8.0, self.y), (RIGHT, self.y));
        self.y += 4.0;
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

    /// Answered, and above it lost, in the numbers of `most`.
    pub(super) fn bars(&mut self, buckets: &[Bucket], foot: f64, height: f64, most: u32) {
        let unit = height / f64::from(most.max(1));
        let (mut answered, mut failed) = (String::new(), String::new());
        for (number, bucket) in buckets.iter().enumerate() {
            let (x, wide) = self.bucket(number);
            let blue = f64::from(bucket.answered) * unit;
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

    /// How much room the faults of a place need.
    fn fault_rows(&self, place: Place) -> f64 {
        self.place_faults(place).1 as f64 * FAULT
    }

    /// The faults of a place with their labels, and in how many rows they lie.
    fn place_faults(&self, place: Place) -> (Vec<FaultBar>, usize) {
        let faults = self.timeline.faults().iter().enumerate();
        let mut bars: Vec<FaultBar> = faults
            .filter(|(_, window)| window.place == place)
            .map(|(index, window)| self.fault_bar(index, window))
            .collect();
        let extents: Vec<_> = bars.iter().map(FaultBar::extent).collect();
        let (rows, count) = pack(&extents);
        bars.iter_mut()
            .zip(rows)
            .for_each(|(bar, row)| bar.row = row);
        (bars, count)
    }

    fn fault_bar(&self, index: usize, window: &Window) -> FaultBar {
        let label = format!("{} {}", index + 1, human::fault(window.occurrence.fault));
        let instant = window.occurrence.fault.is_instant();
        let from = self.x(window.began);
        let to = self
            .x(window.ended_or(self.timeline.ends()))
            .max(from + 2.0);
        let (wide, inside) = (width(&label, SIZE), to - from - 12.0);
        let text = match (!instant && wide <= inside, to + 6.0 + wide <= RIGHT) {
            (true, _) => from + 7.0,
            (false, true) => to + 6.0,
            (false, false) => from - 6.0 - wide,
        };
        FaultBar {
            label,
            instant,
            from,
            to,
            text,
            wide,
            row: 0,
        }
    }

    /// Draws the faults of a place, each down to `over` if there is something below that it struck.
    /// How high they are.
    fn faults(&mut self, place: Place, over: Option<f64>) -> f64 {
        let (bars, rows) = self.place_faults(place);
        for bar in bars {
            let top = self.y + bar.row as f64 * FAULT;
            if bar.instant {
                let foot = over.unwrap_or(top + 14.0);
                self.canvas
                    .line("cross", (bar.from, top + 2.0), (bar.from, foot));
                self.canvas.pointer("edge", bar.from, top + 12.0);
            } else {
                let wide = bar.to - bar.from;
                if let Some(over) = over {
                    let foot = self.y + rows as f64 * FAULT;
                    self.canvas
                        .rectangle("hatch", bar.from, foot, wide, over - foot);
                    self.canvas
                        .line("edge-line", (bar.from, top), (bar.from, over));
                    self.canvas.line("edge-line", (bar.to, top), (bar.to, over));
                }
                self.canvas
                    .rectangle("fault", bar.from, top + 1.0, wide, 13.0);
            }
            let text = (bar.text, top + 12.0);
            self.canvas
                .text("name", text.0, text.1, Anchor::Start, &bar.label);
        }
        rows as f64 * FAULT
    }

    /// What happened to the node: ticks below the band, with words where there is room.
    fn notes(&mut self, index: usize, up: f64, down: f64) {
        let moments = self.timeline.moments().iter();
        let here = moments.filter(|moment| moment.lane == Some(index));
        let mut notes: Vec<(u8, f64, String)> = here
            .filter_map(|moment| note(&moment.event).map(|note| (note, moment.at)))
            .map(|((rank, text), at)| (rank, self.x(at), text))
            .collect();
        notes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let (mut rows, y) = (Rows::new(1, LEFT, RIGHT), self.y + 8.0);
        for (rank, x, text) in &notes {
            match rank {
                1 => self.canvas.diamond("hedge", *x, (up + down) / 2.0),
                _ => self.canvas.cross(*x, y - 1.0),
            }
            if let Some((_, at)) = rows.place(*x, 5.0, text) {
                self.canvas.text("small", at, y + 3.0, Anchor::Start, text);
            }
        }
        if !notes.is_empty() {
            self.y += 14.0;
        }
    }
}

/// A fault as it is drawn.
struct FaultBar {
    label: String,
    instant: bool,
    from: f64,
    to: f64,
    /// Where the label begins, and how wide it is.
    text: f64,
    wide: f64,
    row: usize,
}

impl FaultBar {
    /// With its label, and some room.
    fn extent(&self) -> (f64, f64) {
        let from = self.from.min(self.text) - 6.0;
        (from, self.to.max(self.text + self.wide) + 6.0)
    }
}

/// What is written of an event: the least comes first.
fn note(event: &Event) -> Option<(u8, String)> {
    match event {
        Event::StateChanged {
            from: NodeState::Ready,
            cause: Some(cause),
            ..
        } => Some((0, format!("{cause}"))),
        Event::AttemptStarted { hedge: true, .. } => Some((1, String::from("hedge"))),
        Event::AttemptEnded {
            cause: Some(cause), ..
        } if !cause.is_planned() => Some((2, format!("{cause}"))),
        _ => None,
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
