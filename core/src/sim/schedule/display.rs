//! A schedule as text.

use core::fmt::{self, Display, Formatter};

use super::{Occurrence, Schedule, duration::Text};
use crate::{
    Instant,
    sim::fault::{Fault, Target, Way},
};

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        writeln!(f, "servers {}", self.servers)?;
        writeln!(f, "lasts {}", Text(self.lasts))?;
        self.faults
            .iter()
            .try_for_each(|fault| writeln!(f, "{fault}"))
    }
}

impl Display for Occurrence {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "at {}", Text(self.at - Instant::ORIGIN))?;
        if !self.fault.is_instant() || !self.lasts.is_zero() {
            write!(f, " for {}", Text(self.lasts))?;
        }
        if !self.fault.has_no_target() || self.target != Target::All {
            write!(f, " {}", self.target)?;
        }
        write!(f, " {}", self.fault)
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match *self {
            Self::Slow(time) | Self::Throttle(time) => write!(f, " {}", Text(time)),
            Self::Partition(way) | Self::Stall(way) => write!(f, " {way}"),
            Self::Latency { by, jitter } if jitter.is_zero() => write!(f, " {}", Text(by)),
            Self::Latency { by, jitter } => write!(f, " {} jitter {}", Text(by), Text(jitter)),
            Self::Bandwidth(rate) => write!(f, " {rate}"),
            Self::NameMoves(server) => write!(f, " to server {server}"),
            _ => Ok(()),
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(server) => write!(f, "server {server}"),
            Self::All => f.write_str("all"),
        }
    }
}

impl Display for Way {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ToServer => "to-server",
            Self::ToClient => "to-client",
            Self::Both => "both",
        })
    }
}
