//! From a [`Trace`] to a [`Timeline`].

use std::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use super::{Fate, Handover, Lane, Moment, Outcome, Place, Request, State, Timeline, Window};
use crate::{
    Action, Completion, ConnectionId, Endpoint, Event, Instant, NodeId, NodeSpec, NodeState,
    Output, Reason, RefreshId, RefreshResult, RequestId, SourceId,
    record::{Answer, Call},
    sim::{Fault, Occurrence, Target, Trace, What},
};

/// What is known while the lines are read.
pub(super) struct Reader {
    timeline: Timeline,
    lane_of: BTreeMap<NodeId, usize>,
    node_of: BTreeMap<ConnectionId, NodeId>,
    /// The connection of each lane that came up last.
    up: BTreeMap<usize, ConnectionId>,
    /// Connections that have parted from their nodes.
    draining: BTreeSet<ConnectionId>,
    /// Requests that are not complete, by their place in the timeline.
    open: BTreeMap<RequestId, usize>,
    lists: Lists,
}

/// Who is on the server lists.
#[derive(Default)]
struct Lists {
    asked: BTreeMap<RefreshId, SourceId>,
    /// Answers that may turn out to be no lists.
    told: BTreeMap<Option<SourceId>, Vec<Endpoint>>,
    taken: BTreeMap<Option<SourceId>, Vec<Endpoint>>,
    /// Of the application.
    fallback: Vec<Endpoint>,
}

impl Reader {
    pub(super) fn read(trace: &Trace, client: u32) -> Timeline {
        let lanes = lanes(trace, client);
        let mut reader = Self {
            timeline: Timeline {
                title: String::new(),
                client,
                ends: trace.lines.last().map_or(Instant::ORIGIN, |line| line.at),
                shutdown: None,
                lanes,
                faults: Vec::new(),
                requests: Vec::new(),
                moments: Vec::new(),
            },
            lane_of: BTreeMap::new(),
            node_of: BTreeMap::new(),
            up: BTreeMap::new(),
            draining: BTreeSet::new(),
            open: BTreeMap::new(),
            lists: Lists::default(),
        };
        for line in &trace.lines {
            match &line.what {
                What::Begins(occurrence) => reader.begins(line.at, *occurrence),
                What::Ends(occurrence) => reader.ends(line.at, *occurrence),
                What::Node {
                    client: whose,
                    node,
                    endpoint,
                    ..
                } if *whose == client => reader.node(line.at, *node, endpoint),
                What::Call {
                    client: whose,
                    call,
                    answer,
                } if *whose == client => reader.call(line.at, call, *answer),
                What::Output {
                    client: whose,
                    output,
                } if *whose == client => reader.output(line.at, output),
                _ => {}
            }
        }
        reader.finish()
    }

    fn begins(&mut self, at: Instant, occurrence: Occurrence) {
        let place = match (occurrence.fault, occurrence.target) {
            (Fault::Sleep, _) => Place::Client,
            (fault, _) if fault.has_no_target() => Place::List,
            (_, Target::All) => Place::All,
            (_, Target::Server(number)) => {
                let mut lanes = self.timeline.lanes.iter();
                let lane = lanes.position(|lane| lane.server == Some(number));
                lane.map_or(Place::All, Place::Lane)
            }
        };
        self.timeline.faults.push(Window {
            occurrence,
            place,
            began: at,
            ended: occurrence.fault.is_instant().then_some(at),
        });
    }

    fn ends(&mut self, at: Instant, occurrence: Occurrence) {
        let mut faults = self.timeline.faults.iter_mut();
        let open = faults.find(|window| window.ended.is_none() && window.occurrence == occurrence);
        if let Some(window) = open {
            window.ended = Some(at);
        }
    }

    fn node(&mut self, at: Instant, node: NodeId, endpoint: &Endpoint) {
        let mut lanes = self.timeline.lanes.iter_mut();
        let lane = lanes.position(|lane| lane.endpoint.as_ref() == Some(endpoint));
        if let Some(lane) = lane {
            self.lane_of.insert(node, lane);
            self.timeline.lanes[lane].enter(at, State::Idle);
        }
    }

    fn call(&mut self, at: Instant, call: &Call, answer: Answer) {
        match (call, answer) {
            (Call::Submit(_), Answer::Submit(Ok(id))) => {
                self.open.insert(id, self.timeline.requests.len());
                self.timeline.requests.push(Request {
                    id,
                    submitted: at,
                    handovers: Vec::new(),
                    end: None,
                });
            }
            (Call::SetNodes(list), Answer::List(Ok(()))) => {
                self.lists.told.insert(None, endpoints(list));
            }
            (Call::SetFallback(list), Answer::List(Ok(()))) => {
                self.lists.fallback = endpoints(list);
            }
            (Call::Refreshed(refresh, _, list), _) => {
                if let Some(source) = self.lists.asked.get(refresh) {
                    self.lists.told.insert(Some(*source), endpoints(list));
                }
            }
            (Call::Shutdown(_), Answer::Shutdown(Ok(()))) => {
                self.timeline.shutdown.get_or_insert(at);
            }
            _ => {}
        }
    }

    fn output(&mut self, at: Instant, output: &Output) {
        match output {
            Output::Action(action) => self.action(at, action),
            Output::Completion(completion) => self.completed(at, completion),
            Output::Event(event) => self.event(at, event),
            Output::Terminated => {}
        }
    }

    fn action(&mut self, at: Instant, action: &Action) {
        match *action {
            Action::Connect {
                connection, node, ..
            } => {
                self.node_of.insert(connection, node);
            }
            Action::Write {
                connection,
                request,
                ..
            } => {
                let lane = self.node_of.get(&connection);
                let lane = lane.and_then(|node| self.lane_of.get(node)).copied();
                self.give_up(at, request, Fate::Lost);
                if let (Some(lane), Some(place)) = (lane, self.open.get(&request)) {
                    self.timeline.requests[*place].handovers.push(Handover {
                        lane,
                        at,
                        until: Instant::MAX,
                        fate: Fate::Dropped,
                    });
                }
            }
            // It was not written after all.
            Action::Withdraw { request, .. } => {
                if let Some(place) = self.open.get(&request) {
                    let handovers = &mut self.timeline.requests[*place].handovers;
                    handovers.pop_if(|last| last.until == Instant::MAX);
                }
            }
            Action::Refresh { refresh, source }
            | Action::Discover {
                refresh, source, ..
            } => {
                self.lists.asked.insert(refresh, source);
            }
            _ => {}
        }
    }

    /// The hand-over that is under way has come to this.
    fn give_up(&mut self, at: Instant, request: RequestId, fate: Fate) {
        let Some(place) = self.open.get(&request) else {
            return;
        };
        let last = self.timeline.requests[*place].handovers.last_mut();
        if let Some(last) = last.filter(|last| last.until == Instant::MAX) {
            (last.until, last.fate) = (at, fate);
        }
    }

    fn completed(&mut self, at: Instant, completion: &Completion) {
        let (outcome, fate) = match completion.result {
            Ok(_) => (Outcome::Answered, Fate::Answered),
            Err(error) => match error.reason {
                Reason::Cancelled | Reason::Closed => {
                    (Outcome::Failed(error.reason), Fate::Dropped)
                }
                reason => (Outcome::Failed(reason), Fate::Lost),
            },
        };
        self.give_up(at, completion.request, fate);
        if let Some(place) = self.open.remove(&completion.request) {
            self.timeline.requests[place].end = Some((at, outcome));
        }
    }

    fn event(&mut self, at: Instant, event: &Event) {
        let lane = node_of(event)
            .and_then(|node| self.lane_of.get(&node))
            .copied();
        self.timeline.moments.push(Moment {
            at,
            lane,
            event: *event,
        });
        match *event {
            Event::RetryScheduled { request, .. } => self.give_up(at, request, Fate::Lost),
            Event::Refreshed { source, result } => {
                let good = matches!(result, RefreshResult::Changed | RefreshResult::Unchanged);
                if !good {
                    self.lists.told.remove(&Some(source));
                }
            }
            Event::ListChanged { .. } => self.list_changed(at),
            _ => {}
        }
        if let Some(lane) = lane {
            self.node_event(at, lane, event);
        }
    }

    fn node_event(&mut self, at: Instant, place: usize, event: &Event) {
        let lane = &mut self.timeline.lanes[place];
        match *event {
            Event::Connected { connection, .. } => {
                self.up.insert(place, connection);
            }
            Event::StateChanged {
                from, to, cause, ..
            } => {
                if from == NodeState::Ready {
                    lane.uncover(State::Unhealthy, at);
                    lane.uncover(State::Throttled, at);
                    // Until its connection has ended, in the same step or later.
                    lane.lay_over(State::Draining, at, Instant::MAX);
                    self.draining.extend(self.up.get(&place));
                }
                lane.enter(at, State::of(to, cause));
            }
            Event::Disconnected { connection, .. } if self.draining.remove(&connection) => {
                lane.uncover(State::Draining, at);
            }
            Event::Throttled { until, .. } => lane.lay_over(State::Throttled, at, until),
            Event::Unhealthy { .. } => lane.lay_over(State::Unhealthy, at, Instant::MAX),
            Event::Healed { .. } => lane.uncover(State::Unhealthy, at),
            _ => {}
        }
    }

    fn list_changed(&mut self, at: Instant) {
        let lists = &mut self.lists;
        lists.taken.append(&mut lists.told);
        let listed: BTreeSet<_> = lists
            .taken
            .values()
            .flatten()
            .chain(&lists.fallback)
            .collect();
        for lane in &mut self.timeline.lanes {
            let Some(endpoint) = &lane.endpoint else {
                continue;
            };
            match (listed.contains(endpoint), lane.last()) {
                (true, State::Unlisted) => lane.enter(at, State::Idle),
                (false, _) => lane.enter(at, State::Unlisted),
                _ => {}
            }
        }
    }

    fn finish(mut self) -> Timeline {
        let ends = self.timeline.ends;
        let requests = self.timeline.requests.iter_mut();
        for handover in requests.flat_map(|request| &mut request.handovers) {
            handover.until = handover.until.min(ends);
        }
        self.timeline
            .lanes
            .iter_mut()
            .for_each(|lane| lane.finish(ends));
        self.timeline
    }
}

/// A lane for each endpoint, and for each server that only a fault knows; by server.
fn lanes(trace: &Trace, client: u32) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut known = BTreeSet::new();
    let mut struck = BTreeSet::new();
    for line in &trace.lines {
        match &line.what {
            What::Node {
                client: whose,
                endpoint,
                server,
                ..
            } if *whose == client && known.insert(endpoint) => {
                lanes.push(Lane::new(Some(endpoint.clone()), *server));
            }
            What::Begins(Occurrence {
                target: Target::Server(number),
                fault,
                ..
            }) if !fault.has_no_target() => {
                struck.insert(*number);
            }
            _ => {}
        }
    }
    for number in struck {
        if !lanes.iter().any(|lane| lane.server == Some(number)) {
            lanes.push(Lane::new(None, Some(number)));
        }
    }
    lanes.sort_by_key(|lane| lane.server.map_or(u64::MAX, u64::from));
    lanes
}

fn endpoints(list: &[NodeSpec]) -> Vec<Endpoint> {
    list.iter().map(|spec| spec.endpoint.clone()).collect()
}

/// The node that an event is about.
const fn node_of(event: &Event) -> Option<NodeId> {
    match *event {
        Event::StateChanged { node, .. }
        | Event::AttemptStarted { node, .. }
        | Event::AttemptEnded { node, .. }
        | Event::Connected { node, .. }
        | Event::Disconnected { node, .. }
        | Event::RetryScheduled { node, .. }
        | Event::Throttled { node, .. }
        | Event::Unhealthy { node }
        | Event::Healed { node } => Some(node),
        Event::SessionExpired { node } => node,
        _ => None,
    }
}
