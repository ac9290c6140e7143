//! A client of one server that says what the test wants, without sockets.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use redial::{Config, RequestId, RequestOptions, Source};
use redial_tests::{
    rig,
    zookeeper::jute::{Push, Reply, Request, ServerError, ZooKeeper},
};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(9);
pub(crate) const ID: i64 = 0x0102_0304_0506_0708;

pub(crate) type Seen = rig::Seen<Result<Reply, ServerError>, Push>;

/// A client whose transport is up.
pub(crate) struct Rig(rig::Rig<ZooKeeper>);

impl Rig {
    /// The wish for a session is not yet sent.
    pub(crate) fn greeting() -> Self {
        Self::with(ZooKeeper::new(TIMEOUT), Config::zookeeper(TIMEOUT))
    }

    /// The cluster itself is asked for its servers.
    pub(crate) fn discovering() -> Self {
        let config = Config::zookeeper(TIMEOUT).to_builder();
        let config = config.sources([Source::discovery()]).build();
        let mut rig = Self::with(ZooKeeper::new(TIMEOUT), config.expect("valid"));
        rig.establish();
        rig
    }

    pub(crate) fn with(protocol: ZooKeeper, config: Config) -> Self {
        Self(rig::Rig::new(protocol, config, "127.0.0.1:2181"))
    }

    /// There is a session.
    pub(crate) fn ready() -> Self {
        let mut rig = Self::greeting();
        rig.establish();
        rig
    }

    fn establish(&mut self) {
        self.written();
        let seen = self.read(&welcome(9_000, ID));
        assert!(matches!(seen[..], [Seen::Ready, Seen::Push(_)]), "{seen:?}");
    }

    /// The peer closes, and the client connects again; the wish for a session is not yet sent.
    pub(crate) fn reconnect(&mut self) {
        self.0.reconnect(Duration::from_millis(2_001));
    }

    /// Submits a request and returns what is written of it.
    pub(crate) fn send(&mut self, request: Request) -> (RequestId, Vec<u8>) {
        self.send_with(request, RequestOptions::new())
    }

    pub(crate) fn send_with(
        &mut self,
        request: Request,
        options: RequestOptions,
    ) -> (RequestId, Vec<u8>) {
        let id = self.submit(request, options);
        self.drain();
        (id, self.written())
    }
}

impl Deref for Rig {
    type Target = rig::Rig<ZooKeeper>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Rig {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

// What a server says.

pub(crate) fn int(value: i32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

pub(crate) fn long(value: i64) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

pub(crate) fn buffer(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [&int(bytes.len().try_into().expect("short"))[..], bytes].concat()
}

pub(crate) fn frame(parts: &[Vec<u8>]) -> Vec<u8> {
    buffer(parts.concat())
}

/// It has a session for us.
pub(crate) fn welcome(timeout: i32, id: i64) -> Vec<u8> {
    frame(&[int(0), int(timeout), long(id), buffer([7; 16]), vec![0]])
}

/// It answers.
pub(crate) fn reply(xid: i32, zxid: i64, error: i32, body: &[Vec<u8>]) -> Vec<u8> {
    frame(&[int(xid), long(zxid), int(error), body.concat()])
}

/// A watch tells.
pub(crate) fn watch_event(kind: i32, path: &str) -> Vec<u8> {
    reply(-1, -1, 0, &[int(kind), int(3), buffer(path)])
}

/// About a node: its last number is `children_zxid`.
pub(crate) fn stat() -> Vec<u8> {
    [
        long(1),
        long(2),
        long(3),
        long(4),
        int(5),
        int(6),
        int(7),
        long(8),
        int(9),
        int(10),
        long(11),
    ]
    .concat()
}
