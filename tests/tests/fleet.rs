//! A fleet that lost its server does not come back as one.

use redial::Jitter;
use redial_tests::fleet::Fleet;

/// With the default jitter, `Equal`, no twentieth of [v/2, v] holds over a tenth of the first attempts.
#[test]
fn the_default_jitter_spreads_the_first_attempts_of_a_thousand_clients() {
    let fleet = Fleet::lose_their_server(1_000, Jitter::Equal, 7).unwrap();
    let (windows, outside) = fleet.first_attempts();
    assert_eq!((windows.iter().sum::<u32>(), outside), (1_000, 0));
    assert!(fleet.fullest() <= 100, "{windows:?}");
}

/// The measure can fail: without jitter they come together.
#[test]
fn without_jitter_they_come_together() {
    let fleet = Fleet::lose_their_server(100, Jitter::None, 7).unwrap();
    let peak = fleet.attempts_by(std::time::Duration::from_millis(5));
    assert!(peak.into_iter().max() > Some(90));
}
