//! The output stream: one order for actions, completions and events.

use alloc::collections::VecDeque;
use core::fmt::Write;

use super::Digest;
use crate::{Action, Completion, Config, Event, EventMask, Output};

/// Events are kept apart so that the oldest can be dropped; the numbers restore the order.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    commands: VecDeque<(u64, Output)>,
    events: VecDeque<(u64, Event)>,
    next: u64,
    max_events: usize,
    mask: EventMask,
    dropped_events: u64,
}

impl Outputs {
    pub(crate) const fn new(config: &Config) -> Self {
        Self {
            commands: VecDeque::new(),
            events: VecDeque::new(),
            next: 0,
            max_events: config.max_pending_events as usize,
            mask: config.events,
            dropped_events: 0,
        }
    }

    pub(crate) fn action(&mut self, action: Action) {
        self.command(Output::Action(action));
    }

    pub(crate) fn completion(&mut self, completion: Completion) {
        mutant!(CompletesTwice => self.command(Output::Completion(completion)));
        self.command(Output::Completion(completion));
    }

    pub(crate) fn terminated(&mut self) {
        self.command(Output::Terminated);
    }

    pub(crate) fn event(&mut self, event: Event) {
        if !self.mask.contains(EventMask::of(&event)) {
            return;
        }
        if self.events.len() >= self.max_events {
            self.dropped_events += 1;
            if self.events.pop_front().is_none() {
                return;
            }
        }
        self.next += 1;
        self.events.push_back((self.next, event));
    }

    pub(crate) fn pop(&mut self) -> Option<Output> {
        let command = self
            .commands
            .front()
            .map_or(u64::MAX, |(number, _)| *number);
        let event = self.events.front().map_or(u64::MAX, |(number, _)| *number);
        if command < event {
            self.commands.pop_front().map(|(_, output)| output)
        } else {
            self.events
                .pop_front()
                .map(|(_, event)| Output::Event(event))
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.events.is_empty()
    }

    pub(crate) const fn dropped_events(&self) -> u64 {
        self.dropped_events
    }

    /// What waits, as it is.
    pub(super) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            commands: _,
            events: _,
            next: _,
            // Of the configuration.
            max_events: _,
            mask: _,
            dropped_events: _,
        } = self;
        if self.is_empty() {
            return to.add(0);
        }
        let mut waiting = self.clone();
        to.all(core::iter::from_fn(|| waiting.pop()), |to, output| {
            write!(to, "{output:?}").expect("a digest takes any text");
        });
    }

    fn command(&mut self, output: Output) {
        self.next += 1;
        self.commands.push_back((self.next, output));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{AttemptId, NodeId};

    const ABORT: Action = Action::AbortResolve {
        attempt: AttemptId {
            index: 0,
            generation: 0,
        },
    };

    fn healed(index: u32) -> Event {
        let node = NodeId {
            index,
            generation: 0,
        };
        Event::Healed { node }
    }

    fn outputs(max: u32, mask: EventMask) -> Outputs {
        let config = Config::builder().max_pending_events(max).events(mask);
        Outputs::new(&config.build().unwrap())
    }

    #[test]
    fn the_oldest_event_is_dropped_and_counted_and_an_action_never() {
        let mut outputs = outputs(2, EventMask::ALL);
        outputs.event(healed(0));
        outputs.action(ABORT);
        for index in 1..4 {
            outputs.event(healed(index));
            outputs.action(ABORT);
        }
        let drained: Vec<_> = core::iter::from_fn(|| outputs.pop()).collect();
        let (action, event) = (Output::Action(ABORT), |i| Output::Event(healed(i)));
        assert_eq!(
            drained,
            [action, action, event(2), action, event(3), action]
        );
        assert_eq!(outputs.dropped_events(), 2);
    }

    #[test]
    fn a_masked_kind_is_not_given_out_and_not_counted_as_dropped() {
        let mut outputs = outputs(9, EventMask::ALL - EventMask::HEALTH);
        outputs.event(healed(0));
        outputs.event(Event::QueueFull);
        assert_eq!(outputs.pop(), Some(Output::Event(Event::QueueFull)));
        assert_eq!((outputs.pop(), outputs.dropped_events()), (None, 0));
    }

    #[test]
    fn with_room_for_no_event_none_comes() {
        let mut outputs = outputs(0, EventMask::ALL);
        outputs.event(Event::QueueFull);
        assert_eq!((outputs.pop(), outputs.dropped_events()), (None, 1));
    }
}
