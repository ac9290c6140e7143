//! The simulator: hours of outages in a second, seen, checked and replayed. Feature `sim`.
//!
//! Clients of your protocol and configuration live on virtual time among simulated servers, while a
//! schedule of faults strikes names, connections, servers, lists and the machine itself. Nothing
//! sleeps: the clock jumps to whatever happens next. Every step of every client's core is checked
//! against the invariants of redial, besides what you want to hold. The same schedule gives the same
//! run, byte for byte, on every platform and in every build mode.
//!
//! | you want to | take |
//! |---|---|
//! | test how your use of redial fares in outages | [`Simulation`] |
//! | run the handle, and your code above it, unchanged | [`VirtualWorld`] |
//! | say what goes wrong | [`Schedule`]: by hand, as text, [named](Schedule::NAMED), [drawn](Schedule::draw) from a seed, or by the strategies of `strategies` (feature `sim-proptest`) |
//! | say what must hold | [`Simulation::property`], [`Simulation::finally`], a [`Checker`] |
//! | see what happened | [`Trace`] line by line, [`Timeline`] as text and, with the feature `sim-svg`, as a picture |
//! | find the simplest schedule that fails | [`Simulation::explore`], [`shrink`] |
//!
//! The example `outage` of this crate does all of it for a schedule that you name:
//!
//! ```sh
//! cargo run --release -p redial --features sim-svg --example outage -- --seed 7 --hours 1 --svg out.svg
//! ```
//!
//! # Test your own timeout logic
//!
//! Say that your protocol sends lines and has a reply for each, as `Lines` of
//! [`client`](crate::client#how-to-write-a-protocol) does, and that no caller may wait longer than half
//! a minute, whatever happens. The server's half of the protocol is a few lines, too:
//!
//! ```
//! # use bytes::{BufMut, BytesMut};
//! # use redial::{Matching, ReplyTo, client::{Decoded, Item, Outgoing, Peer, Protocol, Rejected}};
//! # struct Lines;
//! # impl Protocol for Lines {
//! #     type Request = String;
//! #     type Reply = String;
//! #     type Push = String;
//! #     type Connection = ();
//! #     fn has_handshake(&self) -> bool { false }
//! #     fn matching(&self) -> Matching { Matching::Order }
//! #     fn open(&mut self, _: Peer<'_>) {}
//! #     fn encode(&mut self, (): &mut (), outgoing: Outgoing<'_, String>, out: &mut BytesMut)
//! #         -> Result<(), Rejected> {
//! #         out.put_slice(outgoing.request.as_bytes());
//! #         out.put_u8(b'\n');
//! #         Ok(())
//! #     }
//! #     fn decode(&mut self, (): &mut (), input: &mut BytesMut, _: &mut BytesMut) -> Decoded<Self> {
//! #         let line = take_line(input, 1024)?;
//! #         Ok(line.map(|line| Item::reply(ReplyTo::Oldest, String::from_utf8_lossy(&line).into())))
//! #     }
//! # }
//! use std::time::Duration;
//!
//! use redial::{
//!     RequestOptions,
//!     client::framing::take_line,
//!     sim::{Answers, Fault, Load, Schedule, Server, Simulation, Swarm},
//! };
//!
//! struct Echo;
//!
//! impl Server for Echo {
//!     fn read(&mut self, _: u64, input: &mut BytesMut, answers: &mut Answers) {
//!         while let Ok(Some(line)) = take_line(input, 1024) {
//!             answers.send(Duration::from_millis(2), [&line[..], b"\n"].concat());
//!         }
//!     }
//! }
//!
//! const SECOND: Duration = Duration::from_secs(1);
//!
//! fn simulation() -> Simulation<Lines> {
//!     let options = RequestOptions::new().idempotent().timeout(30 * SECOND);
//!     Simulation::new(|| Lines, |_| Echo)
//!         .workload(move |_| Load::every(SECOND, |n| format!("GET {n}")).options(options))
//!         .property("nobody waits longer than half a minute", |request| {
//!             request.completed - request.submitted <= 30 * SECOND
//!         })
//! }
//!
//! // In a #[test]: ten minutes of faults, for each of twenty seeds. A machine that sleeps is excused.
//! let mut swarm = Swarm { lasts: 600 * SECOND, ..Swarm::default() };
//! swarm.faults.retain(|fault| *fault != Fault::Sleep);
//! let explored = simulation().explore((0..20).map(|seed| Schedule::draw(seed, &swarm)));
//! assert!(explored.unwrap().events > 50_000);
//!
//! // Let it fail, to see what it says: with half the time for the same requests.
//! let strict = simulation().property("nobody waits longer than a quarter", |request| {
//!     request.completed - request.submitted <= 15 * SECOND
//! });
//! let shrunk = strict.explore((0..20).map(|seed| Schedule::draw(seed, &swarm))).unwrap_err();
//! println!("{shrunk}");
//! # assert!(strict.run(&shrunk.shrunk.schedule).unwrap_err().what.is_like(&shrunk.failure.what));
//! # assert_eq!(shrunk.shrunk.schedule.faults.len(), 1);
//! # assert!(shrunk.shrunk.test.contains("simulation().run(&schedule).unwrap()"));
//! ```
//!
//! It prints what did not hold, when, and for which request; the last steps of the client before that;
//! and then the same for the simplest schedule that fails so, with a test to be pasted:
//!
//! ```text
//! nobody waits longer than a quarter does not hold: client 0: submitted at 0s, answered by n0 at 15.004242108s, hand-overs: 1
//! at 15.004242108s, seed 1; the last steps:
//! (…)
//!
//! A test that fails so, to be pasted and run by `cargo test seed_1`:
//!
//! #[test]
//! fn seed_1() {
//!     let schedule = "
//!         seed 1
//!         servers 1
//!         lasts 10.3s
//!         at 0s for 15s server 0 stall to-server
//!     ";
//!     let schedule: redial::sim::Schedule = schedule.parse().unwrap();
//!     simulation().run(&schedule).unwrap();
//! }
//! ```
//!
//! With proptest the schedules come from a strategy, and proptest does the shrinking: see
//! `strategies`, feature `sim-proptest`.
//!
//! # What is simulated
//!
//! Connections, not packets. A connection is two pipes of bytes with a latency, a window of 64 KiB for
//! what clients send, and, if a fault says so, a bandwidth or a crumbling of what is read and written.
//! What TCP does is done: a lost dial is sent again, bytes that a partition holds back arrive when it is
//! over, a system that does not know a connection resets it, and one whose bytes do not arrive gives it
//! up after a quarter of an hour. Names, lists of servers and clocks that jump are simulated as well; [`Fault`]
//! has the whole list. Not simulated: loss and order of packets, TLS, keepalives of the kernel.
//!
//! # Determinism
//!
//! Everything follows from the [`Schedule`] and the [`Simulation`]: where chance decides (latencies,
//! the order of a deadline and an event at one instant, the clients' seeds), it is drawn from the
//! schedule's seed. A closure of yours that looks at a clock, a hash map or another seed breaks it.

pub mod checkers;
mod embedder;
mod explore;
mod fault;
mod rng;
mod runtime;
mod schedule;
mod server;
mod simulation;
#[cfg(feature = "sim-proptest")]
pub mod strategies;
mod tap;
pub mod timeline;
mod trace;
mod watch;
mod workload;
mod world;

pub use {
    checkers::{Checker, Violation},
    explore::{Explored, Shrunk},
    fault::{Fault, Target, Way},
    runtime::{Sleep, Stalled, Virtual, VirtualClient, VirtualStream, VirtualTimer, VirtualWorld},
    schedule::{Expected, Occurrence, Schedule, ScheduleError, Swarm, shrink},
    server::{Answers, Conduct, Reaction, Server, Service},
    simulation::{Failure, Outcome, Run, Simulation, Wrong},
    timeline::{Incident, Timeline},
    trace::{Difference, Line, Trace, What},
    watch::{Broken, Watch},
    workload::{App, Load, Workload},
    world::{listed_by_address, listed_by_name},
};
