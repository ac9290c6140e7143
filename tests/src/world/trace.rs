//! What happened, one line an event.

use std::fmt;

use redial::{
    Instant, Output,
    record::{Answer, Call, Step},
};

use super::Fault;

/// All that happened, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The lines.
    pub lines: Vec<Line>,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// The cluster was called.
    Call(Instant, Call, Answer),
    /// The cluster gave something out.
    Output(Instant, Output),
    /// The world changed.
    Fault(Instant, Fault),
}

impl Trace {
    pub(super) fn step(&mut self, step: &Step) {
        self.lines
            .push(Line::Call(step.now, step.call.clone(), step.answer));
        let outputs = step
            .outputs
            .iter()
            .map(|output| Line::Output(step.now, *output));
        self.lines.extend(outputs);
    }

    pub(super) fn fault(&mut self, now: Instant, fault: &Fault) {
        self.lines.push(Line::Fault(now, fault.clone()));
    }

    /// What the cluster gave out, and when.
    pub fn outputs(&self) -> impl Iterator<Item = (Instant, &Output)> {
        self.lines.iter().filter_map(|line| match line {
            Line::Output(at, output) => Some((*at, output)),
            Line::Call(..) | Line::Fault(..) => None,
        })
    }

    /// A number that stands for the whole text: FNV-1a.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.to_string()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
    }

    /// Where two traces part: the number of the line, and what each has there.
    #[must_use]
    pub fn first_difference<'a>(&'a self, other: &'a Self) -> Option<Difference<'a>> {
        let longest = self.lines.len().max(other.lines.len());
        (0..longest)
            .map(|number| (number, self.lines.get(number), other.lines.get(number)))
            .find(|(_, mine, others)| mine != others)
    }
}

/// The number of a line, and what two traces have there.
pub type Difference<'a> = (usize, Option<&'a Line>, Option<&'a Line>);

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(at, call, Answer::None) => write!(f, "{at} > {call}"),
            Self::Call(at, call, answer) => write!(f, "{at} > {call} = {answer:?}"),
            Self::Output(at, output) => write!(f, "{at}     < {output:?}"),
            Self::Fault(at, fault) => write!(f, "{at} ! {fault:?}"),
        }
    }
}
