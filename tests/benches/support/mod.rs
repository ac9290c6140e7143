//! What the benchmarks share: medians of interleaved runs, and a report that knows the aims.

// Each benchmark uses its part.
#![allow(dead_code)]

mod report;

pub(crate) use report::Report;

/// Runs in turn so often, so that a slow moment of the machine meets all alike.
pub(crate) const ROUNDS: usize = 11;

/// Measures something once.
pub(crate) type Subject<'a> = Box<dyn FnMut() -> f64 + 'a>;

/// Measures each of `subjects` once a round. The figures of one subject are one row.
pub(crate) fn interleave(subjects: &mut [Subject<'_>]) -> Vec<Vec<f64>> {
    let mut figures = vec![Vec::with_capacity(ROUNDS); subjects.len()];
    for _ in 0..ROUNDS {
        for (subject, figures) in subjects.iter_mut().zip(&mut figures) {
            figures.push(subject());
        }
    }
    figures
}

/// The middle one.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The median of the pairs' ratios.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
    median(&ratios)
}
