//! What the caller says with a request.

use crate::{Limit, NodeId};

/// Which node a request is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Target {
    /// Whichever the selection policy picks.
    #[default]
    Any,
    /// This one and no other.
    Node(NodeId),
}

/// What a request asks for (SEMANTICS 4.1).
///
/// ```
/// use core::time::Duration;
/// use redial::{Limit, RequestOptions};
///
/// let options = RequestOptions::new()
///     .timeout(Limit::After(Duration::from_secs(2)))
///     .idempotent();
/// assert!(options.idempotent);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[must_use]
pub struct RequestOptions {
    /// Any node, or one. Default: any.
    pub target: Target,
    /// For everything, from `submit`. Default: [`Config::delivery_timeout`]. Zero completes as a
    /// timeout in that call and is never written.
    ///
    /// [`Config::delivery_timeout`]: crate::Config::delivery_timeout
    pub timeout: Option<Limit>,
    /// For one attempt, from its hand-over. Default: [`Config::request_timeout`]. A shorter one
    /// gives up this request alone, as a cancel does; a longer one replaces the configured one.
    ///
    /// [`Config::request_timeout`]: crate::Config::request_timeout
    pub request_timeout: Option<Limit>,
    /// Carrying it out twice does no harm, so it may be tried again after it was written.
    /// Default: no.
    pub idempotent: bool,
    /// It fails, with the last failure, as soon as every node, or its own node, has failed an
    /// attempt since the submit. Default: no.
    pub fail_fast: bool,
    /// There is a reply. Default: yes. Without, it completes as Sent when the transport has wholly
    /// accepted it.
    pub expects_reply: bool,
    /// Its size, counted against [`Config::queue_max_bytes`]. Default: 0, not known.
    ///
    /// [`Config::queue_max_bytes`]: crate::Config::queue_max_bytes
    pub bytes: u32,
}

impl RequestOptions {
    /// For any node, with the configured timeouts.
    pub const fn new() -> Self {
        Self {
            target: Target::Any,
            timeout: None,
            request_timeout: None,
            idempotent: false,
            fail_fast: false,
            expects_reply: true,
            bytes: 0,
        }
    }

    /// For this node and no other.
    pub const fn on(self, node: NodeId) -> Self {
        Self {
            target: Target::Node(node),
            ..self
        }
    }

    /// With this time for everything.
    pub fn timeout(self, timeout: impl Into<Limit>) -> Self {
        Self {
            timeout: Some(timeout.into()),
            ..self
        }
    }

    /// With this time for one attempt.
    pub fn request_timeout(self, timeout: impl Into<Limit>) -> Self {
        Self {
            request_timeout: Some(timeout.into()),
            ..self
        }
    }

    /// May be carried out twice.
    pub const fn idempotent(self) -> Self {
        Self {
            idempotent: true,
            ..self
        }
    }

    /// Fails as soon as no node can be reached.
    pub const fn fail_fast(self) -> Self {
        Self {
            fail_fast: true,
            ..self
        }
    }

    /// Has no reply.
    pub const fn without_reply(self) -> Self {
        Self {
            expects_reply: false,
            ..self
        }
    }

    /// Has this size.
    pub const fn bytes(self, bytes: u32) -> Self {
        Self { bytes, ..self }
    }
}

impl Default for RequestOptions {
    fn default() -> Self {
        Self::new()
    }
}
