//! A timeline as a picture.

mod account;
mod canvas;
mod client;
mod faults;
mod labels;
mod lanes;
mod legend;
mod notes;

use std::{format, string::String, vec::Vec};

use self::canvas::{Anchor, Canvas};
use super::{Human, Incident, Place, Timeline, Traffic, axis};
use crate::Instant;

/// The width of the page.
const WIDTH: f64 = 1280.0;
/// Where the time begins and ends.
const LEFT: f64 = 190.0;
const RIGHT: f64 = WIDTH - 24.0;
/// A bar of traffic is so wide at least.
const BAR: f64 = 5.0;
/// More requests than these are not drawn as arrows.
const ARROWS: usize = 90;
/// More lanes than these are drawn small.
const TALL: usize = 10;

impl Timeline {
    /// The timeline as an SVG picture: a lane for each server with bands for its states, the faults
    /// above the servers they struck, the requests (arrows where they are few, else bars for their
    /// numbers), what the client decided, and below what it did about each fault.
    ///
    /// Feature `sim-svg`. The same timeline gives the same bytes. The page is 1280 wide and as high as
    /// need be; it needs no font but a sans-serif.
    ///
    /// ```
    /// # use redial::sim::{Timeline, Trace};
    /// let svg = Timeline::of(&Trace::default(), 0).svg();
    /// assert!(svg.starts_with("<svg"));
    /// ```
    #[must_use]
    pub fn svg(&self) -> String {
        Picture::new(self).draw()
    }
}

/// A picture that is being drawn, downwards.
struct Picture<'a> {
    timeline: &'a Timeline,
    incidents: Vec<Incident>,
    traffic: Traffic,
    /// Requests are arrows.
    arrows: bool,
    /// Lanes are small.
    small: bool,
    canvas: Canvas,
    /// What lies before the arrows.
    front: Canvas,
    /// How far down it has come.
    y: f64,
    /// Where the line is from which the arrows start.
    requests: f64,
}

impl<'a> Picture<'a> {
    fn new(timeline: &'a Timeline) -> Self {
        Self {
            timeline,
            incidents: timeline.incidents(),
            traffic: timeline.traffic(((RIGHT - LEFT) / BAR) as usize),
            arrows: timeline.requests().len() <= ARROWS,
            small: timeline.lanes().len() > TALL,
            canvas: Canvas::new(),
            front: Canvas::new(),
            y: 0.0,
            requests: 0.0,
        }
    }

    fn draw(mut self) -> String {
        let title = self.timeline.title();
        self.y = 28.0;
        self.canvas
            .text("title", 12.0, self.y, Anchor::Start, &title);
        self.legend();
        self.y += 26.0;
        let top = self.y;
        // What lies behind everything reaches as far down as the lanes, which are not yet drawn.
        let page = core::mem::replace(&mut self.canvas, Canvas::new());
        self.client();
        let boxes = self.lanes();
        if self.arrows {
            self.draw_arrows(&boxes);
        }
        let middle = core::mem::replace(&mut self.canvas, page);
        let front = core::mem::replace(&mut self.front, Canvas::new());
        self.background(top, self.y);
        self.canvas.layer(middle);
        self.canvas.layer(front);
        self.account();
        self.canvas.finish(&title, WIDTH, self.y + 14.0)
    }

    /// Where a point in time is.
    fn x(&self, at: Instant) -> f64 {
        let ends = self.timeline.ends().as_nanos().max(1);
        LEFT + (RIGHT - LEFT) * (at.as_nanos() as f64 / ends as f64)
    }

    /// The axes and what runs across all lanes: ticks, and faults that strike everybody.
    fn background(&mut self, top: f64, bottom: f64) {
        for window in self.timeline.faults() {
            if matches!(window.place, Place::All | Place::Client) {
                let from = self.x(window.began);
                let wide = (self.x(window.ended_or(self.timeline.ends())) - from).max(1.0);
                self.canvas.rectangle("veil", from, top, wide, bottom - top);
            }
        }
        for tick in axis::ticks(self.timeline.ends(), 12) {
            let (x, name) = (self.x(tick), format!("{}", Human(tick - Instant::ORIGIN)));
            self.canvas.line("grid", (x, top - 4.0), (x, bottom + 4.0));
            self.canvas.text("", x, top - 8.0, Anchor::Middle, &name);
            self.canvas
                .text("", x, bottom + 16.0, Anchor::Middle, &name);
        }
        self.canvas
            .line("axis", (LEFT, top - 4.0), (RIGHT, top - 4.0));
        self.canvas
            .line("axis", (LEFT, bottom + 4.0), (RIGHT, bottom + 4.0));
        self.y = bottom + 22.0;
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing, *};

    #[test]
    fn the_same_trace_gives_the_same_bytes() {
        let draw = || Timeline::of(&testing::crash(), 0).svg();
        assert_eq!(draw(), draw());
    }

    #[test]
    fn few_requests_are_arrows_and_many_are_bars() {
        let few = testing::crash();
        let mut many = testing::script().node(0).ready(0, 10);
        for r in 0..=ARROWS as u32 {
            many = many.at(20 + u64::from(r)).submit(r).write(r, 0).reply(r);
        }
        let picture = |trace| Timeline::of(trace, 0).svg();
        assert!(picture(&few).contains("waits for a node"));
        assert!(picture(&many.trace()).contains("each bar"));
    }

    #[test]
    fn a_fault_is_named_and_told() {
        let svg = Timeline::of(&testing::crash(), 0).svg();
        assert!(svg.contains("1 crash"));
        assert!(svg.contains("connection lost after 10ms (I/O error)"));
    }

    #[test]
    fn what_a_trace_names_cannot_break_the_markup() {
        let timeline = Timeline::of(&testing::crash(), 0).titled("<a & b>");
        let svg = timeline.svg();
        assert!(svg.contains("&lt;a &amp; b&gt;") && !svg.contains("<a & b>"));
    }
}
