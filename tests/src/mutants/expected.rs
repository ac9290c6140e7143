//! Which rule each fault breaks first.

use redial::mutant::Mutant;

/// The rule that must catch a core with this fault.
#[must_use]
pub const fn rule_of(mutant: Mutant) -> &'static str {
    match mutant {
        Mutant::LeaksSlot => "in flight are the open requests and the tombstones (DESIGN 4.3)",
        Mutant::CompletesTwice | Mutant::ForgetsCancelled => {
            "every accepted request completes exactly once (DESIGN 4.1)"
        }
        Mutant::OutlivesDeadline => "a request does not outlive its deadline (DESIGN 4.14)",
        Mutant::DeniesHandOver => {
            "an outcome says how often and whether it was handed over (SEMANTICS 4.8)"
        }
        Mutant::RepliesOffByOne => "a reply reaches only the request it answers (DESIGN 4.2)",
        Mutant::FreesCancelled => {
            "a request cancelled after its hand-over keeps its slot (SEMANTICS 4.9)"
        }
        Mutant::KeepsTombstones => "a tombstone ends with its attempt deadline (SEMANTICS 4.5)",
        Mutant::WritesEnded => "what ended before its hand-over is never written (DESIGN 4.15)",
        Mutant::WritesOverdue => "a request past its deadline is never handed over (SEMANTICS 1.1)",
        Mutant::WritesTwice => "a request is in one place (SEMANTICS 4.3)",
        Mutant::WithdrawsBegun => "a frame that is begun is not withdrawn (DESIGN 4.15)",
        Mutant::LosesTarget => "a bound request is written to its node only (SEMANTICS 4.1)",
        Mutant::RetriesUnsafe => {
            "what is not idempotent is tried again only if it was not executed (SEMANTICS 4.7)"
        }
        Mutant::WritesBesideItself => {
            "a retry is not written beside its own unfinished frame (SEMANTICS 4.5)"
        }
        Mutant::IgnoresMaxAttempts => {
            "no request is tried more often than it may be (SEMANTICS 4.7)"
        }
        Mutant::IgnoresRetryBudget => "each retry is paid for by the budget (SEMANTICS 4.7)",
        Mutant::NeverHeals => "a reply heals its connection (SEMANTICS 5.3)",
        Mutant::SkipsSerial => "serials rise by one on a connection (SEMANTICS 4.4)",
        Mutant::IgnoresPeerLimit => "no more are in flight than is allowed (SEMANTICS 4.3)",
        Mutant::ShortensThrottle => "a throttled node gets no new request (SEMANTICS 4.6)",
        Mutant::ForgetsWaiting => {
            "a request does not wait beside a node that could take it (SEMANTICS 5.1)"
        }
        Mutant::CountsWaitingOn => "at the end nothing is in flight (DESIGN 4.3)",
        Mutant::ForgetsHandshakeDeadline => "an attempt has a deadline (DESIGN 4.4)",
        Mutant::ResetsAtConnect => {
            "failures are forgotten when the connection has proved useful (SEMANTICS 3.3)"
        }
        Mutant::DialsInBackoff => "no attempt starts before the next-attempt time (DESIGN 4.5)",
        Mutant::LengthensRest => {
            "a hint shortens a rest, to no more than the base backoff (SEMANTICS 8.5)"
        }
        Mutant::CountsFailureTwice | Mutant::CountsPlannedClose => {
            "one failure counts once, a planned close not at all (DESIGN 4.8)"
        }
        Mutant::ForgetsToAbort | Mutant::ForgetsToClose => {
            "each Connect ends in one Close, Abort or reported end (DESIGN 4.7)"
        }
        Mutant::ForgetsDisconnected => {
            "each Connected event pairs with one Disconnected (DESIGN 4.7)"
        }
        Mutant::AbortsAnsweredLookUp => "each Resolve is answered or aborted once (DESIGN 4.7)",
        Mutant::SkipsHandshaking => "a node changes its state as the table says (SEMANTICS 2.1)",
        Mutant::LetsManyDrain => {
            "a node has one connection, and at most two that drain (SEMANTICS 2.1)"
        }
        Mutant::IgnoresGoodbye => "only a Ready connection is written to (SEMANTICS 2.1)",
        Mutant::FailsOthers => "no failure of a node touches a request of another (DESIGN 4.13)",
        Mutant::GivesUpOthers => {
            "a request is disconnected only with its own connection (DESIGN 4.13)"
        }
        Mutant::ForgetsToDial => {
            "while a request waits, what can be dialled for it is (DESIGN 4.6)"
        }
        Mutant::ForgetsToHedge => {
            "while a request waits for slow attempts, one more node is dialled (SEMANTICS 3.7)"
        }
        Mutant::ForgetsWarm => "nodes that are kept warm are dialled (SEMANTICS 2.2)",
        Mutant::IgnoresConcurrency => {
            "no more young attempts are under way than are allowed (SEMANTICS 3.6)"
        }
        Mutant::IgnoresRate => "no more attempts begin than there are tokens (SEMANTICS 3.6)",
        Mutant::IgnoresUnanswered => {
            "a probe that nothing answers closes its connection in time (SEMANTICS 8.2)"
        }
        Mutant::ProbesTwice => "at most one probe is out on a connection (SEMANTICS 4.10)",
        Mutant::NeverAsks => "a silent peer is asked (SEMANTICS 8.2)",
        Mutant::UsesStale => "a connection past a limit is not handed out (SEMANTICS 8.1)",
        Mutant::KeepsOld => "an old connection is replaced (SEMANTICS 8.4)",
        Mutant::IgnoresWriteStall => {
            "a transport that accepts nothing is closed in time (SEMANTICS 8.3)"
        }
        Mutant::IgnoresSessionEnd => {
            "a session of which nothing is heard ends in time (SEMANTICS 8.6)"
        }
        Mutant::TakesEmptyList => "a list that is refused changes nothing (DESIGN 4.16)",
        Mutant::DialsLeaver => "a removed node is left alone (DESIGN 4.12)",
        Mutant::WaitsForLeaver => "no request waits for a node that has left (SEMANTICS 7.6)",
        Mutant::KeepsLeaver => "a node is in the list because a source names it (SEMANTICS 7.2)",
        Mutant::OverlooksEntry => "whoever a primary source names is in the list (SEMANTICS 7.2)",
        Mutant::RebalancesForEqual => "an equal list rebalances nobody (SEMANTICS 7.7)",
        Mutant::LosesDeferredRefresh => {
            "a hint that a source has changed is not lost (SEMANTICS 7.4)"
        }
        Mutant::RefreshesTwice => "one refresh of a source is under way (SEMANTICS 7.3)",
        Mutant::RefreshesTooOften => "refreshes begin the shortest interval apart (SEMANTICS 7.4)",
        Mutant::RefreshesEarly => "without a trigger a refresh waits for its time (SEMANTICS 7.3)",
        Mutant::RefreshesOnce => "a refresh begins at its time (SEMANTICS 7.3)",
        Mutant::AwaitsRefreshForEver => "a refresh ends at its timeout (SEMANTICS 7.3)",
        Mutant::RestartsDeadline
        | Mutant::IgnoresQueueAge
        | Mutant::DrainsForEver
        | Mutant::TellsDeadlineLate => {
            "the deadline is not later than what must happen (DESIGN 4.10)"
        }
        Mutant::HandlesOneDeadline => "after a timeout the next deadline is later (DESIGN 4.9)",
        Mutant::ActsEarly => "an early or repeated timeout does nothing (DESIGN 4.11)",
        Mutant::DialsAfterShutdown => "after shutdown nothing new begins (SEMANTICS 9.2)",
        Mutant::ShutsDownForEver => "a shutdown ends with its drain (SEMANTICS 9.1)",
        Mutant::EndsTwice => "after Terminated there is nothing (SEMANTICS 9.2)",
        Mutant::RegistersLate
        | Mutant::WakesBeforeCall
        | Mutant::ListsAfterWaking
        | Mutant::ForgetsWakeUp
        | Mutant::KeepsWaker
        | Mutant::KeepsFirstWaker
        | Mutant::AwaitsPastEnd
        | Mutant::FeedsPastEnd
        | Mutant::SleepsUnlocked
        | Mutant::GivesUpSilently => "a model of the driver's hand-over (core/src/driver/models)",
    }
}
