//! What the shapes mean.

use std::format;

use super::{
    Picture, RIGHT,
    canvas::{Anchor, Canvas, start, width},
    labels::SIZE,
};
/// The height of a row.
const ROW: f64 = 19.0;

/// A shape, drawn from a point to the right and down to 12 below it.
type Shape = fn(&mut Canvas, f64, f64);

const STATES: [(&str, Shape); 10] = [
    ("Ready", |c, x, y| c.rectangle("ready", x, y, 22.0, 12.0)),
    ("setup: connecting, handshake", |c, x, y| {
        c.rectangle("setup", x, y + 1.5, 22.0, 9.0);
    }),
    ("after a failure, until the next attempt", |c, x, y| {
        c.rectangle("resting", x, y + 3.5, 22.0, 5.0);
    }),
    ("idle, not needed", |c, x, y| {
        c.line("idle", (x, y + 6.0), (x + 22.0, y + 6.0));
    }),
    ("not listed", |c, x, y| {
        c.line("unlisted", (x, y + 6.0), (x + 22.0, y + 6.0));
    }),
    ("throttled", |c, x, y| {
        c.rectangle("throttled", x, y, 22.0, 12.0)
    }),
    ("unhealthy: replies time out", |c, x, y| {
        c.rectangle("unhealthy", x, y, 22.0, 12.0);
    }),
    ("credentials rejected", |c, x, y| {
        c.rectangle("rejected", x, y + 3.5, 22.0, 5.0);
    }),
    ("old connection drains", |c, x, y| {
        c.rectangle("draining", x, y + 8.0, 22.0, 4.0);
    }),
    ("fault, numbered as below", |c, x, y| {
        c.rectangle("fault", x, y, 10.0, 12.0);
        c.rectangle("hatch", x + 11.0, y, 11.0, 12.0);
    }),
];

const MARKS: [(&str, Shape); 5] = [
    ("fault of an instant", |c, x, y| {
        c.pointer("edge", x + 11.0, y + 11.0)
    }),
    ("connection, attempt or request failed", |c, x, y| {
        c.cross(x + 11.0, y + 6.0)
    }),
    ("hedge: another node is dialled", |c, x, y| {
        c.diamond("hedge", x + 11.0, y + 6.0)
    }),
    ("connection closed as planned", |c, x, y| {
        c.square("end", x + 11.0, y + 6.0);
    }),
    ("list changed", |c, x, y| {
        c.diamond("list", x + 11.0, y + 6.0)
    }),
];

const BARS: [(&str, Shape); 3] = [
    ("answered", |c, x, y| {
        c.rectangle("answered", x + 6.0, y, 10.0, 12.0)
    }),
    ("failed; at a node: not answered", |c, x, y| {
        c.rectangle("failed", x + 6.0, y, 10.0, 12.0);
    }),
    ("sent again", |c, x, y| {
        c.rectangle("retried", x + 6.0, y, 10.0, 12.0)
    }),
];

const ARROWS: [(&str, Shape); 3] = [
    ("request and reply", |c, x, y| {
        let v = start(x + 3.0, y);
        c.path("ask", &format!("{v}l8 12 l8 -12"));
    }),
    ("request lost", |c, x, y| {
        c.line("lost", (x + 3.0, y), (x + 19.0, y + 12.0))
    }),
    ("waits for a node", |c, x, y| {
        c.line("wait", (x, y + 6.0), (x + 22.0, y + 6.0))
    }),
];

impl Picture<'_> {
    pub(super) fn legend(&mut self) {
        self.y += 12.0;
        let requests = if self.arrows { &ARROWS } else { &BARS };
        let items = STATES.iter().chain(&MARKS).chain(requests);
        let mut x = 12.0;
        for (name, shape) in items {
            let wide = 28.0 + width(name, SIZE) + 16.0;
            if x + wide > RIGHT {
                x = 12.0;
                self.y += ROW;
            }
            shape(&mut self.canvas, x, self.y);
            let text = (x + 28.0, self.y + 10.0);
            self.canvas.text("", text.0, text.1, Anchor::Start, name);
            x += wide;
        }
        self.y += ROW;
    }
}
