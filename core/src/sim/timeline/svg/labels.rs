//! Marks with labels, where there is room for them.

use std::vec::Vec;

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
            taken: std::vec![Vec::new(); rows],
            left,
            right,
        }
    }

    /// Where a mark of this width at `x` has room with a label beside it: the row, and where the label
    /// begins. It stands right of the mark, or left of it at the right end.
    pub(super) fn place(&mut self, x: f64, mark: f64, label: &str) -> Option<(usize, f64)> {
        let wide = width(label, SIZE);
        let after = x + mark + 3.0;
        let at = match after + wide <= self.right {
            true => after,
            false => x - mark - 3.0 - wide,
        };
        if at < self.left {
            return None;
        }
        let (from, to) = (at.min(x - mark), (at + wide).max(x + mark) + GAP);
        let free = |row: &Vec<(f64, f64)>| row.iter().all(|(a, b)| to <= *a || *b <= from);
        let row = self.taken.iter().position(free)?;
        self.taken[row].push((from, to));
        Some((row, at))
    }
}
