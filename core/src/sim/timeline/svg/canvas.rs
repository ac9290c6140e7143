//! Shapes on a page: a thin layer over the elements of the crate `svg`.

use std::{format, string::String};

use svg::{
    Document, Node,
    node::element::{Definitions, Group, Line, Path, Pattern, Rectangle, Style, Text},
};

/// Colours are of Okabe and Ito's palette, which the colour-blind tell apart; height and pattern say
/// the same again, for print in grey.
const STYLE: &str = "
svg { background: #fff; font-family: sans-serif; }
text { font-size: 11px; fill: #222; }
.title { font-size: 16px; font-weight: bold; }
.heading { font-size: 12px; font-weight: bold; }
.small { font-size: 10px; fill: #555; }
.strong { font-weight: bold; }
.grid { stroke: #dcdcdc; }
.axis { stroke: #444; }
.paper { fill: #fff; fill-opacity: .85; }
.rule { stroke: #bbb; }
.idle { stroke: #777; }
.unlisted { stroke: #999; stroke-dasharray: 1 5; }
.ready { fill: #56b4e9; }
.setup { fill: #f0e442; stroke: #333; stroke-width: .6; }
.resting { fill: url(#dots); stroke: #888; stroke-width: .6; }
.rejected { fill: #222; }
.draining { fill: #0a5a8a; }
.throttled { fill: url(#bars); stroke: #7a4f00; stroke-width: .6; }
.unhealthy { fill: url(#cross); stroke: #6b2f52; stroke-width: .6; }
.fault { fill: #fbe0d2; stroke: #d55e00; }
.edge-line { stroke: #d55e00; }
.edge { fill: #d55e00; }
.hatch { fill: url(#hatch); }
.veil { fill: #d55e00; fill-opacity: .12; }
.name { fill: #6e2c00; font-weight: bold; }
.answered { fill: #0072b2; }
.failed { fill: url(#lines); }
.retried { fill: #cc79a7; }
.slowest { fill: none; stroke: #222; }
.ask { fill: none; stroke: #0072b2; }
.lost { fill: none; stroke: #d55e00; stroke-width: 1.4; stroke-dasharray: 4 2; }
.cross { fill: none; stroke: #9c2f00; stroke-width: 1.8; }
.wait { stroke: #0072b2; stroke-width: 5; stroke-opacity: .35; }
.mark { stroke: #222; }
.hedge { fill: #e69f00; stroke: #222; stroke-width: .8; }
.list { fill: #009e73; stroke: #222; stroke-width: .8; }
.refresh { fill: #009e73; }
.end { fill: #222; stroke: #fff; stroke-width: .6; }
";

/// Where a text stands relative to its point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A page that is being drawn, from the back to the front.
pub(super) struct Canvas {
    group: Group,
}

/// How wide a text is in DejaVu Sans; other sans-serif fonts are narrower.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let letter = |letter: char| match letter {
        'i' | 'j' | 'l' => 0.28,
        ' ' | '.' | ',' | ':' | ';' | '·' => 0.34,
        '(' | ')' | '-' | 't' | 'f' | 'r' | 'I' => 0.41,
        'm' | 'w' | '%' | '→' | '×' | '+' | '−' | 'M' | 'W' => 0.97,
        'A'..='Z' => 0.75,
        _ => 0.64,
    };
    text.chars().map(letter).sum::<f64>() * size
}

/// The same in bold.
pub(super) fn bold_width(text: &str, size: f64) -> f64 {
    width(text, size) * 1.13
}

/// To a tenth of a pixel: more cannot be seen, and makes the file long.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

impl Canvas {
    pub(super) fn new() -> Self {
        Self {
            group: Group::new(),
        }
    }

    pub(super) fn rectangle(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        self.group.append(
            Rectangle::new()
                .set("class", class)
                .set("x", round(x))
                .set("y", round(y))
                .set("width", round(width))
                .set("height", round(height)),
        );
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.group.append(
            Line::new()
                .set("class", class)
                .set("x1", round(from.0))
                .set("y1", round(from.1))
                .set("x2", round(to.0))
                .set("y2", round(to.1)),
        );
    }

    pub(super) fn path(&mut self, class: &str, data: &str) {
        if !data.is_empty() {
            self.group
                .append(Path::new().set("class", class).set("d", data));
        }
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let mut element = Text::new(text).set("x", round(x)).set("y", round(y));
        if !class.is_empty() {
            element = element.set("class", class);
        }
        element = match anchor {
            Anchor::Start => element,
            Anchor::Middle => element.set("text-anchor", "middle"),
            Anchor::End => element.set("text-anchor", "end"),
        };
        self.group.append(element);
    }

    /// A diamond around a point.
    pub(super) fn diamond(&mut self, class: &str, x: f64, y: f64) {
        self.path(class, &format!("{}l4 4 l-4 4 l-4 -4z", start(x, y - 4.0)));
    }

    /// A cross around a point.
    pub(super) fn cross(&mut self, x: f64, y: f64) {
        self.path(
            "cross",
            &format!("{}l6 6 m0 -6 l-6 6", start(x - 3.0, y - 3.0)),
        );
    }

    /// A square around a point.
    pub(super) fn square(&mut self, class: &str, x: f64, y: f64) {
        self.rectangle(class, x - 3.0, y - 3.0, 6.0, 6.0);
    }

    /// A triangle that points down to a point.
    pub(super) fn pointer(&mut self, class: &str, x: f64, y: f64) {
        self.path(class, &format!("{}l-4 -9 h8z", start(x, y)));
    }

    /// What was drawn on another page is drawn on this one.
    pub(super) fn layer(&mut self, other: Self) {
        self.group.append(other.group);
    }

    pub(super) fn finish(self, title: &str, width: f64, height: f64) -> String {
        let stripes = |id: &str, size: u32| {
            Pattern::new()
                .set("id", id)
                .set("width", size)
                .set("height", size)
                .set("patternUnits", "userSpaceOnUse")
        };
        let stroke = |data: &str, colour: &str| {
            Path::new()
                .set("d", data)
                .set("stroke", colour)
                .set("fill", "none")
        };
        let field = |colour: &str| {
            Rectangle::new()
                .set("width", 8)
                .set("height", 8)
                .set("fill", colour)
        };
        let patterns = Definitions::new()
            .add(stripes("hatch", 6).add(
                stroke("M0 6 L6 0 M-1 1 L1 -1 M5 7 L7 5", "#d55e00").set("stroke-opacity", 0.55),
            ))
            .add(
                stripes("dots", 4)
                    .add(field("#e8e8e8"))
                    .add(stroke("M1 1 h1 M3 3 h1", "#666")),
            )
            .add(
                stripes("bars", 4)
                    .add(field("#e69f00"))
                    .add(stroke("M2 0 v4", "#7a4f00")),
            )
            .add(
                stripes("lines", 3)
                    .add(field("#d55e00"))
                    .add(stroke("M0 2.5 h3", "#fff")),
            )
            .add(
                stripes("cross", 4)
                    .add(field("#cc79a7"))
                    .add(stroke("M0 0 l4 4 M4 0 l-4 4", "#6b2f52")),
            );
        let (width, height) = (round(width), round(height));
        let document = Document::new()
            .set("width", width)
            .set("height", height)
            .set("viewBox", format!("0 0 {width} {height}"))
            .add(svg::node::element::Title::new(title))
            .add(Style::new(STYLE))
            .add(patterns)
            .add(
                Rectangle::new()
                    .set("width", width)
                    .set("height", height)
                    .set("fill", "#fff"),
            )
            .add(self.group);
        format!("{document}\n")
    }
}

/// The beginning of a path.
pub(super) fn start(x: f64, y: f64) -> String {
    format!("M{} {}", round(x), round(y))
}

/// A line in a path to a point.
pub(super) fn to(x: f64, y: f64) -> String {
    format!("L{} {}", round(x), round(y))
}

/// A rectangle in a path that stands on a point.
pub(super) fn bar(x: f64, y: f64, width: f64, height: f64) -> String {
    let (width, height) = (round(width), round(height));
    format!("{}v-{height}h{width}v{height}z", start(x, y))
}
