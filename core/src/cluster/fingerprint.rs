//! Which states behave alike.
//!
//! Each part adds what it knows, with all its fields named: a new field does not compile before someone
//! has decided whether it can influence what comes out later.

use core::{cmp::Reverse, hash::Hasher};

use super::{Run, digest::Digest};
use crate::{Cluster, Instant, collections::IndexedHeap, request::Place};

impl Cluster {
    /// A number for all that can influence what this cluster puts out from now on: two clusters with one
    /// configuration and one seed that have the same fingerprint give, to the same calls at the same
    /// distance from now, the same outputs. It is there to explore state spaces: as `Cluster` is
    /// `Clone`, one can try every call in every state, and stop at states that were seen before.
    ///
    /// The same means: but for what only names things. Times count from now. Ids are equal by index,
    /// whatever their generation, and all stale ids are equal; serials count back from the next one of
    /// their connection. Of numbers that only rise, the order matters; of counters that no longer have an
    /// effect above some value, that value. Statistics, and what only getters show (the time of a node's
    /// last failure, the names of nodes that have just left), are not in it. What a caller knows beside
    /// the cluster, such as which frames a transport holds, is part of its state too, and is the caller's
    /// to add.
    ///
    /// It errs on one side: states that differ only in history without effect may have different
    /// fingerprints. Two unlike states have the same one with a chance of 2⁻⁶⁴: among a million states
    /// the chance of any such pair is 1 to 37 million, among a hundred million 1 to 3,700.
    ///
    /// It is meant between a drain and the next call. Outputs that still wait are in it as they are, with
    /// their ids and times. It visits everything, allocates a little, and is the same on every platform;
    /// another version of this crate or of the compiler may have other fingerprints.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial::{Cluster, Config, Instant, Jitter, RequestOptions};
    ///
    /// let config = Config::builder().jitter(Jitter::None).build()?;
    /// let run = |start: Instant| {
    ///     let mut cluster = Cluster::new(config.clone(), 7, start);
    ///     cluster.set_nodes(start, &["10.0.0.1:9092".parse().unwrap()]).unwrap();
    ///     let later = start + Duration::from_secs(1);
    ///     cluster.submit(later, RequestOptions::new()).unwrap();
    ///     cluster.drive(later, |_, _output| {});
    ///     cluster
    /// };
    /// let (cluster, later) = (run(Instant::ORIGIN), run(Instant::from_millis(500)));
    /// assert_eq!(cluster.fingerprint(), later.fingerprint());
    ///
    /// let mut waited = cluster.clone();
    /// waited.handle_timeout(waited.now() + Duration::from_nanos(1));
    /// assert_ne!(cluster.fingerprint(), waited.fingerprint());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut digest = Digest::new(self);
        self.digest(&mut digest);
        digest.finish()
    }

    fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            // The caller's to compare.
            config: _,
            seed: _,
            // All times are relative to it.
            now: _,
            run,
            timers,
            outputs,
            stats: _,
            // Of it only the order of the numbers that are in use, each with its owner.
            sequence: _,
            nodes,
            attempts,
            connections,
            // Links are read along their lists.
            connection_links: _,
            ready,
            refused_at,
            dialable,
            resting,
            wanted,
            governor,
            throttled,
            setups,
            failed_last,
            last_failure,
            ready_nodes,
            setup_nodes,
            any_attempts,
            rejected_nodes,
            rejected_resting,
            limits,
            past_limit,
            probe_by_request,
            sticky,
            session,
            // Follow from the nodes' entries and their connections' addresses.
            by_key: _,
            by_endpoint: _,
            by_peer: _,
            sources,
            departed,
            // Only to be read.
            leavers: _,
            // Tells apart what is seen within one update of the list.
            update: _,
            // Empty but for its room.
            entries: _,
            requests,
            // Each with its request. Their indices are nobody's business.
            extras: _,
            // Each with its connection. The same.
            flights: _,
            // Who is in them, with the requests; in which order, by their numbers.
            any_queue: _,
            queue_positions: _,
            fail_fast: _,
            fail_fast_positions: _,
            delayed,
            delayed_links,
            request_deadlines,
            request_links,
            queue_ages,
            age_links,
            flight_links: _,
            attempt_deadlines,
            attempt_links: _,
            stalls,
            stall_links,
            waiting,
            waiting_bytes,
            in_flight,
            tombstones,
            retry_budget,
            selection_rng,
            dial_order_rng,
            retry_rng,
            age_rng,
            hint_rng,
            to_serve,
            set_aside,
            setup_failures_now,
            wants_another,
            // Armed timers are read in their order.
            dial_timer: _,
            limit_timer: _,
            session_timer: _,
            shutdown_timer: _,
        } = self;
        match run {
            Run::Running => to.add(0),
            Run::Draining(until) => {
                to.add(1);
                to.deadline(*until);
            }
            Run::Terminated => to.add(2),
        }
        timers.digest(to);
        outputs.digest(to);

        nodes.digest(to, |to, node| node.digest(to));
        attempts.digest(to, |to, attempt| attempt.digest(to));
        connections.digest(to, |to, connection| connection.digest(to));
        ready.digest(to);
        to.add(*refused_at == Some(ready.version()));
        to.all(dialable.by_id(), |to, (n, key)| {
            to.add(n);
            key.digest(to);
        });
        resting.digest(to);
        to.all(wanted.by_id(), |to, (n, key)| {
            to.add(n);
            key.digest(to);
        });
        governor.digest(to);
        digest_times(throttled, to);
        to.all(setups.by_id(), |to, (a, Reverse((_, number)))| {
            // Since when, its attempt says.
            to.add(a);
            to.number(number);
        });
        to.all(failed_last.by_id(), |to, (n, (number, _))| {
            to.add((n, number == 0));
            to.number(number);
        });
        to.add(last_failure.is_some());
        if let Some((node, ending)) = last_failure {
            to.node(*node);
            to.add(ending);
        }
        to.add((ready_nodes, setup_nodes, any_attempts));
        to.add((rejected_nodes, rejected_resting));
        digest_times(limits, to);
        to.all(past_limit.iter(), |to, id| {
            to.connection(*id);
        });
        digest_times(probe_by_request, to);
        to.add(sticky.is_some());
        if let Some(sticky) = sticky {
            sticky.digest(to);
        }
        to.add(session.is_some());
        if let Some(session) = session {
            session.digest(to);
        }
        sources.digest(to);
        departed.digest(to);

        requests.digest(to, |to, request| request.digest(to));
        to.all(requests.iter(), |to, (r, _)| self.digest_waiting(r, to));
        to.all(delayed.iter(delayed_links), |to, r| to.add(r));
        request_deadlines.digest(request_links, to, |to, r| to.add(r));
        queue_ages.digest(age_links, to, |to, r| to.add(r));
        attempt_deadlines.digest(to);
        stalls.digest(stall_links, to, |to, c| to.add(c));
        to.add((waiting, waiting_bytes, in_flight, tombstones));
        to.add(retry_budget.as_ref().map(|budget| budget.level(self.now)));

        for rng in [selection_rng, dial_order_rng, retry_rng, age_rng, hint_rng] {
            to.add(rng);
        }
        to.add((to_serve, set_aside, setup_failures_now, wants_another));
    }

    fn digest_waiting(&self, r: u32, to: &mut Digest<'_>) {
        let queued = self.queue_positions.contains(r);
        to.add((queued, self.fail_fast_positions.contains(r)));
        if let Place::Flight(f) = self.requests[r].place() {
            let flight = &self.flights[f];
            to.add(flight.connection);
            to.serial(flight.connection, flight.serial);
        }
    }
}

/// Times of things, of which several may be due at once: these come in the order of the heap.
fn digest_times(times: &IndexedHeap<Instant>, to: &mut Digest<'_>) {
    to.all(times.iter(), |to, (at, id)| {
        to.add(id);
        to.exact(at);
    });
}
