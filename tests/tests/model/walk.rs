//! Which steps are tried from a state of the model.

use proptest::{
    prelude::*,
    sample::{Index, select, subsequence},
};
use proptest_state_machine::ReferenceStateMachine;

use crate::{
    core_under_test::lots,
    frames::Verdict,
    rules::{Micros, Policy, rules},
    state::{C, Model, N, Phase, Place, Run, Submit, Written},
    step::{Act, Transition},
};

/// So many names there are.
const NAMES: usize = 4;
/// A connection that is none any more may be named so long after, by the number of its node's later ones.
const STALE: usize = 2;

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Transition;

    fn init_state() -> BoxedStrategy<Self> {
        rules(lots).prop_map(Self::new).boxed()
    }

    fn transitions(model: &Self) -> BoxedStrategy<Transition> {
        let times = model.times_to_come();
        let (now, first_end) = (model.now, model.first_end_of_waiting());
        let time_passes = at(now, times.clone(), [1, 2, 6, 1]).prop_map(|at| (at, Act::Timeout));
        let soon = at(now, times, [6, 4, 1, 0]);
        let acts = acts(model);
        let something = (soon, acts).prop_map(move |(at, act)| {
            let before_it = first_end.map_or(at, |end| at.min(end - 1));
            (before_it.max(now), act)
        });
        let transition = |(at, act)| Transition { at, act };
        match first_end.is_some_and(|end| end <= now) {
            true => time_passes.prop_map(transition).boxed(),
            false => prop_oneof![1 => time_passes, 4 => something]
                .prop_map(transition)
                .boxed(),
        }
    }

    fn apply(mut model: Self, transition: &Transition) -> Self {
        model.step(transition);
        model
    }

    fn preconditions(model: &Self, transition: &Transition) -> bool {
        let (now, act) = (model.now.max(transition.at), &transition.act);
        let is_known = |(n, k): C| model.nodes.get(n).is_some_and(|node| k < node.dialled);
        let exists = act.names().is_none_or(is_known)
            && act.target().is_none_or(|n| n < model.nodes.len())
            && match act {
                Act::Cancel(r) => *r < model.requests.len(),
                // Of nodes that come later it is not said which is the first in the round.
                Act::Nodes(names) => {
                    let all_at_once =
                        model.rules.policy == Policy::Fewest || model.nodes.is_empty();
                    let comes = |name: &usize| {
                        !model.listed().iter().any(|&n| model.nodes[n].name == *name)
                    };
                    (all_at_once || !names.iter().any(comes))
                        && model.nodes.len() + names.len() <= model.rules.lots.len()
                }
                // Replies that are matched by order come in it, and so do frames begin.
                Act::WriteStarted(c, serial) | Act::WriteDone(c, serial)
                    if model.rules.by_order && model.connections.contains_key(c) =>
                {
                    let emitted = model.emitted(*c);
                    emitted.first().is_none_or(|(oldest, _)| serial <= oldest)
                }
                _ => true,
            };
        let in_time =
            *act == Act::Timeout || model.first_end_of_waiting().is_none_or(|end| now < end);
        exists && in_time && model.is_clear(transition)
    }
}

impl Model {
    /// The first deadline of a request that waits. A call between it and the timeout that handles it
    /// would show what is said nowhere: whether a node is dialled for who is past help.
    fn first_end_of_waiting(&self) -> Option<Micros> {
        let waiting = self.waiting().into_iter();
        waiting.filter_map(|r| self.requests[r].deadline).min()
    }
}

/// Now, a little later, about a time that matters, or much later.
fn at(now: Micros, times: Vec<Micros>, weights: [u32; 4]) -> impl Strategy<Value = Micros> {
    let about = (any::<Index>(), 0..3_u64).prop_map(move |(index, offset)| {
        let time = if times.is_empty() {
            now
        } else {
            *index.get(&times)
        };
        (time + offset).saturating_sub(1).max(now)
    });
    prop_oneof![
        weights[0] => Just(now),
        weights[1] => (1..8_000_u64).prop_map(move |later| now + later),
        weights[2] => about,
        weights[3] => (8_000..6_000_000_u64).prop_map(move |later| now + later),
    ]
}

fn acts(model: &Model) -> BoxedStrategy<Act> {
    let list = subsequence((0..NAMES).collect::<Vec<_>>(), 0..=NAMES).prop_map(Act::Nodes);
    if model.nodes.is_empty() {
        return prop_oneof![4 => list, 1 => submit(Vec::new())].boxed();
    }
    let likely = likely(model);
    let drain = select(vec![0, 9_023, 70_027]).prop_map(Act::Shutdown);
    let all: Vec<N> = (0..model.nodes.len()).collect();
    let likely = match likely.is_empty() {
        true => Just(Act::Timeout).boxed(),
        false => select(likely).boxed(),
    };
    let shutdowns = if model.run == Run::Running { 1 } else { 4 };
    prop_oneof![
        200 => likely,
        60 => submit(all),
        8 => list,
        shutdowns => drain,
    ]
    .boxed()
}

fn submit(nodes: Vec<N>) -> impl Strategy<Value = Act> {
    let bound_to = match nodes.is_empty() {
        true => Just(None).boxed(),
        false => prop_oneof![2 => Just(None), 1 => select(nodes).prop_map(Some)].boxed(),
    };
    let options = (
        bound_to,
        select(vec![
            None,
            Some(150_029),
            Some(35_031),
            Some(3_033),
            Some(0),
        ]),
        select(vec![None, None, Some(21_037), Some(80_039)]),
        any::<bool>(),
        select(vec![false, false, true]),
        select(vec![true, true, true, false]),
    );
    options.prop_map(|options| {
        let (bound_to, timeout, request_timeout, idempotent, fail_fast, expects_reply) = options;
        Act::Submit(Submit {
            bound_to,
            timeout,
            request_timeout,
            idempotent,
            fail_fast,
            expects_reply,
        })
    })
}

/// What may happen to what is there, the usual more often.
fn likely(model: &Model) -> Vec<Act> {
    let mut acts = Vec::new();
    let mut add = |times: usize, act: Act| acts.extend(vec![act; times]);
    for (r, request) in model.requests.iter().enumerate() {
        if request.place != Place::Complete || r + 1 == model.requests.len() {
            add(1, Act::Cancel(r));
        }
    }
    let known = model.nodes.iter().enumerate().flat_map(|(n, node)| {
        (node.dialled.saturating_sub(STALE)..node.dialled).map(move |k| (n, k))
    });
    for c in known.filter(|c| !model.connections.contains_key(c)) {
        add(1, Act::Connected(c));
        add(1, Act::Closed(c));
        add(1, Act::Reply(c, Some(0), Verdict::Done));
    }
    for (&c, connection) in &model.connections {
        add(1, Act::Closed(c));
        add(1, Act::PeerDrains(c));
        match connection.phase {
            Phase::Connecting => {
                add(8, Act::Connected(c));
                add(3, Act::Refused(c));
                add(1, Act::HandshakeDone(c, 1));
                continue;
            }
            Phase::Handshaking => {
                add(6, Act::HandshakeDone(c, 9));
                add(2, Act::HandshakeDone(c, 1));
                add(2, Act::HandshakeRejected(c));
                add(1, Act::HandshakeClosed(c));
            }
            Phase::Ready | Phase::Draining(..) => add(1, Act::HandshakeRejected(c)),
        }
        add(1, Act::Blocked(c));
        add(if connection.blocked { 4 } else { 1 }, Act::Progress(c));
        add(1, Act::Throttled(c, model.now + 10_041));
        add(1, Act::Throttled(c, model.now + 4_043));
        let oldest = model.rules.by_order;
        for (&serial, frame) in &connection.frames {
            let again = |here, after, not_executed| Verdict::Again {
                here,
                after,
                not_executed,
            };
            if frame.state == Written::Emitted {
                add(6, Act::WriteStarted(c, serial));
                add(1, Act::WriteRejected(c, serial));
            }
            if !frame.accepted {
                add(4, Act::WriteDone(c, serial));
            }
            let to = (!oldest).then_some(serial);
            add(4, Act::Reply(c, to, Verdict::Done));
            add(1, Act::Reply(c, to, again(true, 0, true)));
            add(1, Act::Reply(c, to, again(false, 0, true)));
            add(1, Act::Reply(c, to, again(false, 3_047, false)));
            add(1, Act::Reply(c, to, again(true, 12_049, false)));
        }
        if connection.next_serial > 0 || model.rules.by_order {
            let late = connection.next_serial.saturating_sub(2);
            add(1, Act::Reply(c, (!oldest).then_some(late), Verdict::Done));
        }
        // Never issued.
        if !oldest && model.requests.len() % 8 == 7 {
            add(
                1,
                Act::Reply(c, Some(connection.next_serial), Verdict::Done),
            );
        }
    }
    acts
}
