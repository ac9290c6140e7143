//! What a server says.

use std::{fmt, time::Duration};

use bytes::Bytes;
use redial::client::Malformed;

use super::{codec::Reader, request::Kind};

/// What answers a request that was carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// A node's content.
    Data {
        /// The bytes.
        data: Bytes,
        /// About the node.
        stat: Stat,
    },
    /// About a node.
    Stat(Stat),
    /// A node's path.
    Path(String),
    /// Nothing more to say.
    Done,
}

impl Reply {
    pub(super) fn read(kind: Kind, mut body: Reader) -> Result<Self, Malformed> {
        let reply = match kind {
            Kind::Data => Self::Data {
                data: body.buffer()?,
                stat: Stat::read(&mut body)?,
            },
            Kind::Stat => Self::Stat(Stat::read(&mut body)?),
            Kind::Path => Self::Path(body.string()?),
            Kind::Nothing => Self::Done,
        };
        body.end()?;
        Ok(reply)
    }
}

/// What is known of a node besides its content. Times are in ms since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// The transaction that made it.
    pub created_zxid: i64,
    /// The transaction that last changed its content.
    pub modified_zxid: i64,
    /// When it was made.
    pub created: i64,
    /// When its content was last changed.
    pub modified: i64,
    /// How often its content was changed.
    pub version: i32,
    /// How often its children were changed.
    pub children_version: i32,
    /// How often its permissions were changed.
    pub acl_version: i32,
    /// The session that it ends with; 0 for none.
    pub ephemeral_owner: i64,
    /// The length of its content.
    pub data_length: i32,
    /// The number of its children.
    pub children: i32,
    /// The transaction that last changed its children.
    pub children_zxid: i64,
}

impl Stat {
    fn read(from: &mut Reader) -> Result<Self, Malformed> {
        Ok(Self {
            created_zxid: from.long()?,
            modified_zxid: from.long()?,
            created: from.long()?,
            modified: from.long()?,
            version: from.int()?,
            children_version: from.int()?,
            acl_version: from.int()?,
            ephemeral_owner: from.long()?,
            data_length: from.int()?,
            children: from.int()?,
            children_zxid: from.long()?,
        })
    }
}

/// A request was answered and not carried out: ZooKeeper's code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ServerError(pub i32);

impl ServerError {
    /// There is no such node.
    pub const NO_NODE: Self = Self(-101);
    /// The node has another version.
    pub const BAD_VERSION: Self = Self(-103);
    /// There is such a node already.
    pub const NODE_EXISTS: Self = Self(-110);
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NO_NODE => f.write_str("no such node"),
            Self::BAD_VERSION => f.write_str("another version"),
            Self::NODE_EXISTS => f.write_str("there is such a node already"),
            Self(code) => write!(f, "error {code}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// What nobody asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Push {
    /// A connection took up the session, or began it.
    Session {
        /// Its id.
        id: i64,
        /// How long the servers keep it without hearing from us.
        timeout: Duration,
        /// It is the one that we had.
        resumed: bool,
    },
    /// A node that was watched has changed; it is not watched any more.
    Changed {
        /// Its path.
        path: String,
        /// What happened.
        change: Change,
    },
}

/// What happened to a node that was watched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// It was made.
    Created,
    /// It was removed.
    Deleted,
    /// Its content was written.
    Data,
    /// Something else: ZooKeeper's code.
    Other(i32),
}

/// What a watch tells.
pub(super) fn read_change(mut body: Reader) -> Result<(String, Change), Malformed> {
    let change = match body.int()? {
        1 => Change::Created,
        2 => Change::Deleted,
        3 => Change::Data,
        other => Change::Other(other),
    };
    let _state = body.int()?;
    let path = body.string()?;
    body.end()?;
    Ok((path, change))
}
