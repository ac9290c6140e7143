//! [`Workload`]: what the application above a client does.

use core::time::Duration;
use std::{boxed::Box, string::String};

use crate::{
    Hint, Instant, NodeId, NodeSpec, RequestError, RequestId, RequestOptions, SetNodesError,
    client::{Client, Protocol, Refused, Response},
};

/// What the application above a client does. It has no clock: it is called at the start, at the times
/// that it asks for, and when something happens to it.
pub trait Workload<P: Protocol>: Send {
    /// Called at the start and then at the time that it returned last; `None`: not again.
    fn act(&mut self, app: &mut App<'_, P>) -> Option<Instant>;

    /// One of its requests is complete. Default: nothing.
    fn completed(
        &mut self,
        app: &mut App<'_, P>,
        request: RequestId,
        result: &Result<Response<P::Reply>, RequestError>,
    ) {
        let _ = (app, request, result);
    }

    /// A server has sent something unasked. Default: nothing.
    fn pushed(&mut self, app: &mut App<'_, P>, node: NodeId, push: P::Push) {
        let _ = (app, node, push);
    }
}

/// What a workload can do: the client, and the time.
pub struct App<'a, P: Protocol> {
    pub(super) now: Instant,
    pub(super) client: &'a mut Client<P>,
    pub(super) failure: &'a mut Option<String>,
    pub(super) is_over: bool,
    pub(super) calm_from: Instant,
}

impl<P: Protocol> App<'_, P> {
    /// The time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The client, to read of it what can be read.
    #[must_use]
    pub const fn client(&self) -> &Client<P> {
        self.client
    }

    /// Whether the simulation is at its end: the client is being shut down and takes no requests.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// From when on nothing is wrong any more, by the schedule.
    #[must_use]
    pub const fn calm_from(&self) -> Instant {
        self.calm_from
    }

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// As [`Client::submit`].
    pub fn submit(
        &mut self,
        request: P::Request,
        options: RequestOptions,
    ) -> Result<RequestId, Refused<P::Request>> {
        self.client.submit(self.now, request, options)
    }

    /// Gives up a request, as [`Client::cancel`].
    pub fn cancel(&mut self, request: RequestId) -> bool {
        self.client.cancel(self.now, request)
    }

    /// Replaces the server list, of entries such as [`listed_by_name`](super::listed_by_name) gives. The
    /// next fault that changes which servers are listed replaces it in turn, unless the configuration
    /// has sources.
    ///
    /// # Errors
    ///
    /// As [`Client::set_nodes`]; the old list then stays.
    pub fn set_nodes(&mut self, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        self.client.set_nodes(self.now, list)
    }

    /// Replaces the fallback list.
    ///
    /// # Errors
    ///
    /// As [`Client::set_fallback`]; the old one then stays.
    pub fn set_fallback(&mut self, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        self.client.set_fallback(self.now, list)
    }

    /// Tells what it knows from elsewhere, as [`Client::hint`].
    pub fn hint(&mut self, hint: Hint) {
        self.client.hint(self.now, hint);
    }

    /// Ends the run: what must not happen has happened. The first one counts.
    pub fn fail(&mut self, what: impl Into<String>) {
        self.failure.get_or_insert(what.into());
    }
}

/// Requests at a steady pace, or so many in flight at all times.
pub struct Load<P: Protocol> {
    request: Box<dyn FnMut(u64) -> P::Request + Send>,
    options: RequestOptions,
    pace: Pace,
    sent: u64,
    most: u64,
}

#[derive(Clone, Copy)]
enum Pace {
    Every(Duration),
    InFlight(u32),
}

/// How often those that failed or were refused are replaced.
const TOP_UP: Duration = Duration::from_millis(10);

impl<P: Protocol> Load<P> {
    /// A request every so often, whatever becomes of them: the n-th, from 0, as the closure says.
    pub fn every(
        period: Duration,
        request: impl FnMut(u64) -> P::Request + Send + 'static,
    ) -> Self {
        Self::new(Pace::Every(period), request)
    }

    /// So many requests at all times: when one is complete the next one is sent, after a failure or
    /// a refusal within 10 ms.
    pub fn in_flight(count: u32, request: impl FnMut(u64) -> P::Request + Send + 'static) -> Self {
        Self::new(Pace::InFlight(count), request)
    }

    fn new(pace: Pace, request: impl FnMut(u64) -> P::Request + Send + 'static) -> Self {
        Self {
            request: Box::new(request),
            options: RequestOptions::new(),
            pace,
            sent: 0,
            most: u64::MAX,
        }
    }

    /// With these options. Default: [`RequestOptions::new`].
    #[must_use]
    pub fn options(self, options: RequestOptions) -> Self {
        Self { options, ..self }
    }

    /// At most so many in all.
    #[must_use]
    pub fn at_most(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Sends the next one. Whether it was accepted.
    fn send(&mut self, app: &mut App<'_, P>) -> bool {
        let request = (self.request)(self.sent);
        let accepted = app.submit(request, self.options).is_ok();
        self.sent += u64::from(accepted);
        accepted
    }
}

impl<P: Protocol> Workload<P> for Load<P>
where
    Self: Send,
{
    fn act(&mut self, app: &mut App<'_, P>) -> Option<Instant> {
        if app.is_over() || self.sent == self.most {
            return None;
        }
        match self.pace {
            Pace::Every(period) => {
                self.send(app);
                Some(app.now() + period)
            }
            Pace::InFlight(count) => {
                let open = app.client().cluster().stats().open_requests as u64;
                let missing = u64::from(count).saturating_sub(open);
                for _ in 0..missing.min(self.most - self.sent) {
                    if !self.send(app) {
                        break;
                    }
                }
                Some(app.now() + TOP_UP)
            }
        }
    }

    fn completed(
        &mut self,
        app: &mut App<'_, P>,
        _: RequestId,
        result: &Result<Response<P::Reply>, RequestError>,
    ) {
        // After a failure the next one is not sent at once, or a client that fails at once would
        // have no rest.
        let next = matches!(self.pace, Pace::InFlight(_)) && result.is_ok();
        if next && !app.is_over() && self.sent < self.most {
            self.send(app);
        }
    }
}

impl<P: Protocol> core::fmt::Debug for App<'_, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("App")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl<P: Protocol> core::fmt::Debug for Load<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Load")
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}
