//! A request: what is said about it, and the future that waits for its end.

use core::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    task::{Context, Poll},
};

use super::{
    Error, Runtime,
    handle::Inner,
    sync::{Arc, lock},
    waiters::Place,
};
use crate::{
    Limit, NodeId, RequestOptions, SubmitError,
    client::{Protocol, Response},
};

/// A request that is not submitted yet: `.await` it. The settings are those of [`RequestOptions`].
#[must_use = "a request does nothing unless it is awaited"]
pub struct Request<P: Protocol, R: Runtime> {
    inner: Arc<Inner<P, R>>,
    request: P::Request,
    options: RequestOptions,
}

impl<P: Protocol, R: Runtime> Request<P, R> {
    pub(super) const fn new(inner: Arc<Inner<P, R>>, request: P::Request) -> Self {
        Self {
            inner,
            request,
            options: RequestOptions::new(),
        }
    }

    /// For this node and no other. Default: for any.
    pub fn on(self, node: NodeId) -> Self {
        self.map(|options| options.on(node))
    }

    /// With this time for everything. Default:
    /// [`delivery_timeout`](crate::Config::delivery_timeout).
    pub fn timeout(self, timeout: impl Into<Limit>) -> Self {
        self.map(|options| options.timeout(timeout))
    }

    /// With this time for one attempt. Default:
    /// [`request_timeout`](crate::Config::request_timeout).
    pub fn request_timeout(self, timeout: impl Into<Limit>) -> Self {
        self.map(|options| options.request_timeout(timeout))
    }

    /// Carrying it out twice does no harm, so it may be tried again after it was written.
    pub fn idempotent(self) -> Self {
        self.map(RequestOptions::idempotent)
    }

    /// It fails as soon as every node, or its own, has failed an attempt since the submit.
    pub fn fail_fast(self) -> Self {
        self.map(RequestOptions::fail_fast)
    }

    /// It has no reply: it is complete when the transport has wholly accepted it.
    pub fn without_reply(self) -> Self {
        self.map(RequestOptions::without_reply)
    }

    /// With all these options, instead of what was said before.
    pub fn options(self, options: RequestOptions) -> Self {
        self.map(|_| options)
    }

    fn map(mut self, change: impl FnOnce(RequestOptions) -> RequestOptions) -> Self {
        self.options = change(self.options);
        self
    }
}

impl<P: Protocol, R: Runtime> IntoFuture for Request<P, R> {
    type Output = Result<Response<P::Reply>, Error>;
    type IntoFuture = ResponseFuture<P, R>;

    fn into_future(self) -> Self::IntoFuture {
        let Self {
            inner,
            request,
            options,
        } = self;
        ResponseFuture {
            inner,
            stage: Stage::New(Some(request), options),
        }
    }
}

impl<P: Protocol, R: Runtime> fmt::Debug for Request<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Waits for the end of a request. Dropping it cancels the request.
#[must_use = "futures do nothing unless they are awaited"]
pub struct ResponseFuture<P: Protocol, R: Runtime> {
    inner: Arc<Inner<P, R>>,
    stage: Stage<P::Request>,
}

enum Stage<Q> {
    /// Without a request it waits until one could be written.
    New(Option<Q>, RequestOptions),
    Waiting(Place),
    Over,
}

impl<P: Protocol, R: Runtime> ResponseFuture<P, R> {
    pub(super) const fn ready(inner: Arc<Inner<P, R>>, options: RequestOptions) -> Self {
        Self {
            inner,
            stage: Stage::New(None, options),
        }
    }
}

impl<P: Protocol, R: Runtime> Future for ResponseFuture<P, R> {
    type Output = Result<Response<P::Reply>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Inner { shared, runtime } = &*this.inner;
        match &mut this.stage {
            Stage::New(request, options) => {
                let (request, options) = (request.take(), *options);
                this.stage = Stage::Over;
                let waker = cx.waker().clone();
                let place = shared.call(|state| {
                    if state.ended {
                        return Err(SubmitError::Closed);
                    }
                    let now = runtime.now();
                    let id = match request {
                        Some(request) => state
                            .client
                            .submit(now, request, options)
                            .map_err(|r| r.error)?,
                        None => state.client.await_ready(now, options)?,
                    };
                    Ok(state.waiters.insert(id, waker))
                });
                this.stage = Stage::Waiting(place?);
                Poll::Pending
            }
            Stage::Waiting(place) => {
                let polled = lock(&shared.state).waiters.poll(*place, cx.waker());
                match polled {
                    Ok(result) => {
                        this.stage = Stage::Over;
                        Poll::Ready(result.map_err(Error::from))
                    }
                    Err(_earlier_waker) => Poll::Pending,
                }
            }
            Stage::Over => panic!("polled after it was ready"),
        }
    }
}

/// Nothing in it is pinned.
impl<P: Protocol, R: Runtime> Unpin for ResponseFuture<P, R> {}

impl<P: Protocol, R: Runtime> Drop for ResponseFuture<P, R> {
    fn drop(&mut self) {
        let Stage::Waiting(place) = self.stage else {
            return;
        };
        let Inner { shared, runtime } = &*self.inner;
        // What is returned is dropped without the lock.
        let _waiter = shared.call(|state| {
            let waiter = state.waiters.take(place);
            if waiter.waker.is_some() {
                state.client.cancel(runtime.now(), waiter.request);
            }
            waiter
        });
    }
}

impl<P: Protocol, R: Runtime> fmt::Debug for ResponseFuture<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
