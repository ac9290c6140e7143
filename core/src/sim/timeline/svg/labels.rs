//! Marks with labels, where there is room for them.

use std::{vec, vec::Vec};

use super::canvas::width;

/// The size of the labels' font.
pub(super) const SIZE: f64 = 11.0;
/// What is left free after a label.
const GAP: f64 = 8.0;

/// Rows of labels of which none lies on another.
pub(super) struct Rows {
    taken: Vec<Vec<(f64, f64)>>,
    left: f64,
    right: f64,
}

impl Rows {
    pub(super) fn new(rows: usize, left: f64, right: f64) -> Self {
        Self {
            taken: vec![Vec::new(); rows],
            left: left - 6.0,
            right,
        }
    }

    /// Takes room for a mark and a label beside it: the row, and where the label begins. It stands right
    /// of the mark, or left of it at the right end.
    pub(super) fn place(&mut self, x: f64, mark: f64, label: &str) -> Option<(usize, f64)> {
        let wide = width(label, SIZE);
        let after = x + mark + 3.0;
        let at = match after + wide <= self.right {
            true => after,
            false => x - mark - 3.0 - wide,
        };
        let (from, to) = (at.min(x - mark), (at + wide).max(x + mark) + GAP);
        let row = (0..self.taken.len()).find(|row| self.is_free(*row, from, to))?;
        self.taken[row].push((from, to));
        Some((row, at))
    }

    /// Takes room for a label alone in the first row, at `x` or up to `most` right of it.
    pub(super) fn shift(&mut self, x: f64, most: f64, label: &str) -> Option<f64> {
        let wide = width(label, SIZE);
        let ends = self.taken[0].iter().map(|(_, end)| *end);
        let mut starts: Vec<f64> = ends
            .chain([x])
            .filter(|at| x <= *at && *at <= x + most)
            .collect();
        starts.push(x.min(self.right - wide));
        starts.sort_by(f64::total_cmp);
        let fits = |at: &f64| at + wide <= self.right && self.is_free(0, *at, at + wide + GAP);
        let at = starts.into_iter().find(fits)?;
        self.taken[0].push((at, at + wide + GAP));
        Some(at)
    }

    fn is_free(&self, row: usize, from: f64, to: f64) -> bool {
        let apart = |(a, b): &(f64, f64)| to <= *a || *b <= from;
        self.left <= from && self.taken[row].iter().all(apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lie_beside_each_other_or_in_another_row() {
        let mut rows = Rows::new(2, 0.0, 500.0);
        assert_eq!(rows.place(100.0, 5.0, "hedge"), Some((0, 108.0)));
        assert_eq!(rows.place(120.0, 5.0, "hedge"), Some((1, 128.0)));
        assert_eq!(rows.place(130.0, 5.0, "hedge"), None);
        let (row, at) = rows.place(499.0, 5.0, "hedge").unwrap();
        assert!(
            row == 0 && at < 494.0,
            "it stands left of its mark at the end"
        );
    }

    #[test]
    fn a_label_moves_to_the_right_until_there_is_room() {
        let mut rows = Rows::new(1, 0.0, 500.0);
        let first = rows.shift(100.0, 50.0, "reset").unwrap();
        let end = first + width("reset", SIZE) + GAP;
        assert_eq!(rows.shift(101.0, 50.0, "refused"), Some(end));
        assert_eq!(rows.shift(102.0, 50.0, "refused"), None);
    }
}
