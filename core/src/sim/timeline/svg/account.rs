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
        let recovered = incident.recovered();
        let mut parts = vec![incident.noticed(), incident.requests(), incident.traffic()];
        if recovered != "–" {
            parts.push(recovered);
        }
        parts.push(format!(
            "longest without an answer {}",
            Human(incident.silence)
        ));
        for line in wrap(&parts, RIGHT - 28.0) {
            self.y += LINE;
            self.canvas.text("", 28.0, self.y, Anchor::Start, &line);
        }
    }

    fn columns(&mut self, incidents: &[Incident]) {
        let half = incidents.len().div_ceil(2);
        for (place, incident) in incidents.iter().enumerate() {
            let (x, row) = match place < half {
                true => (12.0, place),
                false => (WIDTH / 2.0, place - half),
            };
            let y = self.y + LINE * (row + 1) as f64;
            let (number, name) = (incident.number, incident.name());
            let heading = format!("{number} {name} · {}", incident.place());
            self.canvas.text("name", x, y, Anchor::Start, &heading);
            let x = x + bold_width(&heading, SIZE) + 8.0;
            let mut parts = vec![incident.noticed(), incident.recovered()];
            if incident.lost + incident.unsent > 0 {
                parts.insert(1, incident.requests());
            }
            let end = if place < half {
                WIDTH / 2.0 - 8.0
            } else {
                RIGHT
            };
            let lines = wrap(&parts, end - x);
            let mut text = lines.first().cloned().unwrap_or_default();
            if lines.len() > 1 {
                text.push('…');
            }
            self.canvas.text("", x, y, Anchor::Start, &text);
        }
        self.y += LINE * half as f64;
    }
}

/// Parts on as few lines as hold them, joined by dots; a part that is too long has a line alone.
fn wrap(parts: &[String], wide: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width(line, SIZE) + width(part, SIZE) + 20.0 <= wide => {
                *line += &format!(" · {part}");
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}
