//! What a client asks for.

use bytes::{BufMut, Bytes, BytesMut};

use super::codec::{put_bool, put_buffer, put_optional, put_strings};

/// The node with the servers of the ensemble, in the form of [`redial::DynamicConfig`].
pub const CONFIG_PATH: &str = "/zookeeper/config";

/// Any version of a node.
const ANY_VERSION: i32 = -1;

/// What `create` allows, and whom: everything, everybody.
const ALL_PERMISSIONS: i32 = 31;

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Makes a node. Answered by [`Reply::Path`](super::Reply::Path).
    Create {
        /// Its path.
        path: String,
        /// Its content.
        data: Bytes,
        /// It ends with the session.
        ephemeral: bool,
    },
    /// Removes a node, if it has this version. Answered by [`Reply::Done`](super::Reply::Done).
    Delete {
        /// Its path.
        path: String,
        /// `None` for any.
        version: Option<i32>,
    },
    /// Looks whether there is such a node. Answered by [`Reply::Stat`](super::Reply::Stat).
    Exists {
        /// Its path.
        path: String,
        /// Push the next change, once; also if there is no such node.
        watch: bool,
    },
    /// Reads a node. Answered by [`Reply::Data`](super::Reply::Data).
    GetData {
        /// Its path.
        path: String,
        /// Push the next change, once.
        watch: bool,
    },
    /// Writes a node, if it has this version. Answered by [`Reply::Stat`](super::Reply::Stat).
    SetData {
        /// Its path.
        path: String,
        /// Its new content.
        data: Bytes,
        /// `None` for any.
        version: Option<i32>,
    },
    /// What is read next is as new as what the leader has now. Answered by
    /// [`Reply::Path`](super::Reply::Path).
    Sync {
        /// What will be read.
        path: String,
    },
    /// Changes the ensemble. Answered by [`Reply::Data`](super::Reply::Data), the new configuration.
    Reconfig {
        /// Servers that join, as in a dynamic configuration, with commas between them.
        joining: Option<String>,
        /// The numbers of those that leave, with commas between them.
        leaving: Option<String>,
    },
    /// Ends the session, and with it the connection. Answered by [`Reply::Done`](super::Reply::Done).
    /// Shut the client down then; otherwise it ends when its next connection says that the session
    /// is over.
    CloseSession,
}

/// Which reply belongs to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Data,
    Stat,
    Path,
    Nothing,
}

impl Request {
    /// Reads a node.
    pub fn get(path: impl Into<String>) -> Self {
        let path = path.into();
        Self::GetData { path, watch: false }
    }

    /// Reads a node and has its next change pushed.
    pub fn watch(path: impl Into<String>) -> Self {
        let path = path.into();
        Self::GetData { path, watch: true }
    }

    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::GetData { .. } | Self::Reconfig { .. } => Kind::Data,
            Self::Exists { .. } | Self::SetData { .. } => Kind::Stat,
            Self::Create { .. } | Self::Sync { .. } => Kind::Path,
            Self::Delete { .. } | Self::CloseSession => Kind::Nothing,
        }
    }

    /// Which node is watched once this is answered.
    pub(super) fn watched(&self) -> Option<&str> {
        match self {
            Self::GetData { path, watch: true } | Self::Exists { path, watch: true } => Some(path),
            _ => None,
        }
    }

    pub(super) fn size(&self) -> usize {
        match self {
            Self::Create { path, data, .. } | Self::SetData { path, data, .. } => {
                path.len() + data.len()
            }
            Self::Delete { path, .. }
            | Self::Exists { path, .. }
            | Self::GetData { path, .. }
            | Self::Sync { path } => path.len(),
            Self::Reconfig { joining, leaving } => {
                let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
                length(joining) + length(leaving)
            }
            Self::CloseSession => 0,
        }
    }

    /// Appends what stands in the frame behind the xid.
    pub(super) fn encode(&self, out: &mut BytesMut) {
        match self {
            Self::Create {
                path,
                data,
                ephemeral,
            } => {
                out.put_i32(1);
                put_buffer(out, path.as_bytes());
                put_buffer(out, data);
                out.put_i32(1);
                out.put_i32(ALL_PERMISSIONS);
                put_buffer(out, b"world");
                put_buffer(out, b"anyone");
                out.put_i32((*ephemeral).into());
            }
            Self::Delete { path, version } => {
                out.put_i32(2);
                put_buffer(out, path.as_bytes());
                out.put_i32(version.unwrap_or(ANY_VERSION));
            }
            Self::Exists { path, watch } | Self::GetData { path, watch } => {
                out.put_i32(if matches!(self, Self::Exists { .. }) {
                    3
                } else {
                    4
                });
                put_buffer(out, path.as_bytes());
                put_bool(out, *watch);
            }
            Self::SetData {
                path,
                data,
                version,
            } => {
                out.put_i32(5);
                put_buffer(out, path.as_bytes());
                put_buffer(out, data);
                out.put_i32(version.unwrap_or(ANY_VERSION));
            }
            Self::Sync { path } => {
                out.put_i32(9);
                put_buffer(out, path.as_bytes());
            }
            Self::Reconfig { joining, leaving } => {
                out.put_i32(16);
                put_optional(out, joining.as_deref());
                put_optional(out, leaving.as_deref());
                put_optional(out, None);
                out.put_i64(-1);
            }
            Self::CloseSession => out.put_i32(-11),
        }
    }
}

/// A ping, behind the xid.
pub(super) fn encode_ping(out: &mut BytesMut) {
    out.put_i32(11);
}

/// Sets watches anew, behind the xid: the server pushes at once what has changed since `zxid`.
pub(super) fn encode_set_watches(
    out: &mut BytesMut,
    zxid: i64,
    data: &[String],
    absent: &[String],
) {
    out.put_i32(101);
    out.put_i64(zxid);
    put_strings(out, data.iter());
    put_strings(out, absent.iter());
    put_strings(out, [].iter());
}
