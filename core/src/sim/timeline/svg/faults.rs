//! The faults, above the lanes that they struck.

use std::{format, string::String, vec::Vec};

use super::{
    LEFT, Picture, RIGHT,
    canvas::{Anchor, bold_width},
    labels::SIZE,
};
use crate::sim::timeline::{Place, Window, human, pack::pack};

/// Short faults that are closer than this have one label together.
const SOON: f64 = 12.0;

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

    /// The height of a row of faults.
    const fn fault_row(&self) -> f64 {
        if self.small { 13.5 } else { 16.0 }
    }

    /// How much room the faults of a place need.
    pub(super) fn fault_rows(&self, place: Place) -> f64 {
        self.place_faults(place).1 as f64 * self.fault_row()
    }

    /// The faults of a place with their labels, and in how many rows they lie.
    fn place_faults(&self, place: Place) -> (Vec<FaultBar>, usize) {
        let faults = self.timeline.faults().iter().enumerate();
        let mut bars: Vec<FaultBar> = faults
            .filter(|(_, window)| window.place == place)
            .map(|(index, window)| self.fault_bar(index, window))
            .collect();
        join(&mut bars);
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
        FaultBar::new(label, instant, from, to)
    }

    /// Draws the faults of a place, each down to `over` if there is something below that it struck.
    /// How high they are.
    pub(super) fn faults(&mut self, place: Place, over: Option<f64>) -> f64 {
        let (bars, rows) = self.place_faults(place);
        let row = self.fault_row();
        for bar in &bars {
            let top = self.y + bar.row as f64 * row;
            if bar.instant {
                let foot = over.unwrap_or(top + row - 2.0);
                self.front
                    .line("cross", (bar.from, top + 2.0), (bar.from, foot));
                self.front.pointer("edge", bar.from, top + row - 4.0);
                continue;
            }
            let wide = bar.to - bar.from;
            if let Some(over) = over {
                let foot = self.y + rows as f64 * row;
                let front = &mut self.front;
                front.rectangle("hatch", bar.from, foot, wide, over - foot);
                front.line("edge-line", (bar.from, top + 1.0), (bar.from, over));
                front.line("edge-line", (bar.to, top + 1.0), (bar.to, over));
            }
            self.front
                .rectangle("fault", bar.from, top + 1.0, wide, row - 3.0);
        }
        for bar in bars.iter().filter(|bar| !bar.label.is_empty()) {
            let (x, top) = (bar.text, self.y + bar.row as f64 * row);
            if x < bar.from || bar.to < x {
                self.front
                    .rectangle("paper", x - 2.0, top + 1.0, bar.wide + 4.0, row - 3.0);
            }
            self.front
                .text("name", x, top + row - 4.5, Anchor::Start, &bar.label);
        }
        rows as f64 * row
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
    fn new(label: String, instant: bool, from: f64, to: f64) -> Self {
        let (wide, inside) = (bold_width(&label, SIZE), to - from - 12.0);
        let text = match (!instant && wide <= inside, to + 6.0 + wide <= RIGHT) {
            (true, _) => from + 7.0,
            (false, true) => to + 6.0,
            (false, false) => from - 6.0 - wide,
        };
        Self {
            label,
            instant,
            from,
            to,
            text,
            wide,
            row: 0,
        }
    }

    /// With its label, and some room beside that.
    fn extent(&self) -> (f64, f64) {
        let (from, to) = (self.from.min(self.text), self.text + self.wide + 6.0);
        match from < self.text && to <= self.to || self.label.is_empty() {
            true => (self.from, self.to),
            false => (from, self.to.max(to)),
        }
    }
}

/// Short faults one soon after another have one label together, behind the last.
fn join(bars: &mut [FaultBar]) {
    for second in 1..bars.len() {
        let (before, after) = bars.split_at_mut(second);
        let (Some(first), Some(next)) = (before.last_mut(), after.first_mut()) else {
            continue;
        };
        let outside = first.text > first.to && next.text > next.to;
        let soon = first.to <= next.from && next.from - first.to <= SOON;
        if outside && soon {
            let label = format!("{}, {}", first.label, next.label);
            let mut joined = FaultBar::new(label, next.instant, next.from, next.to);
            if joined.text < joined.from {
                joined.text = first.from - 6.0 - joined.wide;
            }
            if joined.text < LEFT {
                continue;
            }
            *next = joined;
            (first.label, first.text, first.wide) = (String::new(), first.from, 0.0);
        }
    }
}
