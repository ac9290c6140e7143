//! "Test your own timeout logic" of the crate's documentation, and what it prints.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use redial::{
    Matching, ReplyTo, RequestOptions,
    client::{Decoded, Item, Outgoing, Peer, Protocol, Rejected, framing::take_line},
    sim::{Answers, Fault, Load, Schedule, Server, Simulation, Swarm},
};

struct Lines;

impl Protocol for Lines {
    type Request = String;
    type Reply = String;
    type Push = String;
    type Connection = ();

    fn has_handshake(&self) -> bool {
        false
    }

    fn matching(&self) -> Matching {
        Matching::Order
    }

    fn open(&mut self, _: Peer<'_>) {}

    fn encode(
        &mut self,
        (): &mut (),
        outgoing: Outgoing<'_, String>,
        out: &mut BytesMut,
    ) -> Result<(), Rejected> {
        out.put_slice(outgoing.request.as_bytes());
        out.put_u8(b'\n');
        Ok(())
    }

    fn decode(&mut self, (): &mut (), input: &mut BytesMut, _: &mut BytesMut) -> Decoded<Self> {
        let line = take_line(input, 1024)?;
        let text = |line: BytesMut| String::from_utf8_lossy(&line).into();
        Ok(line.map(|line| Item::reply(ReplyTo::Oldest, text(line))))
    }
}

struct Echo;

impl Server for Echo {
    fn read(&mut self, _: u64, input: &mut BytesMut, answers: &mut Answers) {
        while let Ok(Some(line)) = take_line(input, 1024) {
            answers.send(Duration::from_millis(2), [&line[..], b"\n"].concat());
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn simulation() -> Simulation<Lines> {
    let options = RequestOptions::new().idempotent().timeout(30 * SECOND);
    Simulation::new(|| Lines, |_| Echo)
        .workload(move |_| Load::every(SECOND, |n| format!("GET {n}")).options(options))
        .property("nobody waits longer than half a minute", |request| {
            request.completed - request.submitted <= 30 * SECOND
        })
}

fn schedules() -> impl Iterator<Item = Schedule> {
    let mut swarm = Swarm {
        lasts: 600 * SECOND,
        ..Swarm::default()
    };
    swarm.faults.retain(|fault| *fault != Fault::Sleep);
    (0..20).map(move |seed| Schedule::draw(seed, &swarm))
}

#[test]
fn the_property_of_the_documentation_holds() {
    let explored = simulation().explore(schedules()).unwrap();
    assert_eq!(explored.runs, 20);
}

/// The same, broken on purpose.
fn strict() -> Simulation<Lines> {
    simulation()
        .made_by("strict()")
        .property("nobody waits longer than a quarter", |request| {
            request.completed - request.submitted <= 15 * SECOND
        })
}

#[test]
fn a_property_that_does_not_hold_gives_a_test_that_fails_the_same_way() {
    let shrunk = strict().explore(schedules()).unwrap_err();
    // The test that is below stands in the text as it is there.
    let source = include_str!("own_logic.rs");
    assert!(
        source.contains(&shrunk.shrunk.test),
        "{}",
        shrunk.shrunk.test
    );
    let again = strict().run(&shrunk.shrunk.schedule).unwrap_err();
    assert_eq!(again.what, shrunk.shrunk.what);
}

// Pasted, and one line more.
#[should_panic(expected = "nobody waits longer than a quarter does not hold")]
#[test]
fn seed_1() {
    let schedule = "
        seed 1
        servers 1
        lasts 10.3s
        at 0s for 15s server 0 stall to-server
    ";
    let schedule: redial::sim::Schedule = schedule.parse().unwrap();
    strict().run(&schedule).unwrap();
}
