//! Ways to wait for a client on tokio.

use std::{fmt, future::IntoFuture, time::Duration};

use redial::{RequestError, driver::Error};

/// What a busy machine may take for whatever needs no timer. No test passes by waiting it out.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for what has to come.
///
/// # Panics
///
/// If it does not come in good time.
pub async fn soon<F: IntoFuture>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future.into_future())
        .await
        .unwrap_or_else(|_| panic!("nothing after {PATIENCE:?}"))
}

/// Waits until `condition` holds, which nobody will tell us.
///
/// # Panics
///
/// If it does not in good time.
pub async fn until(mut condition: impl FnMut() -> bool) {
    soon(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// How a request failed that was accepted.
///
/// # Panics
///
/// If it was not, or did not.
pub fn failure<R: fmt::Debug>(result: Result<R, Error>) -> RequestError {
    match result {
        Err(Error::Request(error)) => error,
        other => panic!("a failure of the request was expected: {other:?}"),
    }
}
