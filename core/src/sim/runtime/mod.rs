//! [`VirtualWorld`]: a runtime on virtual time, on which the driver and the handle run unchanged.

mod executor;
mod slots;
mod stream;
mod timer;

use core::{future::Future, net::SocketAddr, time::Duration};
use std::{
    boxed::Box,
    io,
    string::ToString,
    sync::{Arc, Mutex, Weak},
    vec::Vec,
};

pub use executor::Stalled;
use executor::Tasks;
use slots::{Slot, Slots};
pub use {
    stream::VirtualStream,
    timer::{Sleep, VirtualTimer},
};

use super::{
    schedule::Schedule,
    server::Server,
    tap::{Seen, Tap, lock},
    trace::Trace,
    watch::{Broken, Watch},
    world::{World, listed_by_name},
};
use crate::{
    ConnectError, Instant, NodeSpec,
    driver::{Handle, Runtime, Transport},
    record::Observer,
};

/// A client's handle on virtual time.
pub type VirtualClient<P> = Handle<P, Virtual>;

/// A world of servers on virtual time, with a [runtime](Virtual) in it: the same handle, the same
/// driver and the code above them run in it unchanged, on one thread, and a schedule says what goes
/// wrong. Time goes on when nobody has anything to do. Dropping it drops all tasks, as that of a
/// runtime does.
///
/// ```
/// use std::time::Duration;
///
/// use redial::{
///     client::length_prefixed::LengthPrefixed,
///     sim::{Fault, Schedule, Service, Target, VirtualClient, VirtualWorld},
/// };
///
/// let hour = Duration::from_secs(3600);
/// let schedule = Schedule::new(1, 2, hour).fault(hour / 4, hour / 2, Target::Server(0), Fault::Crash);
/// let world = VirtualWorld::new(&schedule, |_| Service::echo(Duration::from_millis(1)));
/// let client = VirtualClient::builder(LengthPrefixed::new())
///     .nodes(world.servers())
///     .runtime(world.runtime())
///     .seed(1)
///     .build()?;
/// world.block_on(async {
///     for _ in 0..60 {
///         world.sleep(Duration::from_secs(60)).await;
///         let response = client.request("ping".into()).idempotent().await?;
///         assert_eq!(response.reply.as_deref(), Some(&b"ping"[..]));
///     }
///     client.shutdown(Duration::ZERO).await?;
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct VirtualWorld {
    runtime: Virtual,
    tasks: Arc<Tasks>,
    seen: Arc<Mutex<Seen>>,
    /// Of the clients that are observed.
    watches: Mutex<Vec<Watch>>,
}

/// The runtime of a [`VirtualWorld`].
#[derive(Clone)]
pub struct Virtual {
    shared: Arc<Mutex<Shared>>,
    tasks: Weak<Tasks>,
}

/// The world, and who waits for what in it.
struct Shared {
    world: World,
    slots: Slots,
}

impl VirtualWorld {
    /// The world that a schedule makes, with servers as the closure makes them, by number from 0. It
    /// stands at the [origin](Instant::ORIGIN) of time; the schedule's duration is of no meaning here.
    pub fn new<S: Server + 'static>(schedule: &Schedule, server: impl Fn(u32) -> S) -> Self {
        // As a simulation's servers are by default.
        let (latency, jitter) = (Duration::from_millis(1), Duration::from_micros(200));
        let world = World::new(schedule.clone(), latency, jitter, |number| {
            Box::new(server(number))
        });
        let tasks = Arc::new(Tasks::default());
        let slots = Slots::default();
        Self {
            runtime: Virtual {
                shared: Arc::new(Mutex::new(Shared { world, slots })),
                tasks: Arc::downgrade(&tasks),
            },
            tasks,
            seen: Arc::new(Mutex::new(Seen {
                trace: Some(Trace::default()),
                events: 0,
            })),
            watches: Mutex::default(),
        }
    }

    /// The runtime, for [`Builder::runtime`](crate::driver::Builder::runtime).
    #[must_use]
    pub fn runtime(&self) -> Virtual {
        self.runtime.clone()
    }

    /// The servers that are listed now, by name.
    #[must_use]
    pub fn servers(&self) -> Vec<NodeSpec> {
        let list = lock(&self.runtime.shared).world.list().into_iter();
        list.map(listed_by_name).collect()
    }

    /// As [`Virtual::sleep`].
    pub fn sleep(&self, time: Duration) -> Sleep {
        self.runtime.sleep(time)
    }

    /// For [`Builder::observe`](crate::driver::Builder::observe): what happens to this client's core
    /// is in the [trace](Self::trace), and each step of it is checked. Clients are numbered from 0 in
    /// the order of these calls.
    #[must_use]
    pub fn observer(&self) -> Box<dyn Observer> {
        let mut watches = lock(&self.watches);
        let number = watches.len() as u32;
        let watch = Watch::new(Vec::new());
        watches.push(watch.clone());
        Box::new(Tap::new(number, Arc::clone(&self.seen), Some(watch)))
    }

    /// The first rule of the core that did not hold for an observed client, if there is one.
    #[must_use]
    pub fn broken(&self) -> Option<Broken> {
        lock(&self.watches).iter().find_map(Watch::broken)
    }

    /// All that has happened so far.
    #[must_use]
    pub fn trace(&self) -> Trace {
        lock(&self.seen).trace.clone().unwrap_or_default()
    }
}

impl Virtual {
    /// Waits for so long.
    pub fn sleep(&self, time: Duration) -> Sleep {
        Sleep::new(self, time)
    }

    fn slot(&self) -> Slot {
        Slot::new(self)
    }
}

impl Transport for Virtual {
    type Stream = VirtualStream;

    fn connect(
        &self,
        _: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<VirtualStream, ConnectError>> + Send + 'static {
        let slot = self.slot();
        async move {
            let link = slot.with(|world, owner| world.dial(owner, address));
            let stream = VirtualStream::new(slot, link);
            stream.connected().await?;
            Ok(stream)
        }
    }
}

impl Runtime for Virtual {
    type Timer = VirtualTimer;

    /// None: the world must be named.
    fn current() -> Option<Self> {
        None
    }

    fn now(&self) -> Instant {
        lock(&self.shared).world.now
    }

    fn timer(&self) -> VirtualTimer {
        VirtualTimer::new(self.slot())
    }

    fn resolve(
        &self,
        host: &str,
        _port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static {
        let (slot, host) = (self.slot(), host.to_string());
        async move {
            slot.with(|world, owner| world.resolve(owner, 0, &host));
            let addresses = slot.resolved().await;
            addresses.ok_or_else(|| io::ErrorKind::NotFound.into())
        }
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = self.tasks.upgrade() {
            tasks.add(Box::pin(driver));
        }
    }
}

impl core::fmt::Debug for VirtualWorld {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("VirtualWorld").finish_non_exhaustive()
    }
}

impl core::fmt::Debug for Virtual {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Virtual").finish_non_exhaustive()
    }
}
