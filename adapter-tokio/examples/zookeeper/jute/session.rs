//! What outlives a connection: the session, how far it has read, and what it watches.

use std::{collections::BTreeSet, mem, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use redial::{HandshakeError, Limits, client::Malformed};

use super::{
    Change, Push,
    codec::{Reader, put_bool, put_buffer},
    request::encode_set_watches,
};

/// A server takes no request of 1 MiB, so the watches are set in several, of this size at most if no
/// path is longer.
const SET_WATCHES_BYTES: usize = 128 * 1024;

/// A session, or the wish for one.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Session {
    /// What is asked for.
    timeout: Duration,
    /// 0 as long as there is none.
    id: i64,
    password: Bytes,
    /// The last transaction that was seen. A server that has not come so far refuses us, so that we
    /// do not see the past after the present.
    zxid: i64,
    /// Nodes that are there and are watched.
    watched: BTreeSet<String>,
    /// Nodes that are watched and are not there.
    awaited: BTreeSet<String>,
}

/// What a server makes of our wish for a session.
pub(super) enum Welcome {
    Session(Limits, Push),
    Refused(HandshakeError),
}

impl Session {
    pub(super) const fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            id: 0,
            password: Bytes::new(),
            zxid: 0,
            watched: BTreeSet::new(),
            awaited: BTreeSet::new(),
        }
    }

    /// Appends what is said first on a connection: which session we have, or that we want one.
    pub(super) fn ask(&self, out: &mut BytesMut) {
        out.put_i32(0);
        out.put_i64(self.zxid);
        out.put_i32(i32::try_from(self.timeout.as_millis()).unwrap_or(i32::MAX));
        out.put_i64(self.id);
        put_buffer(out, &self.password);
        // A server without a quorum is of no use.
        put_bool(out, false);
    }

    /// The answer to that.
    pub(super) fn answered(&mut self, mut body: Reader) -> Result<Welcome, Malformed> {
        let _version = body.int()?;
        let timeout = u64::try_from(body.int()?).unwrap_or(0);
        let (id, password) = (body.long()?, body.buffer()?);
        // Whether the server is read-only may follow; those before 3.4 do not say it.
        if timeout == 0 {
            return Ok(Welcome::Refused(HandshakeError::Fatal));
        }
        let resumed = self.id != 0;
        if id == 0 || (resumed && id != self.id) {
            return Err(Malformed("another session than the one that was asked for"));
        }
        (self.id, self.password) = (id, password);
        let timeout = Duration::from_millis(timeout);
        let limits = Limits::NONE.with_session(timeout);
        let push = Push::Session {
            id,
            timeout,
            resumed,
        };
        Ok(Welcome::Session(limits, push))
    }

    /// A reply says how far its server has come.
    pub(super) fn seen(&mut self, zxid: i64) {
        self.zxid = self.zxid.max(zxid);
    }

    /// This node is watched from now on.
    pub(super) fn watch(&mut self, path: String, is_there: bool) {
        match is_there {
            true => self.watched.insert(path),
            false => self.awaited.insert(path),
        };
    }

    /// A watch told of this change, as it does once.
    pub(super) fn changed(&mut self, path: &str, change: Change) {
        self.watched.remove(path);
        if change != Change::Deleted {
            self.awaited.remove(path);
        }
    }

    /// Watches end with their connection. Calls `send` with what sets them anew on the next one.
    pub(super) fn renew_watches(&self, mut send: impl FnMut(&mut dyn FnMut(&mut BytesMut))) {
        let (mut data, mut absent, mut size) = (Vec::new(), Vec::new(), 0);
        let mut flush = |data: Vec<String>, absent: Vec<String>| {
            if !(data.is_empty() && absent.is_empty()) {
                send(&mut |out| encode_set_watches(out, self.zxid, &data, &absent));
            }
        };
        let watched = self.watched.iter().map(|path| (path, true));
        for (path, is_there) in watched.chain(self.awaited.iter().map(|path| (path, false))) {
            size += 4 + path.len();
            if size > SET_WATCHES_BYTES {
                flush(mem::take(&mut data), mem::take(&mut absent));
                size = 4 + path.len();
            }
            match is_there {
                true => data.push(path.clone()),
                false => absent.push(path.clone()),
            }
        }
        flush(data, absent);
    }
}
