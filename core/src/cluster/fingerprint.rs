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

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};
    use core::time::Duration;

    use super::*;
    use crate::{
        Action, Config, ConnectError, ConnectionId, Hint, Input, Jitter, Limits, NodeId, Output,
        ReplyTo, RequestOptions, SelectionPolicy, Verdict, Warm,
    };

    /// A cluster, and who drives it.
    #[derive(Clone)]
    struct Driven {
        cluster: Cluster,
        now: Instant,
        dialled: Vec<ConnectionId>,
        written: Vec<(ConnectionId, u32)>,
    }

    impl Driven {
        fn new(start: u64) -> Self {
            let now = Instant::from_millis(start);
            let config = Config::builder()
                .jitter(Jitter::None)
                .selection(SelectionPolicy::RoundRobin)
                .warm(Warm::None)
                .build()
                .unwrap();
            let mut driven = Self {
                cluster: Cluster::new(config, 1, now),
                now,
                dialled: Vec::new(),
                written: Vec::new(),
            };
            let list = ["10.0.0.1:1", "10.0.0.2:1"].map(|spec| spec.parse().unwrap());
            driven.cluster.set_nodes(now, &list).unwrap();
            driven
        }

        fn drain(&mut self) {
            while let Some(output) = self.cluster.poll_output() {
                match output {
                    Output::Action(Action::Connect { connection, .. }) => {
                        self.dialled.push(connection);
                    }
                    Output::Action(Action::Write {
                        connection, serial, ..
                    }) => self.written.push((connection, serial)),
                    _ => {}
                }
            }
        }

        fn input(&mut self, input: Input) {
            self.cluster.handle_input(self.now, input);
            self.drain();
        }

        fn submit(&mut self, options: RequestOptions) -> crate::RequestId {
            let request = self.cluster.submit(self.now, options).unwrap();
            self.drain();
            request
        }

        fn wait(&mut self, time: Duration) {
            self.now += time;
            self.cluster.handle_timeout(self.now);
            self.drain();
        }

        fn node(&self, n: usize) -> NodeId {
            self.cluster.nodes().nth(n).unwrap().id
        }

        /// Node 0 is Ready and has two requests, of which one is handed over; node 1 has failed once.
        fn busy(start: u64) -> Self {
            let mut driven = Self::new(start);
            driven.fail(1);
            for _ in 0..2 {
                let bound = RequestOptions::new().on(driven.node(0));
                driven.submit(bound);
            }
            let connection = *driven.dialled.last().unwrap();
            driven.wait(Duration::from_millis(3));
            driven.input(Input::Connected { connection });
            let limits = Limits::NONE;
            driven.input(Input::HandshakeDone { connection, limits });
            let (connection, serial) = driven.written[0];
            driven.wait(Duration::from_millis(3));
            driven.input(Input::WriteStarted { connection, serial });
            driven
        }

        /// Dials a node that refuses.
        fn fail(&mut self, n: usize) {
            let bound = RequestOptions::new().on(self.node(n));
            let request = self.submit(bound);
            let connection = *self.dialled.last().unwrap();
            self.cluster.cancel(self.now, request);
            let error = ConnectError::Refused;
            self.input(Input::ConnectFailed { connection, error });
        }
    }

    fn print(driven: &Driven) -> u64 {
        driven.cluster.fingerprint()
    }

    #[test]
    fn a_clone_has_the_same_and_so_has_what_becomes_of_it() {
        let (mut driven, mut clone) = (Driven::busy(0), Driven::busy(0).clone());
        for _ in 0..20 {
            assert_eq!(print(&driven), print(&clone));
            for either in [&mut driven, &mut clone] {
                let deadline = either.cluster.poll_timeout();
                either.now = deadline.map_or(either.now, |deadline| deadline.at);
                either.wait(Duration::ZERO);
            }
        }
    }

    #[test]
    fn the_same_history_at_another_time_has_the_same() {
        assert_eq!(print(&Driven::busy(0)), print(&Driven::busy(86_400_000)));
    }

    #[test]
    fn ids_with_other_generations_have_the_same() {
        let (mut fresh, mut used) = (Driven::new(0), Driven::new(0));
        for (driven, times) in [(&mut fresh, 10), (&mut used, 12)] {
            for _ in 0..times {
                driven.fail(0);
                driven.wait(Duration::from_secs(60));
            }
            driven.submit(RequestOptions::new().on(driven.node(0)));
        }
        let generation = |driven: &Driven| driven.cluster.requests.generation(0);
        assert_ne!(generation(&fresh), generation(&used));
        assert_eq!(print(&fresh), print(&used));
    }

    #[test]
    fn failures_count_until_the_backoff_is_the_longest() {
        let long = Duration::from_secs(60);
        let mut driven = Driven::new(0);
        let mut prints = Vec::new();
        for _ in 0..20 {
            driven.fail(0);
            driven.wait(long);
            prints.push(print(&driven));
        }
        // 100 ms doubled seven times is more than 10 s; the setup timeout is the longest long before.
        let distinct = prints.iter().collect::<alloc::collections::BTreeSet<_>>();
        assert_eq!(distinct.len(), 8);
        assert!(prints[7..].iter().all(|print| *print == prints[7]));
    }

    #[test]
    fn a_deadline_a_nanosecond_later_is_another_state() {
        let with = |nanos: u64| {
            let mut driven = Driven::new(0);
            let timeout = Duration::from_nanos(1_000_000 + nanos);
            driven.submit(RequestOptions::new().timeout(timeout));
            print(&driven)
        };
        assert_eq!(with(0), with(0));
        assert_ne!(with(0), with(1));
    }

    #[test]
    fn whatever_matters_later_is_another_state() {
        type Change = fn(&mut Driven, ConnectionId, u32);
        let changes: &[(&str, Change)] = &[
            ("nothing", |_, _, _| {}),
            ("time", |d, _, _| d.wait(Duration::from_nanos(1))),
            ("a request for any node", |d, _, _| {
                d.submit(RequestOptions::new());
            }),
            ("an idempotent one", |d, _, _| {
                d.submit(RequestOptions::new().idempotent());
            }),
            ("one that waits", |d, _, _| {
                d.submit(RequestOptions::new().on(d.node(1)));
            }),
            ("one that fails fast", |d, _, _| {
                let bound = RequestOptions::new().on(d.node(1));
                d.submit(bound.fail_fast());
            }),
            ("an accepted frame", |d, connection, serial| {
                d.input(Input::WriteDone { connection, serial });
            }),
            ("a frame that has begun", |d, connection, serial| {
                let serial = serial + 1;
                d.input(Input::WriteStarted { connection, serial });
            }),
            ("blocked writing", |d, connection, _| {
                d.input(Input::WriteBlocked { connection });
            }),
            ("a reply", |d, connection, serial| {
                let (to, verdict) = (ReplyTo::Serial(serial), Verdict::DONE);
                d.input(Input::Reply {
                    connection,
                    to,
                    verdict,
                });
            }),
            ("a throttle", |d, connection, _| {
                let until = d.now + Duration::from_millis(5);
                d.input(Input::Throttled { connection, until });
            }),
            ("a longer throttle", |d, connection, _| {
                let until = d.now + Duration::from_millis(6);
                d.input(Input::Throttled { connection, until });
            }),
            ("a lost connection", |d, connection, _| {
                let error = crate::CloseError::Peer;
                d.input(Input::Closed { connection, error });
            }),
            ("a draining peer", |d, connection, _| {
                d.input(Input::PeerDraining { connection });
            }),
            ("nonsense", |d, connection, _| {
                let (to, verdict) = (ReplyTo::Serial(77), Verdict::DONE);
                d.input(Input::Reply {
                    connection,
                    to,
                    verdict,
                });
            }),
            ("a hint", |d, _, _| {
                let up = Hint::NodeUp(d.node(1));
                d.cluster.hint(d.now, up);
                d.drain();
            }),
            ("a node that has left", |d, _, _| {
                let list = vec![d.cluster.nodes().next().unwrap().spec.clone()];
                d.cluster.set_nodes(d.now, &list).unwrap();
                d.drain();
            }),
            ("the end", |d, _, _| {
                d.cluster.shutdown(d.now, Duration::from_secs(1)).unwrap();
                d.drain();
            }),
            ("a later end", |d, _, _| {
                d.cluster.shutdown(d.now, Duration::from_secs(2)).unwrap();
                d.drain();
            }),
            ("outputs that wait", |d, _, _| {
                d.cluster.submit(d.now, RequestOptions::new()).unwrap();
            }),
        ];
        let mut seen = Vec::new();
        for (name, change) in changes {
            let mut driven = Driven::busy(0);
            let (connection, serial) = driven.written[0];
            change(&mut driven, connection, serial);
            let print = print(&driven);
            let same = seen.iter().find(|(_, other)| *other == print);
            assert_eq!(same, None, "{name} is as");
            seen.push((*name, print));
        }
    }

    #[test]
    fn what_a_part_keeps_is_in_it() {
        type Change = fn(&mut Cluster);
        let changes: &[(&str, Change)] = &[
            ("failures", |c| c.nodes[1].failures += 1),
            ("failures in setup", |c| c.nodes[1].setup_failures += 1),
            ("rest", |c| {
                let rest = &mut c.nodes[1].next_attempt;
                *rest = rest.map(|at| at + Duration::from_nanos(1));
            }),
            ("rejection", |c| c.nodes[1].last_ended_rejected = true),
            ("health", |c| c.connections[0].unhealthy = true),
            ("timeouts in a row", |c| {
                c.connections[0].timeouts_in_a_row = 1
            }),
            ("usefulness", |c| c.connections[0].replied = true),
            ("the peer's limit", |c| c.connections[0].limit -= 1),
            ("attempts", |c| c.requests[0].attempts += 1),
            ("extras", |c| c.extra_mut(0).charged = 1),
            ("retry refused", |c| c.extra_mut(0).retry_refused = true),
            ("draws", |c| {
                c.selection_rng.next_u64();
            }),
            ("budget", |c| {
                let now = c.now;
                c.retry_budget.as_mut().unwrap().take(now);
            }),
        ];
        let base = Driven::busy(0).cluster;
        let mut seen = vec![("nothing", base.fingerprint())];
        for (name, change) in changes {
            let mut changed = base.clone();
            change(&mut changed);
            let print = changed.fingerprint();
            let same = seen.iter().find(|(_, other)| *other == print);
            assert_eq!(same, None, "{name} is as");
            seen.push((*name, print));
        }
    }

    #[test]
    fn what_nobody_acts_on_is_not_in_it() {
        type Change = fn(&mut Cluster);
        let changes: &[(&str, Change)] = &[
            ("statistics", |c| c.stats.late_replies += 1),
            ("the sequence", |c| c.sequence += 1),
            ("updates of the list", |c| c.update += 1),
        ];
        let base = Driven::busy(0).cluster;
        for (name, change) in changes {
            let mut changed = base.clone();
            change(&mut changed);
            assert_eq!(changed.fingerprint(), base.fingerprint(), "{name}");
        }
    }
}
