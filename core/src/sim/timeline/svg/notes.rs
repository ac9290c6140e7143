//! What happened to a node.

use std::{format, string::String, vec, vec::Vec};

use super::{
    LEFT, Picture, RIGHT,
    canvas::{Anchor, width},
    labels::Rows,
};
use crate::{Cause, Event, NodeState};

/// The same that happens again within this is told together.
const TOGETHER: f64 = 110.0;

impl Picture<'_> {
    /// What happened to a node.
    pub(super) fn notes(&self, index: usize) -> Vec<Note> {
        let moments = self.timeline.moments().iter();
        let here = moments.filter(|moment| moment.lane == Some(index));
        let mut notes: Vec<Note> = Vec::new();
        for (at, (kind, words)) in here.filter_map(|moment| Some((moment.at, note(&moment.event)?)))
        {
            let x = self.x(at);
            match notes.iter_mut().rev().find(|note| note.kind == kind) {
                Some(note) if note.words == words && x - note.last() < TOGETHER => note.xs.push(x),
                _ => notes.push(Note {
                    kind,
                    words,
                    xs: vec![x],
                }),
            }
        }
        notes.sort_by(|a, b| a.kind.cmp(&b.kind).then(a.first().total_cmp(&b.first())));
        notes
    }

    /// Marks at the edge of the band, and words below where there is room.
    pub(super) fn draw_notes(&mut self, notes: &[Note], down: f64) {
        for note in notes {
            let mut before = f64::MIN;
            for &x in &note.xs {
                match note.kind {
                    Kind::Hedge => self.front.diamond("hedge", x, down),
                    Kind::Planned => self.front.square("end", x, down),
                    // A cross for each of a hundred attempts would be a black bar.
                    Kind::Failed | Kind::Lost if x - before < 7.0 => continue,
                    Kind::Failed | Kind::Lost => self.front.cross(x, down),
                }
                before = x;
            }
        }
        if self.small {
            return;
        }
        let mut rows = Rows::new(1, LEFT, RIGHT);
        for note in notes {
            let words = match note.xs.len() {
                1 => note.words.clone(),
                times => format!("{} ×{times}", note.words),
            };
            let most = 140.0 + note.last() - note.first();
            if let Some(at) = rows.shift(note.first(), most, &words) {
                let wide = width(&words, 10.0) + 2.0;
                let front = &mut self.front;
                front.rectangle("paper", at - 1.0, down + 3.5, wide, 11.0);
                front.text("small", at, down + 12.0, Anchor::Start, &words);
            }
        }
    }
}

/// What happened to a node, once or many times in a row.
pub(super) struct Note {
    kind: Kind,
    words: String,
    /// Where; at least one.
    xs: Vec<f64>,
}

impl Note {
    fn first(&self) -> f64 {
        self.xs.first().copied().unwrap_or(LEFT)
    }

    fn last(&self) -> f64 {
        self.xs.last().copied().unwrap_or(LEFT)
    }
}

/// What is written first where room is scarce.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Lost,
    Hedge,
    Planned,
    Failed,
}

/// What is written of an event.
fn note(event: &Event) -> Option<(Kind, String)> {
    match event {
        Event::StateChanged {
            cause: Some(Cause::Shutdown),
            ..
        } => None,
        Event::StateChanged {
            from: NodeState::Ready,
            cause: Some(cause),
            ..
        } => {
            let planned = cause.is_planned();
            let kind = if planned { Kind::Planned } else { Kind::Lost };
            Some((kind, format!("{cause}")))
        }
        Event::AttemptStarted { hedge: true, .. } => Some((Kind::Hedge, String::from("hedge"))),
        Event::AttemptEnded {
            cause: Some(cause), ..
        } if !cause.is_planned() => Some((Kind::Failed, format!("{cause}"))),
        _ => None,
    }
}
