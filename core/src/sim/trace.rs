//! What happened, one line an event.

use core::fmt;
use std::{io, vec::Vec};

use serde::{Deserialize, Serialize};

use super::schedule::Occurrence;
use crate::{
    Endpoint, Instant, NodeId, Output,
    record::{Answer, Call, hash::Hash},
};

/// All that happened in a run, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Trace {
    /// The lines.
    pub lines: Vec<Line>,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Line {
    /// When, on the simulation's clock.
    pub at: Instant,
    /// What.
    pub what: What,
}

/// What can happen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A fault begins.
    Begins(Occurrence),
    /// A fault is over.
    Ends(Occurrence),
    /// A client has got a node. Comes before anything else about it.
    Node {
        /// Which client, from 0.
        client: u32,
        /// The node.
        node: NodeId,
        /// The server at its address or name, if it is one of the simulation's.
        server: Option<u32>,
        /// Its address or name.
        endpoint: Endpoint,
    },
    /// A client's core was called.
    Call {
        /// Which client, from 0.
        client: u32,
        /// The call.
        call: Call,
        /// What it returned.
        answer: Answer,
    },
    /// A client's core gave something out.
    Output {
        /// Which client, from 0.
        client: u32,
        /// What.
        output: Output,
    },
}

/// The first place where two traces differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference<'a> {
    /// How many lines are equal.
    pub line: usize,
    /// The line of the first trace; none if it ends here.
    pub left: Option<&'a Line>,
    /// The line of the second.
    pub right: Option<&'a Line>,
}

impl Trace {
    /// Where this trace and another part, `None` if they are equal.
    #[must_use]
    pub fn diff<'a>(&'a self, other: &'a Self) -> Option<Difference<'a>> {
        let longest = self.lines.len().max(other.lines.len());
        let line = (0..longest).find(|line| self.lines.get(*line) != other.lines.get(*line))?;
        Some(Difference {
            line,
            left: self.lines.get(line),
            right: other.lines.get(line),
        })
    }

    /// FNV-1a of 64 bits over all lines as JSON: equal traces have equal hashes, on every platform.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hash = Hash::EMPTY;
        self.lines.iter().for_each(|line| hash.add(line));
        hash.0
    }

    /// Writes each line as a line of JSON.
    ///
    /// # Errors
    ///
    /// Those of the sink.
    pub fn write_json(&self, mut sink: impl io::Write) -> io::Result<()> {
        for line in &self.lines {
            serde_json::to_writer(&mut sink, line)?;
            sink.write_all(b"\n")?;
        }
        Ok(())
    }

    /// What the clients' cores gave out, and when.
    pub fn outputs(&self) -> impl Iterator<Item = (Instant, u32, &Output)> {
        self.lines.iter().filter_map(|line| match &line.what {
            What::Output { client, output } => Some((line.at, *client, output)),
            _ => None,
        })
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at)?;
        match &self.what {
            What::Begins(fault) => write!(f, "begins: {fault}"),
            What::Ends(fault) => write!(f, "ends: {fault}"),
            What::Node {
                client,
                node,
                endpoint,
                ..
            } => write!(f, "client {client}: {node} is {endpoint}"),
            What::Call {
                client,
                call,
                answer: Answer::None,
            } => write!(f, "client {client}: {call}"),
            What::Call {
                client,
                call,
                answer,
            } => write!(f, "client {client}: {call} = {answer:?}"),
            What::Output { client, output } => write!(f, "client {client}:     {output}"),
        }
    }
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, sign, line: Option<&Line>| match line {
            Some(line) => write!(f, "\n{sign} {line}"),
            None => write!(f, "\n{sign} (the end)"),
        };
        write!(f, "after {} equal lines:", self.line)?;
        line(f, '-', self.left)?;
        line(f, '+', self.right)
    }
}
