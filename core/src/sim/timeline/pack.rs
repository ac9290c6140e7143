//! Things on rows, so that none lies on another.

use std::vec::Vec;

/// For each item, in the order of their starts, the first row in which it has room; then how many rows
/// there are.
pub(super) fn pack<T: Copy + PartialOrd>(items: &[(T, T)]) -> (Vec<usize>, usize) {
    let mut rows: Vec<Vec<(T, T)>> = Vec::new();
    let mut places = Vec::new();
    for &(from, to) in items {
        let free = |row: &Vec<(T, T)>| row.iter().all(|(a, b)| to <= *a || *b <= from);
        let place = rows.iter().position(free).unwrap_or(rows.len());
        if place == rows.len() {
            rows.push(Vec::new());
        }
        rows[place].push((from, to));
        places.push(place);
    }
    (places, rows.len())
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn what_overlaps_has_a_row_of_its_own() {
        let items = [(0, 5), (3, 8), (5, 6), (8, 9)];
        assert_eq!(pack(&items), (vec![0, 1, 0, 0], 2));
    }
}
