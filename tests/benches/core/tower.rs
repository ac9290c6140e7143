//! The same job by tower: limit(timeout(p2c over 3 × pending(reconnect))) on an immediate mock.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
    time::Duration,
};

use tower::{
    BoxError, Service, ServiceExt,
    balance::p2c::Balance,
    discover::ServiceList,
    limit::ConcurrencyLimit,
    load::{CompleteOnResponse, PendingRequests},
    reconnect::Reconnect,
    timeout::Timeout,
};

/// Connects at once, and answers at once.
#[derive(Clone)]
struct Mock;

impl Service<u32> for Mock {
    type Response = u32;
    type Error = BoxError;
    type Future = Ready<Result<u32, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u32) -> Self::Future {
        ready(Ok(request))
    }
}

struct Connect;

impl Service<()> for Connect {
    type Response = Mock;
    type Error = Infallible;
    type Future = Ready<Result<Mock, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        ready(Ok(Mock))
    }
}

/// A stack that can be called over and over.
pub(crate) fn stack() -> impl Service<u32, Response = u32, Error = BoxError> {
    let node = || {
        let node = Reconnect::new(Connect, ());
        PendingRequests::new(node, CompleteOnResponse::default())
    };
    let nodes = ServiceList::new([node(), node(), node()]);
    let balance: Balance<_, u32> = Balance::new(nodes);
    ConcurrencyLimit::new(Timeout::new(balance, Duration::from_secs(30)), 1024)
}

/// So many calls, one after the other.
pub(crate) async fn run<S>(stack: &mut S, calls: u64)
where
    S: Service<u32, Response = u32, Error = BoxError>,
{
    for call in 0..calls {
        let call = call as u32;
        let service = stack.ready().await.expect("the mock never fails");
        let answer = service.call(call).await.expect("the mock never fails");
        assert_eq!(answer, call);
    }
}
