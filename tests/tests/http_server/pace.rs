//! 7.3: how often the server is asked.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use redial::driver::{Retrieval, ServerSource};
use redial_tests::{nginx::Nginx, waiting::until};
use redial_tokio::HttpSource;
use tokio::time::Instant;

use crate::support::{Rig, often, source};

/// When each retrieval began and ended.
type Times = Arc<Mutex<Vec<(Instant, Instant)>>>;

struct Timed(HttpSource, Times);

impl ServerSource for Timed {
    fn retrieve(&self) -> Retrieval {
        let (start, retrieval, times) = (Instant::now(), self.0.retrieve(), Arc::clone(&self.1));
        Box::pin(async move {
            let answer = retrieval.await;
            times
                .lock()
                .expect("no panic")
                .push((start, Instant::now()));
            answer
        })
    }
}

const N: Duration = Duration::from_millis(150);
const R: Duration = Duration::from_millis(100);

/// Never sooner; later by less than 100 ms, for which a busy machine has three tries. Exactly, on
/// virtual time, in `semantics::rule_7_refresh`.
#[tokio::test]
async fn the_gaps_between_retrievals_are_the_interval_and_its_jitter() {
    let mut longest = Duration::MAX;
    for _ in 0..3 {
        let Some(nginx) = Nginx::start("") else {
            return;
        };
        let gaps = gaps(&nginx).await;
        assert!(gaps.iter().all(|gap| *gap >= N), "{gaps:?}");
        longest = longest.min(gaps.into_iter().max().expect("some"));
        if longest < N + R + Duration::from_millis(100) {
            return;
        }
    }
    panic!("{longest:?}");
}

/// From the end of each retrieval to the start of the next, as the client has it, after looking that
/// nginx has it so too.
async fn gaps(nginx: &Nginx) -> Vec<Duration> {
    nginx.write("servers", "a:1\n");
    let times = Times::default();
    let timed = Timed(source(&nginx.url("/servers")), Arc::clone(&times));
    let config = often().refresh_interval(N).refresh_jitter(R);
    let _rig = Rig::with(timed, config.refresh_min_interval(Duration::from_millis(1)));
    until(|| times.lock().expect("no panic").len() >= 12).await;
    let times = times.lock().expect("no panic").clone();
    let requests = nginx.requests();
    let (seen, made) = (requests.len(), times.len());
    assert!((made..=made + 1).contains(&seen), "{seen}, not {made}");
    let mut gaps = requests
        .windows(2)
        .map(|pair| pair[1].start() - pair[0].end);
    // Its clock counts milliseconds, and rounds.
    assert!(gaps.all(|gap| gap > N.as_secs_f64() - 0.005));
    times.windows(2).map(|pair| pair[1].0 - pair[0].1).collect()
}

/// 7.3: without a node that is Ready, at the pace of the retries.
#[tokio::test]
async fn a_server_that_fails_is_not_asked_more_often_than_is_allowed() {
    let Some(nginx) = Nginx::start("location / { return 500; }") else {
        return;
    };
    let start = Instant::now();
    let rig = Rig::new(source(&nginx.url("/servers")));
    until(|| rig.client.stats().refreshes_failed >= 10).await;
    let periods = start.elapsed().as_millis() / 100;
    let requests = nginx.requests().len() as u128;
    assert!(
        (10..=periods + 2).contains(&requests),
        "{requests} in {periods} periods"
    );
}
