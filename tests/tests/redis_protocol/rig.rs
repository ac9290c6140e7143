//! One connection to a server that says what the test wants, without sockets.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use redial::{Config, RequestId, RequestOptions, Warm};
use redial_tests::{
    redis::resp::{Command, Redis, Value},
    rig,
};

pub(crate) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) type Seen = rig::Seen<Value, Vec<Value>>;

/// A client whose transport is up.
pub(crate) struct Rig {
    rig: rig::Rig<Redis>,
    /// How it marks a push.
    pub(crate) push: char,
}

impl Rig {
    /// The greeting is not yet sent.
    pub(crate) fn greeting(protocol: Redis) -> Self {
        let config = Config::builder()
            .warm(Warm::All)
            .keepalive(true)
            .keepalive_interval(KEEPALIVE_INTERVAL)
            .build()
            .expect("a valid configuration");
        Self {
            rig: rig::Rig::new(protocol, config, "127.0.0.1:6379"),
            push: '>',
        }
    }

    /// RESP3, with the handshake done.
    pub(crate) fn resp3() -> Self {
        Self::ready(Redis::new(), b"%0\r\n")
    }

    /// RESP2, with the handshake done.
    pub(crate) fn resp2() -> Self {
        Self {
            push: '*',
            ..Self::ready(Redis::new().resp2(), b"+PONG\r\n")
        }
    }

    pub(crate) fn ready(protocol: Redis, welcome: &[u8]) -> Self {
        let mut rig = Self::greeting(protocol);
        rig.written();
        assert_eq!(rig.read(welcome), [Seen::Ready]);
        rig
    }

    pub(crate) fn send(&mut self, command: Command) -> RequestId {
        self.send_with(command, RequestOptions::new())
    }

    /// Submits and writes a command.
    pub(crate) fn send_with(&mut self, command: Command, options: RequestOptions) -> RequestId {
        let id = self.submit(command, options);
        assert_eq!(self.drain(), []);
        self.written();
        id
    }

    pub(crate) fn cancel(&mut self, request: RequestId) {
        let now = self.now;
        assert!(self.client.cancel(now, request));
        self.drain();
    }
}

impl Deref for Rig {
    type Target = rig::Rig<Redis>;

    fn deref(&self) -> &Self::Target {
        &self.rig
    }
}

impl DerefMut for Rig {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.rig
    }
}
