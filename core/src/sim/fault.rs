//! What can go wrong.

use core::time::Duration;

use serde::{Deserialize, Serialize};

/// Something that goes wrong, for as long as the schedule says. Faults of one server add up; when one
/// ends the others stay.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fault {
    // The server.
    /// It is down: its connections are reset, new ones refused. Afterwards it has been started anew.
    Crash,
    /// Its process is stopped, as by SIGSTOP: its system still accepts connections and bytes, but
    /// nothing reads or answers them until it goes on.
    Pause,
    /// It answers everything so much later.
    Slow(Duration),
    /// It reads everything and answers nothing, not even a handshake. Afterwards it answers what it
    /// has read.
    Mute,
    /// It is about to go: it says so on each connection, accepts no new one, and hangs up a second
    /// later on whoever is still there.
    Drain,
    /// With each answer it asks for no requests for so long.
    Throttle(Duration),
    /// It refuses whoever greets it: the credentials are wrong.
    RejectCredentials,
    /// It answers with bytes that mean nothing.
    Garble,

    // The network between the clients and the server.
    /// Nobody listens at its address.
    Refuse,
    /// There is no route to its address.
    Unreachable,
    /// Dials are lost without an answer. Connections that are up are not affected.
    BlackHole,
    /// All its connections are reset, once.
    Reset,
    /// All its connections die without a word to either side, once, as when a NAT forgets them.
    HalfOpen,
    /// Nothing passes, dials included. What was sent arrives when the fault is over, as TCP sends it
    /// again and again.
    Partition(Way),
    /// The bytes of connections stop, as with a window of zero; dials are answered.
    Stall(Way),
    /// Everything takes longer, in each direction: so much, and up to so much more, by chance.
    Latency {
        /// What is added for certain.
        by: Duration,
        /// And up to so much more.
        jitter: Duration,
    },
    /// So many bytes a second pass, in each direction and on each connection, 1,400 at a time. At least
    /// 1. When it is over, what was held up comes at once.
    Bandwidth(u32),
    /// Bytes come and go a few at a time.
    Fragment,

    // Names.
    /// The server's name cannot be resolved.
    NameFails,
    /// The resolver does not answer for the server's name.
    NameHangs,
    /// The server's name has no address.
    NameIsEmpty,
    /// The server's name leads to this server's address.
    NameMoves(u32),

    // Sources of server lists.
    /// The server is not on the list.
    NotListed,
    /// The list cannot be retrieved, whatever the target.
    ListFails,
    /// The list is not answered, whatever the target.
    ListHangs,
    /// The list is empty, whatever the target.
    ListIsEmpty,

    // The client's machine, whatever the target.
    /// It sleeps: its clients are given no time and hear nothing; afterwards all comes at once.
    Sleep,
}

/// In which direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From clients to the server.
    ToServer,
    /// From the server to clients.
    ToClient,
    /// Both.
    Both,
}

/// Whom a fault strikes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The server with this number, from 0; modulo their number.
    Server(u32),
    /// All of them.
    All,
}

impl Fault {
    /// What kind it is, without its values: the name in a schedule's text.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Pause => "pause",
            Self::Slow(_) => "slow",
            Self::Mute => "mute",
            Self::Drain => "drain",
            Self::Throttle(_) => "throttle",
            Self::RejectCredentials => "reject-credentials",
            Self::Garble => "garble",
            Self::Refuse => "refuse",
            Self::Unreachable => "unreachable",
            Self::BlackHole => "black-hole",
            Self::Reset => "reset",
            Self::HalfOpen => "half-open",
            Self::Partition(_) => "partition",
            Self::Stall(_) => "stall",
            Self::Latency { .. } => "latency",
            Self::Bandwidth(_) => "bandwidth",
            Self::Fragment => "fragment",
            Self::NameFails => "name-fails",
            Self::NameHangs => "name-hangs",
            Self::NameIsEmpty => "name-is-empty",
            Self::NameMoves(_) => "name-moves",
            Self::NotListed => "not-listed",
            Self::ListFails => "list-fails",
            Self::ListHangs => "list-hangs",
            Self::ListIsEmpty => "list-is-empty",
            Self::Sleep => "sleep",
        }
    }

    /// Whether it happens at one instant, whatever its duration.
    #[must_use]
    pub const fn is_instant(self) -> bool {
        matches!(self, Self::Reset | Self::HalfOpen)
    }

    /// Whether it strikes the same, whatever its target: the lists and the client's machine.
    #[must_use]
    pub const fn has_no_target(self) -> bool {
        matches!(
            self,
            Self::ListFails | Self::ListHangs | Self::ListIsEmpty | Self::Sleep
        )
    }
}
