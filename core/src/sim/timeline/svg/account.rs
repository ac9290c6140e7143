//! Below the lanes: what the client did about each fault, in words.

use std::{format, string::String, vec, vec::Vec};

use super::{
    Picture, RIGHT, WIDTH,
    canvas::{Anchor, bold_width, width},
    labels::SIZE,
};
use crate::sim::timeline::{Human, Incident};

/// The height of a line.
const LINE: f64 = 15.0;
/// Lines that go on begin so far to the right.
const INDENT: f64 = 18.0;
/// More faults than these are told in one line each, in two columns.
const FULL: usize = 14;

impl Picture<'_> {
    pub(super) fn account(&mut self) {
        if self.incidents.is_empty() {
            return;
        }
        self.y += 14.0;
        let heading = "What the client did about each fault";
        self.canvas
            .text("heading", 12.0, self.y, Anchor::Start, heading);
        self.y += 4.0;
        let incidents = core::mem::take(&mut self.incidents);
        match incidents.len() <= FULL {
            true => incidents
                .iter()
                .for_each(|incident| self.paragraph(incident)),
            false => self.columns(&incidents),
        }
    }

    fn paragraph(&mut self, incident: &Incident) {
        let (number, name) = (incident.number, incident.name());
        let heading = format!("{number} {name} · {} · {}", incident.whom, incident.time());
        self.y += LINE + 3.0;
        self.canvas
            .text("name", 12.0, self.y, Anchor::Start, &heading);
        let mut parts = vec![incident.noticed()];
        parts.extend(incident.requests());
        parts.push(incident.traffic());
        parts.extend(incident.recovered());
        parts.push(format!(
            "longest without an answer {}",
            Human(incident.silence)
        ));
        for line in wrap(&parts, RIGHT - 28.0, RIGHT - 28.0) {
            self.y += LINE;
            self.canvas.text("", 28.0, self.y, Anchor::Start, &line);
        }
    }

    /// What matters most of each, on as few lines as hold it.
    fn columns(&mut self, incidents: &[Incident]) {
        let (left, right) = incidents.split_at(incidents.len().div_ceil(2));
        let top = self.y;
        let mut lowest = top;
        for (x, incidents) in [(12.0, left), (WIDTH / 2.0 + 6.0, right)] {
            self.y = top;
            incidents
                .iter()
                .for_each(|incident| self.short(incident, x));
            lowest = lowest.max(self.y);
        }
        self.y = lowest;
    }

    fn short(&mut self, incident: &Incident, x: f64) {
        let (number, name) = (incident.number, incident.name());
        let heading = format!("{number} {name} · {}", incident.place());
        let mut parts = vec![incident.noticed()];
        if incident.lost + incident.unsent > 0 {
            parts.extend(incident.requests());
        }
        parts.extend(incident.recovered());
        let after = bold_width(&heading, SIZE) + 8.0;
        let wide = WIDTH / 2.0 - 20.0;
        self.canvas
            .text("name", x, self.y + LINE, Anchor::Start, &heading);
        let lines = wrap(&parts, wide - after, wide - INDENT);
        for (number, line) in lines.iter().enumerate() {
            let indent = if number == 0 { after } else { INDENT };
            self.y += LINE;
            self.canvas
                .text("", x + indent, self.y, Anchor::Start, line);
        }
    }
}

/// Parts on as few lines as hold them, joined by dots; the first line is `first` wide, the others `rest`.
/// A part that is too long has a line alone.
fn wrap(parts: &[String], first: f64, rest: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in parts {
        let room = if lines.len() == 1 { first } else { rest };
        match lines.last_mut() {
            Some(line) if line.is_empty() && width(part, SIZE) <= room => *line += part,
            Some(line) if width(line, SIZE) + width(part, SIZE) + 20.0 <= room => {
                *line += &format!(" · {part}");
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_share_a_line_until_it_is_full() {
        let parts = ["one", "two", "three"].map(String::from);
        assert_eq!(wrap(&parts, 500.0, 500.0), ["one · two · three"]);
        assert_eq!(wrap(&parts, 70.0, 500.0), ["one · two", "three"]);
        assert_eq!(wrap(&parts, 1.0, 500.0), ["", "one · two · three"]);
    }
}
