//! A session that the servers keep across connections (SEMANTICS 8.6).

use core::time::Duration;

use super::Digest;
use crate::{Cluster, Instant, timers::Timer};

/// A session is over when nothing was heard for 4/3 of its timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    timeout: Duration,
    heard: Instant,
}

impl Session {
    pub(super) fn digest(&self, to: &mut Digest<'_>) {
        let Self { timeout, heard } = self;
        to.add(timeout);
        to.exact(*heard);
    }
}

impl Cluster {
    /// The handshake said how long a session lasts. Setup shares and keepalives follow at once.
    pub(crate) fn session_begins(&mut self, timeout: Option<Duration>) {
        let Some(timeout) = timeout else {
            return;
        };
        let heard = self.now;
        self.session = Some(Session { timeout, heard });
        self.arm_session();
        self.share_setup_time();
        let mut next = self.ready_connection_from(0);
        while let Some(c) = next {
            self.arm_keepalive(c);
            next = self.ready_connection_from(c + 1);
        }
    }

    /// The timeout that the last handshake gave, if any did.
    pub(crate) fn session_timeout(&self) -> Option<Duration> {
        self.session.map(|session| session.timeout)
    }

    /// Something was heard from a server.
    pub(crate) fn session_heard(&mut self) {
        if let Some(session) = &mut self.session {
            session.heard = self.now;
            self.arm_session();
        }
    }

    fn arm_session(&mut self) {
        let at = match &self.session {
            Some(session) => session.heard + session.timeout.saturating_mul(4) / 3,
            None => Instant::MAX,
        };
        self.timers.set(&mut self.session_timer, at, Timer::Session);
    }

    pub(super) fn session_timed_out(&mut self) {
        self.timers.clear(&mut self.session_timer);
        mutant!(IgnoresSessionEnd => return);
        self.end_session(None);
    }

    pub(super) fn forget_session(&mut self) {
        self.session = None;
        self.timers.clear(&mut self.session_timer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::tests::{assert_all_differ, idle};

    #[test]
    fn a_session_is_in_the_fingerprint() {
        const SECOND: Duration = Duration::from_secs(1);
        let mut cluster = idle().cluster;
        let (timeout, heard) = (SECOND, cluster.now);
        cluster.session = Some(Session { timeout, heard });
        assert_all_differ(
            &cluster,
            &[
                ("none", |c| c.session = None),
                ("timeout", |c| {
                    c.session.as_mut().unwrap().timeout += SECOND;
                }),
                ("the last word", |c| {
                    c.session.as_mut().unwrap().heard += SECOND;
                }),
            ],
        );
    }
}
