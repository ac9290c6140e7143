//! The futures that wait for their request: a table under the driver's lock, so that a request
//! costs no allocation.

use core::task::Waker;
use std::vec::Vec;

use crate::RequestId;

/// A waiter's place in the table. It belongs to one future from `insert` to `take`.
pub(super) type Place = usize;

/// Who waits for which request.
///
/// A request's index is used again as soon as the request is complete, while its result may lie
/// here until its future is polled. So places are handed out on their own, and `of_request` leads
/// from a request's index to a place. It is never cleared: the id in the place tells whether it
/// still holds.
pub(super) struct Waiters<T> {
    places: Vec<Waiter<T>>,
    free: Vec<Place>,
    of_request: Vec<Place>,
    waiting: usize,
}

/// One future. Its waker is there while it waits, its result from the completion on.
pub(super) struct Waiter<T> {
    pub(super) request: RequestId,
    pub(super) waker: Option<Waker>,
    pub(super) result: Option<T>,
}

impl<T> Waiters<T> {
    pub(super) const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            of_request: Vec::new(),
            waiting: 0,
        }
    }

    /// How many requests are waited for.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// From now on `waker` waits for `request`.
    pub(super) fn insert(&mut self, request: RequestId, waker: Waker) -> Place {
        let place = match self.free.pop() {
            Some(place) => {
                // Its result was taken.
                let waiter = &mut self.places[place];
                waiter.request = request;
                waiter.waker = Some(waker);
                place
            }
            None => {
                self.places.push(Waiter {
                    request,
                    waker: Some(waker),
                    result: None,
                });
                self.places.len() - 1
            }
        };
        if self.of_request.len() <= request.index() {
            self.of_request.resize(request.index() + 1, Place::MAX);
        }
        self.of_request[request.index()] = place;
        self.waiting += 1;
        place
    }

    /// The request is complete. Returns whom to wake, or the result if nobody waits (any more).
    pub(super) fn complete(&mut self, request: RequestId, result: T) -> Result<Waker, T> {
        let place = self
            .of_request
            .get(request.index())
            .copied()
            .unwrap_or(Place::MAX);
        if let Some(waiter) = self.places.get_mut(place)
            && waiter.request == request
            && let Some(waker) = waiter.waker.take()
        {
            mutant!(KeepsWaker => waiter.waker = Some(waker.clone()));
            waiter.result = Some(result);
            self.waiting -= 1;
            return Ok(waker);
        }
        Err(result)
    }

    /// The result, if it is there; then the place is free. Else `waker` waits, and the one that it
    /// replaces is returned, to be dropped without the lock.
    pub(super) fn poll(&mut self, place: Place, waker: &Waker) -> Result<T, Option<Waker>> {
        let waiter = &mut self.places[place];
        match (waiter.result.take(), &mut waiter.waker) {
            (Some(result), _) => {
                self.free.push(place);
                Ok(result)
            }
            (None, Some(known)) if known.will_wake(waker) || mutant!(KeepsFirstWaker) => Err(None),
            (None, known) => Err(known.replace(waker.clone())),
        }
    }

    /// The future is gone: frees its place and returns what was there, to be dropped without the
    /// lock.
    pub(super) fn take(&mut self, place: Place) -> Waiter<T> {
        self.free.push(place);
        let waiter = &mut self.places[place];
        let (waker, result) = (waiter.waker.take(), waiter.result.take());
        self.waiting -= usize::from(waker.is_some());
        Waiter {
            request: waiter.request,
            waker,
            result,
        }
    }

    /// Completes everyone who still waits.
    pub(super) fn complete_all(&mut self, result: impl Fn() -> T, wake: &mut Vec<Waker>) {
        for waiter in &mut self.places {
            if let Some(waker) = waiter.waker.take() {
                waiter.result = Some(result());
                wake.push(waker);
            }
        }
        self.waiting = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(index: u32, generation: u32) -> RequestId {
        RequestId { index, generation }
    }

    fn poll(waiters: &mut Waiters<&'static str>, place: Place) -> Option<&'static str> {
        waiters.poll(place, Waker::noop()).ok()
    }

    #[test]
    fn a_result_waits_for_its_future_while_the_index_is_used_again() {
        let mut waiters = Waiters::new();
        let first = waiters.insert(request(0, 0), Waker::noop().clone());
        assert!(waiters.complete(request(0, 0), "first").is_ok());
        let second = waiters.insert(request(0, 1), Waker::noop().clone());
        assert_eq!(poll(&mut waiters, second), None);
        assert!(waiters.complete(request(0, 1), "second").is_ok());
        assert_eq!(poll(&mut waiters, first), Some("first"));
        assert_eq!(poll(&mut waiters, second), Some("second"));
    }

    #[test]
    fn a_result_that_nobody_waits_for_is_given_back() {
        let mut waiters = Waiters::new();
        assert!(waiters.complete(request(3, 0), "unknown").is_err());
        let place = waiters.insert(request(3, 1), Waker::noop().clone());
        assert!(waiters.complete(request(3, 0), "stale").is_err());
        assert_eq!(waiters.take(place).request, request(3, 1));
        assert!(waiters.complete(request(3, 1), "dropped").is_err());
        assert_eq!(waiters.waiting(), 0);
    }

    #[test]
    fn a_place_is_used_again() {
        let mut waiters = Waiters::<()>::new();
        let place = waiters.insert(request(0, 0), Waker::noop().clone());
        waiters.take(place);
        assert_eq!(waiters.insert(request(1, 0), Waker::noop().clone()), place);
        assert_eq!(waiters.places.len(), 1);
    }

    #[test]
    fn the_end_completes_those_who_wait_and_no_others() {
        let mut waiters = Waiters::new();
        let done = waiters.insert(request(0, 0), Waker::noop().clone());
        let open = waiters.insert(request(1, 0), Waker::noop().clone());
        assert!(waiters.complete(request(0, 0), "reply").is_ok());
        let mut wake = Vec::new();
        waiters.complete_all(|| "closed", &mut wake);
        assert_eq!((wake.len(), waiters.waiting()), (1, 0));
        assert_eq!(poll(&mut waiters, done), Some("reply"));
        assert_eq!(poll(&mut waiters, open), Some("closed"));
    }
}
