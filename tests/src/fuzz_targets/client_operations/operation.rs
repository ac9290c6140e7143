//! What an embedder does, as a fuzzer draws it. An index counts from the newest, and goes round.

use std::time::Duration;

use arbitrary::Arbitrary;
use redial::{CloseError, ConnectError, HandshakeError, Limit, Next, RequestOptions, Verdict};

/// A client and what is done with it.
#[derive(Arbitrary, Debug)]
pub(super) struct Operations {
    /// Chooses the protocol and the configuration; zeros are the simplest.
    pub(super) choices: [u8; 64],
    pub(super) seed: u8,
    pub(super) operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug)]
pub(super) enum Operation {
    // Commands.
    Submit(Submitted),
    AwaitReady(Submitted),
    Cancel(u8),
    SetNodes(List),
    SetFallback(List),
    Hint(Hinted),
    Shutdown(Time),
    // Facts.
    Resolved(u8, [u8; 2]),
    ResolveFailed(u8),
    Connected(u8),
    ConnectFailed(u8, Refusal),
    Closed(u8, End),
    WriteBlocked(u8),
    Refreshed(u8, Option<u8>, List),
    RefreshFailed(u8),
    // Bytes.
    /// So many of the bytes that are to be sent leave.
    Write(u8, u8),
    /// More are said to have left than there are.
    WriteTooMuch(u8),
    /// The server answers all that it has heard.
    Answer(u8),
    /// The server says something.
    Say(u8, Said),
    /// Of what the server said, so many bytes come.
    Read(u8, u8),
    /// Bytes that nobody said.
    Nonsense(u8, [u8; 2]),
    // Time.
    /// Time passes, though nothing that is due is done until the next operation.
    Pass(Time),
    ToDeadline,
    /// The clock goes back.
    Back(Time),
    /// The outputs of the next operation wait until after the one behind it.
    Undrained,
}

/// Up to an hour.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) struct Time(u8);

impl Time {
    pub(super) fn length(self) -> Duration {
        let millis = u64::from(self.0 & 15) << (self.0 >> 4);
        Duration::from_millis(millis * 8)
    }
}

/// Which of the servers there are, by bits.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) struct List(pub(super) u8);

impl List {
    /// All with an address of their own, and one name.
    pub(super) const ALL: Self = Self(0b100_0111);
}

#[derive(Arbitrary, Debug)]
pub(super) struct Submitted {
    pub(super) on: Option<u8>,
    timeout: Option<Time>,
    request_timeout: Option<Time>,
    bits: u8,
}

impl Submitted {
    pub(super) fn options(&self) -> RequestOptions {
        let limit = |time: Time| Limit::After(time.length());
        let mut options = RequestOptions::new();
        options.timeout = self.timeout.map(limit);
        options.request_timeout = self.request_timeout.map(limit);
        options.idempotent = self.bits & 1 > 0;
        options.fail_fast = self.bits & 2 > 0;
        options.expects_reply = self.bits & 4 == 0;
        options.bytes = if self.bits & 8 > 0 { 1_000_000 } else { 0 };
        options
    }

    pub(super) const fn is_encodable(&self) -> bool {
        self.bits & 16 == 0
    }
}

#[derive(Arbitrary, Debug)]
pub(super) enum Hinted {
    NetworkChanged,
    Resumed,
    NodeUp(u8),
    NodeDown(u8),
    SourceChanged(u8),
}

#[derive(Arbitrary, Debug)]
pub(super) enum Said {
    Welcome(Option<u8>, Option<Time>),
    Refused(Handshake),
    /// To one of the requests that were heard.
    Reply(u8, Meaning, Option<Time>),
    /// To a request that may be none.
    WildReply(u8, Meaning),
    Push,
    Throttle(Time),
    Goodbye,
    Pong,
    Servers(Option<u8>, List),
    NoServers,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) struct Meaning {
    bits: u8,
    after: Time,
}

impl From<Meaning> for Verdict {
    fn from(Meaning { bits, after }: Meaning) -> Self {
        Self {
            next: [
                Next::Done,
                Next::RetryHere,
                Next::RetryElsewhere,
                Next::Done,
            ][usize::from(bits & 3)],
            after: after.length(),
            not_executed: bits & 4 > 0,
            refresh: bits & 8 > 0,
        }
    }
}

macro_rules! errors {
    ($name:ident: $of:ident { $($error:ident)* }) => {
        #[derive(Arbitrary, Clone, Copy, Debug)]
        pub(super) enum $name {
            $($error,)*
        }

        impl From<$name> for $of {
            fn from(error: $name) -> Self {
                match error {
                    $($name::$error => Self::$error,)*
                }
            }
        }
    };
}

errors!(Refusal: ConnectError { Refused Unreachable Reset Other });
errors!(End: CloseError { Peer Io Protocol });
errors!(Handshake: HandshakeError { Closed Malformed Version Tls Rejected Fatal });
