//! The invariants of the core, each as a small rule that sees every step.
//!
//! The rules keep books of their own, from what went in and what came out; of the core they read the
//! public getters only. Each cites what it checks, and the tests below show that each can fail. For
//! rules of your own see [`Checker`].

mod completions;
mod connections;
mod deadlines;
mod failures;
mod frames;
mod governor;
mod isolation;
mod ledger;
mod lists;
mod progress;
mod refreshes;
mod replies;
mod retries;
mod sessions;
mod shutdown;
mod slots;
mod stalls;
mod transitions;
mod unions;
mod upkeep;

#[cfg(test)]
mod bite;

use alloc::{boxed::Box, string::String, vec, vec::Vec};
use core::fmt;

use self::ledger::Ledger;
use crate::{Cluster, Config, Instant, NodeView, Output, Stats, record::Step};

/// Looks at every step of a run.
///
/// [`all`] has those of the core. Write one for what must hold of your own use of it:
///
/// ```
/// use redial::{
///     Action, Cluster, Config, Instant, Output,
///     record::{Call, Recorder, Step},
///     sim::{Checker, Violation, Watch},
/// };
///
/// /// At most so many transports are opened in the whole run.
/// struct FewDials {
///     left: usize,
/// }
///
/// impl Checker for FewDials {
///     fn after_step(&mut self, step: &Step, _cluster: &Cluster) -> Result<(), Violation> {
///         let dial = |output: &&Output| matches!(output, Output::Action(Action::Connect { .. }));
///         let dials = step.outputs.iter().filter(dial).count();
///         match self.left.checked_sub(dials) {
///             Some(left) => self.left = left,
///             None => {
///                 let what = format!("{dials} more, {} were left", self.left);
///                 return Err(Violation { rule: "few transports are opened", what });
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let watch = Watch::new(vec![Box::new(FewDials { left: 0 })]);
/// let now = Instant::ORIGIN;
/// let mut cluster = Recorder::observe(Config::default(), 7, now, Box::new(watch.clone()));
/// cluster.set_nodes(now, &["10.0.0.1:9092".parse()?])?;
/// cluster.drive(now, |_, _output| { /* carry it out */ });
/// assert!(watch.broken().is_none());
///
/// cluster.submit(now, redial::RequestOptions::new())?;
/// cluster.drive(now, |_, _output| { /* carry it out */ });
/// let broken = watch.broken().expect("a transport was opened");
/// assert_eq!(broken.violation.rule, "few transports are opened");
/// assert!(matches!(broken.steps.last().unwrap().call, Call::Submit(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Checker: Send + Sync {
    /// Called after each step, when its outputs have been drained, until something does not hold.
    ///
    /// # Errors
    ///
    /// What does not hold.
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation>;

    /// How many rules it looks after, for [`Run::checks`](super::Run::checks). Default: one.
    fn rules(&self) -> usize {
        1
    }

    /// Called once, when the run is over: the cluster was shut down and has had the time of its drain.
    ///
    /// # Errors
    ///
    /// What should have come to its end, and did not.
    fn at_end(&mut self, now: Instant, cluster: &Cluster) -> Result<(), Violation> {
        let _ = (now, cluster);
        Ok(())
    }
}

/// A rule that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which rule.
    pub rule: &'static str,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

/// All invariants of the core that a step can show, for a cluster with this configuration. They must
/// see every step from the first. A clone knows what the original knows, for a run that forks.
#[must_use]
pub fn all(config: &Config) -> impl Checker + Clone + use<> {
    Rules::new(config, rules(config))
}

/// A rule of the core.
trait Rule: CloneRule + Send + Sync {
    /// Nothing of the step is booked.
    fn before_call(&mut self, _step: &Step, _ledger: &Ledger) {}

    /// The call is booked, none of its outputs is.
    fn after_call(&mut self, _seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        Ok(())
    }

    /// All outputs before this one are booked.
    fn on_output(
        &mut self,
        _output: &Output,
        _seen: &Seen<'_>,
        _ledger: &Ledger,
    ) -> Result<(), Violation> {
        Ok(())
    }

    /// The whole step is booked.
    fn after_step(&mut self, _seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        Ok(())
    }

    /// As [`Checker::at_end`].
    fn at_end(&mut self, _cluster: &Cluster, _ledger: &Ledger) -> Result<(), Violation> {
        Ok(())
    }
}

/// What `Clone` is to a rule whose type is not known.
trait CloneRule {
    fn clone_rule(&self) -> Box<dyn Rule>;
}

impl<R: Rule + Clone + 'static> CloneRule for R {
    fn clone_rule(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Rule> {
    fn clone(&self) -> Self {
        (**self).clone_rule()
    }
}

/// A step, and what several rules read of the core after it.
struct Seen<'a> {
    step: &'a Step,
    cluster: &'a Cluster,
    nodes: Vec<NodeView<'a>>,
    stats: Stats,
}

/// Rules, and the books that they share.
#[derive(Clone)]
struct Rules {
    ledger: Ledger,
    rules: Vec<Box<dyn Rule>>,
}

impl Rules {
    fn new(config: &Config, rules: Vec<Box<dyn Rule>>) -> Self {
        let ledger = Ledger::new(config);
        Self { ledger, rules }
    }
}

impl Checker for Rules {
    fn rules(&self) -> usize {
        self.rules.len()
    }

    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        let Self { ledger, rules } = self;
        let seen = Seen {
            step,
            cluster,
            nodes: cluster.nodes().collect(),
            stats: cluster.stats(),
        };
        for rule in &mut *rules {
            rule.before_call(step, ledger);
        }
        ledger.begin(step, cluster);
        for rule in &mut *rules {
            rule.after_call(&seen, ledger)?;
        }
        for output in &step.outputs {
            for rule in &mut *rules {
                rule.on_output(output, &seen, ledger)?;
            }
            ledger.output(output);
        }
        for rule in rules {
            rule.after_step(&seen, ledger)?;
        }
        Ok(())
    }

    fn at_end(&mut self, _now: Instant, cluster: &Cluster) -> Result<(), Violation> {
        let Self { ledger, rules } = self;
        rules
            .iter_mut()
            .try_for_each(|rule| rule.at_end(cluster, ledger))
    }
}

fn rules(config: &Config) -> Vec<Box<dyn Rule>> {
    vec![
        Box::new(shutdown::Shutdown::default()),
        Box::new(completions::Completions::default()),
        Box::new(replies::Replies::default()),
        Box::new(retries::Retries::new(config)),
        Box::new(slots::Slots::new(config)),
        Box::new(frames::Frames::default()),
        Box::new(isolation::Isolation::default()),
        Box::new(connections::Connections::new(config)),
        Box::new(transitions::Transitions::new(config)),
        Box::new(failures::Failures::new(config)),
        Box::new(governor::Governor::new(config)),
        Box::new(upkeep::Upkeep::new(config)),
        Box::new(stalls::Stalls::new(config)),
        Box::new(sessions::Sessions::default()),
        Box::new(progress::Progress::new(config)),
        Box::new(lists::Lists::new(config)),
        Box::new(refreshes::Refreshes::new(config)),
        Box::new(unions::Unions::new(config)),
        // Last, as the others say better what is late.
        Box::new(deadlines::Deadlines::new(config)),
    ]
}

/// `Err` with the rule and what was seen, unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $rule:expr, $($what:tt)+) => {
        if !$condition {
            let what = alloc::format!($($what)+);
            return Err(crate::sim::Violation { rule: $rule, what });
        }
    };
}
use ensure;
