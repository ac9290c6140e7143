//! Sources of server lists.

use std::time::Duration;

use redial::{Input, NodeSpec, RefreshId, SourceId, record::Call};

use super::{Due, World, Wrong, address};

/// What a source does when it is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tells {
    /// A list.
    List {
        /// Its version.
        version: Option<u64>,
        /// The list, which need not make sense.
        list: Vec<NodeSpec>,
        /// The answer takes so long.
        after: Duration,
        /// It comes twice.
        twice: bool,
    },
    /// Now this, next time that, and so on.
    Flaps(Vec<NodeSpec>, Vec<NodeSpec>),
    /// It cannot be asked.
    Fails,
    /// Nothing, ever.
    Silent,
}

/// An answer under way.
#[derive(Clone, Debug)]
pub(super) enum Told {
    List(Option<u64>, Vec<NodeSpec>),
    Failure,
}

impl Tells {
    /// All servers by address, soon.
    pub(super) fn all(servers: usize) -> Self {
        let list = (0..servers).map(|server| NodeSpec::new(address(server)));
        Self::List {
            version: None,
            list: list.collect(),
            after: Duration::from_millis(5),
            twice: false,
        }
    }
}

impl World {
    /// The source is asked.
    pub(super) fn ask(&mut self, refresh: RefreshId, source: SourceId) {
        let soon = self.now + Duration::from_millis(5);
        match &mut self.sources[source.index()] {
            Tells::List {
                version,
                list,
                after,
                twice,
            } => {
                let at = self.now + *after;
                for _ in 0..=u8::from(*twice) {
                    let told = Told::List(*version, list.clone());
                    self.events.add(at, Due::Told(refresh, told));
                }
            }
            Tells::Flaps(list, next) => {
                let told = Told::List(None, list.clone());
                self.events.add(soon, Due::Told(refresh, told));
                std::mem::swap(list, next);
            }
            Tells::Fails => self.events.add(soon, Due::Told(refresh, Told::Failure)),
            Tells::Silent => {}
        }
    }

    pub(super) fn told(&mut self, refresh: RefreshId, told: Told) -> Result<(), Wrong> {
        self.call(match told {
            Told::List(version, list) => Call::Refreshed(refresh, version, list),
            Told::Failure => Call::Input(Input::RefreshFailed { refresh }),
        })
    }

    pub(super) fn source_changes(&mut self, source: usize, tells: Tells) {
        let count = self.sources.len();
        if count > 0 {
            self.sources[source % count] = tells;
        }
    }
}
