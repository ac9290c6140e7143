//! Broken cores: faults that can be put into this one, to prove that the checkers find them; and a few
//! for the driver, for its models.
//!
//! Compiled only under `--cfg redial_mutant`; without it nothing of this is there.

use core::{
    fmt,
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};

use crate::{
    Cause, Cluster, Deadline, DeadlineReason, Instant, Reason, collections::NONE, node::DialFor,
    request::Place, timers::Timer,
};

/// Which fault the cores of this process have: its number, from 1.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// Gives all cores of this process a fault, or takes it away again.
pub fn choose(mutant: Option<Mutant>) {
    let number = mutant.map_or(0, |mutant| mutant as u8 + 1);
    CHOSEN.store(number, Ordering::Relaxed);
}

#[inline]
pub(crate) fn is(mutant: Mutant) -> bool {
    CHOSEN.load(Ordering::Relaxed) == mutant as u8 + 1
}

/// Declares the enum with lists of all its variants, the core's and the driver's.
macro_rules! mutants {
    ($($(#[doc = $doc:literal])* $name:ident,)*; $($(#[doc = $of_driver:literal])* $driver:ident,)*) => {
        /// One fault.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Mutant {
            $($(#[doc = $doc])* $name,)*
            $($(#[doc = $of_driver])* $driver,)*
        }

        impl Mutant {
            /// Those of the core, which the simulator's checkers find.
            pub const CORE: &[Self] = &[$(Self::$name,)*];
            /// Those of the driver, which its models find.
            pub const DRIVER: &[Self] = &[$(Self::$driver,)*];
        }
    };
}

mutants! {
    // Requests.
    /// A slot that is free is not counted as free.
    LeaksSlot,
    /// A success is told twice.
    CompletesTwice,
    /// A cancelled request does not complete.
    ForgetsCancelled,
    /// A request whose deadline has come goes on.
    OutlivesDeadline,
    /// A retry has the whole time of its request anew.
    RestartsDeadline,
    /// What was handed over is told as never written.
    DeniesHandOver,
    /// In a protocol without correlation ids, the reply to a request that was given up goes to the next.
    RepliesOffByOne,
    /// A cancelled request's slot is free before its reply came.
    FreesCancelled,
    /// A tombstone has no attempt deadline.
    KeepsTombstones,
    /// A Write whose request has ended may still be started.
    WritesEnded,
    /// A request is handed over after its deadline, if that is when it was submitted.
    WritesOverdue,
    /// A request that is handed over at once is also queued.
    WritesTwice,
    /// A frame that is begun is withdrawn with the rest when its connection drains.
    WithdrawsBegun,
    /// A request bound to a node is queued for any.
    LosesTarget,
    /// What is not idempotent is tried again as if it were.
    RetriesUnsafe,
    /// A retry is written to where its unfinished frame is.
    WritesBesideItself,
    /// There is no limit on attempts.
    IgnoresMaxAttempts,
    /// Retries cost nothing.
    IgnoresRetryBudget,
    /// An unhealthy connection stays so.
    NeverHeals,
    /// A serial is left out.
    SkipsSerial,
    /// The peer's limit of requests in flight is ignored.
    IgnoresPeerLimit,
    /// A second throttle halves what is left of the first.
    ShortensThrottle,
    /// A request that reaches the queue's age limit goes on waiting.
    IgnoresQueueAge,
    /// Requests bound to a node go on waiting when it has a slot again.
    ForgetsWaiting,
    /// A request that waits no more is still counted.
    CountsWaitingOn,

    // Nodes and connections.
    /// The handshake has no deadline.
    ForgetsHandshakeDeadline,
    /// The failures are forgotten when the transport is up.
    ResetsAtConnect,
    /// A node that rests is dialled.
    DialsInBackoff,
    /// A hint sets a rest's end, also to later.
    LengthensRest,
    /// A failure counts as two.
    CountsFailureTwice,
    /// A planned close counts as a failure.
    CountsPlannedClose,
    /// A dial that has lost its race, or is given up, is not aborted.
    ForgetsToAbort,
    /// A connection that is given up is not closed.
    ForgetsToClose,
    /// The end of a connection is no event.
    ForgetsDisconnected,
    /// A look-up that has been answered is aborted.
    AbortsAnsweredLookUp,
    /// The state Handshaking is not told.
    SkipsHandshaking,
    /// A connection drains for its whole time, and any number of a node do.
    LetsManyDrain,
    /// A connection that drains is not closed in time.
    DrainsForEver,
    /// A connection whose peer has said goodbye is used further.
    IgnoresGoodbye,
    /// With a lost connection a request on another one fails.
    FailsOthers,
    /// With a connection that is given up a request on another one fails.
    GivesUpOthers,
    /// Nobody is dialled for requests that name no node.
    ForgetsToDial,
    /// No second node is dialled beside a slow one.
    ForgetsToHedge,
    /// Warm nodes are not dialled.
    ForgetsWarm,
    /// Any number of attempts may be under way.
    IgnoresConcurrency,
    /// Any number of attempts may begin in a second.
    IgnoresRate,

    // Upkeep.
    /// A probe without an answer is forgotten.
    IgnoresUnanswered,
    /// A second probe is sent beside the first.
    ProbesTwice,
    /// A silent peer is not asked.
    NeverAsks,
    /// A connection past its limit still gets requests.
    UsesStale,
    /// A connection has no age.
    KeepsOld,
    /// A transport that accepts no bytes is given more time.
    IgnoresWriteStall,
    /// The session of a silent cluster goes on.
    IgnoresSessionEnd,

    // Lists.
    /// An empty list removes all nodes.
    TakesEmptyList,
    /// A node is dialled while it leaves.
    DialsLeaver,
    /// Requests bound to a node that leaves go on waiting.
    WaitsForLeaver,
    /// A node that nobody names any more stays.
    KeepsLeaver,
    /// The last new entry of a list is overlooked.
    OverlooksEntry,
    /// An equal list rebalances a client that sticks to one node.
    RebalancesForEqual,
    /// A refresh that is asked for too early is forgotten.
    LosesDeferredRefresh,
    /// A source is asked again while it is being asked.
    RefreshesTwice,
    /// There is no shortest interval between refreshes.
    RefreshesTooOften,
    /// A refresh comes before its time.
    RefreshesEarly,
    /// A refresh without a reason comes never again.
    RefreshesOnce,
    /// A refresh has no timeout.
    AwaitsRefreshForEver,

    // Deadlines and the end.
    /// A request's deadline is told a millisecond late.
    TellsDeadlineLate,
    /// Of several deadlines that are due one is handled.
    HandlesOneDeadline,
    /// An early timeout has an effect.
    ActsEarly,
    /// A node is dialled after the shutdown.
    DialsAfterShutdown,
    /// The end of the drain does not end the client.
    ShutsDownForEver,
    /// The end is told twice.
    EndsTwice,
    ;
    // The driver's hand-over.
    /// The driver looks for something to do, and only then says whom to wake.
    RegistersLate,
    /// A handle wakes the driver before it has called the client.
    WakesBeforeCall,
    /// A source wakes the driver before it is on the list.
    ListsAfterWaking,
    /// A connection's wake-up during its own turn is forgotten.
    ForgetsWakeUp,
    /// A request that is complete still has a waker.
    KeepsWaker,
    /// A future that has moved to another task is woken where it was.
    KeepsFirstWaker,
    /// Who waits for the end does so though it has come.
    AwaitsPastEnd,
    /// A feed that is begun after the end does not end.
    FeedsPastEnd,
    /// A receiver looks for items under one lock, and goes to sleep under another.
    SleepsUnlocked,
    /// A client that gives up a shared retrieval does not tell the others.
    GivesUpSilently,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What some faults do, where a line is not enough.
impl Cluster {
    pub(crate) fn restart_deadline(&mut self, r: u32) {
        let (links, timers) = (&mut self.request_links, &mut self.timers);
        if let Some(timeout) = self.request_deadlines.timeout(links, r) {
            self.request_deadlines.remove(links, timers, r);
            let timer = |class| Timer::Request { class };
            self.request_deadlines
                .push(links, timers, (r, self.now, timeout), timer);
        }
    }

    /// Fails a request on some Ready connection.
    pub(crate) fn fail_another(&mut self, cause: Cause) {
        let other = self.ready_connection_from(0);
        let flight = other.and_then(|c| self.connections[c].flights.first());
        if let Some(r) = flight.map(|f| self.flights[f].request)
            && r != NONE
        {
            self.give_up(r, Reason::Disconnected(cause));
        }
    }

    pub(crate) fn late_deadline(&self, at: Instant, reason: DeadlineReason) -> Deadline {
        let at = at + Duration::from_millis(1);
        Deadline { at, reason }
    }

    pub(crate) fn halve_throttle(&mut self, n: u32) {
        let node = &mut self.nodes[n];
        let until = self.now + (node.throttled_until - self.now) / 2;
        node.throttled_until = until;
        self.throttled.set(until, n);
        let timer = Timer::ThrottleEnd { node: n };
        self.timers.set(&mut node.throttle_timer, until, timer);
    }

    pub(crate) fn queue_for_any(&mut self, r: u32) {
        self.requests[r].set_place(Place::AnyQueue);
        let seq = self.requests[r].seq;
        self.any_queue.push(&mut self.queue_positions, seq, r);
    }

    pub(crate) fn dial_somebody(&mut self) {
        if let Some(n) = self.next_dialable() {
            self.dial(n, DialFor::Itself);
        }
    }

    /// They are in no queue, and complete with their deadlines.
    pub(crate) fn forget_waiting_for(&mut self, n: u32) {
        while let Some((_, r)) = self.nodes[n].queue.peek() {
            self.take_from_queue(r);
            self.leave_fail_fast(r);
            self.requests[r].set_place(Place::Overdue);
        }
    }

    pub(crate) fn dial_leaver(&mut self, n: u32) {
        if self.nodes[n].state.is_idle() {
            self.dial(n, DialFor::Itself);
        }
    }
}
