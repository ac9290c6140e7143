//! Random configurations that make sense.

use proptest::{collection::vec, prelude::*};
use redial::Config;
use redial_tests::lab::{Chance, Dialect, config::any as any_config};

/// More than a configuration takes; the rest would be zeros, which make the simplest.
const NUMBERS: usize = 80;

/// Any configuration, with times from milliseconds to half a minute.
pub(crate) fn config() -> impl Strategy<Value = Config> {
    vec(any::<u32>(), NUMBERS).prop_map(|numbers| {
        let mut chance = Chance::given(numbers);
        let dialect = Dialect::draw(&mut chance);
        any_config(&mut chance, &dialect)
    })
}
