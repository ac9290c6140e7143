//! [`Connection`]: the bytes of one connection, in and out.

use alloc::collections::VecDeque;

use bytes::{Buf, BytesMut};

use crate::{NodeId, RefreshId, ReplyTo, RequestId};

/// A new frame starts only while fewer bytes are handed over and not accepted (SEMANTICS 4.3).
const WRITE_WINDOW: usize = 64 * 1024;

/// So many frames are handed over in one piece, that the peer may begin with them while the next are
/// encoded.
const FRAMES_AT_ONCE: usize = 512;

/// An empty buffer with room for so many bytes is given back.
const KEPT_CAPACITY: usize = 256 * 1024;

/// A connection whose transport is up.
#[derive(Debug)]
pub(super) struct Connection<S> {
    pub(super) node: NodeId,
    /// What the protocol remembers of it.
    pub(super) state: S,
    /// The handshake is done, or there is none.
    pub(super) ready: bool,
    /// Bytes that came and are no whole frame yet.
    pub(super) input: BytesMut,
    /// Bytes that are handed over and not accepted.
    pub(super) output: BytesMut,
    /// How many were accepted before them.
    accepted: u64,
    /// Frames whose end is not accepted: the count of bytes at their end, and their serial.
    frames: VecDeque<(u64, u32)>,
    /// Writes that are not encoded. Some may have been withdrawn since.
    writes: VecDeque<PendingWrite>,
    /// So many of them are looked through for withdrawn ones.
    writes_looked_through_at: usize,
    /// Requests sent whose replies are matched by order and have not come.
    unanswered: u64,
    /// What the server was asked for its cluster's list, and has not answered.
    pub(super) discoveries: VecDeque<RefreshId>,
    /// A Transmit action is out, and `transmit` has not been called since.
    announced: bool,
}

/// A Write action that is not encoded yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingWrite {
    pub(super) request: RequestId,
    pub(super) serial: u32,
}

impl<S> Connection<S> {
    pub(super) fn new(node: NodeId, state: S, ready: bool) -> Self {
        Self {
            node,
            state,
            ready,
            input: BytesMut::new(),
            output: BytesMut::new(),
            accepted: 0,
            frames: VecDeque::new(),
            writes: VecDeque::new(),
            writes_looked_through_at: 64,
            unanswered: 0,
            discoveries: VecDeque::new(),
            announced: false,
        }
    }

    /// Whether a Transmit action is due, which then counts as given out.
    pub(super) const fn announce(&mut self) -> bool {
        !core::mem::replace(&mut self.announced, true)
    }

    /// `transmit` was called.
    pub(super) const fn announcement_heard(&mut self) {
        self.announced = false;
    }

    /// Queues a Write. Withdrawn ones stay queued until their turn, or until so many wait that it
    /// pays to look for them with `may_write`.
    pub(super) fn queue(&mut self, write: PendingWrite, may_write: impl Fn(u32) -> bool) {
        if self.writes.len() >= self.writes_looked_through_at {
            self.writes.retain(|write| may_write(write.serial));
            self.writes_looked_through_at = (2 * self.writes.len()).max(64);
        }
        self.writes.push_back(write);
    }

    /// The next Write to be encoded, if a frame may start now.
    pub(super) fn next_write(&mut self) -> Option<PendingWrite> {
        match self.output.len() < WRITE_WINDOW && self.frames.len() < FRAMES_AT_ONCE {
            true => self.writes.pop_front(),
            false => None,
        }
    }

    /// What was just appended to the output ends the frame with this serial.
    pub(super) fn frame_ends(&mut self, serial: u32, expects_reply: bool) {
        self.unanswered += u64::from(expects_reply);
        self.frames
            .push_back((self.accepted + self.output.len() as u64, serial));
    }

    /// How many frames are handed over and not wholly accepted.
    pub(super) fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Of these all but the first so many, by serial.
    pub(super) fn frames_from(&self, first: usize) -> impl Iterator<Item = u32> {
        self.frames.range(first..).map(|(_, serial)| *serial)
    }

    /// Takes note of a reply; false if it answers what was not sent. The cluster lets a reply stand
    /// for the news that its request was written, so a peer that answers ahead is found out here.
    pub(super) fn can_be_answered(&mut self, to: ReplyTo) -> bool {
        match to {
            ReplyTo::Serial(serial) => {
                let ahead = |next: &PendingWrite| serial.wrapping_sub(next.serial) < 1 << 31;
                !self.writes.front().is_some_and(ahead)
            }
            ReplyTo::Oldest => {
                let sent = self.unanswered > 0;
                self.unanswered = self.unanswered.saturating_sub(1);
                sent
            }
        }
    }

    /// The transport accepted `count` bytes.
    pub(super) fn accept(&mut self, count: usize) {
        self.output.advance(count);
        self.accepted += count as u64;
        trim(&mut self.output);
    }

    /// A frame that was wholly accepted, once each.
    pub(super) fn next_accepted_frame(&mut self) -> Option<u32> {
        let (_, serial) = *self
            .frames
            .front()
            .filter(|(end, _)| *end <= self.accepted)?;
        self.frames.pop_front();
        Some(serial)
    }

    /// Every whole frame was taken from the input.
    pub(super) fn trim_input(&mut self) {
        trim(&mut self.input);
    }
}

/// Gives back a buffer that a huge frame has grown.
fn trim(buffer: &mut BytesMut) {
    if buffer.is_empty() && buffer.try_reclaim(KEPT_CAPACITY) {
        *buffer = BytesMut::new();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn connection() -> Connection<()> {
        let node = NodeId {
            index: 0,
            generation: 0,
        };
        Connection::new(node, (), true)
    }

    fn write(serial: u32) -> PendingWrite {
        let request = RequestId {
            index: 0,
            generation: serial,
        };
        PendingWrite { request, serial }
    }

    #[test]
    fn withdrawn_writes_do_not_pile_up_behind_those_that_wait() {
        for (wait, most) in [(1, 64), (100, 200)] {
            let mut connection = connection();
            for serial in 0..10_000 {
                connection.queue(write(serial), |serial| serial < wait);
            }
            assert!(connection.writes.len() <= most);
            assert_eq!(connection.next_write().map(|write| write.serial), Some(0));
        }
    }

    #[test]
    fn after_so_many_frames_the_next_waits_until_some_were_accepted() {
        let mut connection = connection();
        for serial in 0..=FRAMES_AT_ONCE as u32 {
            connection.queue(write(serial), |_| true);
        }
        while let Some(write) = connection.next_write() {
            connection.output.extend_from_slice(b"frame");
            connection.frame_ends(write.serial, true);
        }
        assert_eq!(connection.frames(), FRAMES_AT_ONCE);
        connection.accept(5);
        assert_eq!(connection.next_accepted_frame(), Some(0));
        assert!(connection.next_write().is_some());
    }

    #[test]
    fn what_a_huge_frame_took_is_given_back() {
        let mut connection = connection();
        for size in [10, 1 << 20, 10] {
            connection.output.extend_from_slice(&vec![0; size]);
            connection.frame_ends(7, true);
            connection.accept(size - 1);
            assert_eq!(connection.next_accepted_frame(), None);
            connection.accept(1);
            assert_eq!(connection.next_accepted_frame(), Some(7));
            assert!(!connection.output.try_reclaim(KEPT_CAPACITY));

            connection.input.extend_from_slice(&vec![0; size]);
            connection.input.advance(size);
            connection.trim_input();
            assert!(!connection.input.try_reclaim(KEPT_CAPACITY));
        }
    }

    #[test]
    fn only_what_was_sent_can_be_answered_also_where_serials_wrap() {
        let mut connection = connection();
        assert!(connection.can_be_answered(ReplyTo::Serial(u32::MAX)));
        connection.queue(write(u32::MAX), |_| true);
        connection.queue(write(0), |_| true);
        for (serial, expected) in [
            (u32::MAX - 1, true),
            (u32::MAX, false),
            (0, false),
            (1, false),
        ] {
            assert_eq!(
                connection.can_be_answered(ReplyTo::Serial(serial)),
                expected,
                "{serial}"
            );
        }
    }
}
