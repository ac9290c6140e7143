//! Kind `backoff`: delays without jitter.

use std::time::Duration;

use redial::Backoff;
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Vector {
    base_ms: u64,
    max_ms: u64,
    multiplier: u32,
    /// The recorded values were computed in floating point.
    tolerance_ms: u64,
    delays_ms: Vec<u64>,
}

impl Vector {
    pub(super) fn replay(&self) -> Result<(), String> {
        let ms = Duration::from_millis;
        let backoff = Backoff::new(ms(self.base_ms), ms(self.max_ms), self.multiplier);
        for (k, expected) in (0..).zip(&self.delays_ms) {
            let came = backoff.delay(k);
            if came.abs_diff(ms(*expected)) > ms(self.tolerance_ms) {
                return Err(format!("delay {k}: expected {expected} ms, came {came:?}"));
            }
        }
        Ok(())
    }
}
