//! One direction of a connection.

use core::time::Duration;
use std::collections::VecDeque;

use bytes::{Buf, BytesMut};

use crate::{CloseError, Instant};

/// So many bytes may be on their way, or unread.
const WINDOW: usize = 64 * 1024;

/// Bytes on their way, and those that have arrived and were not taken.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// All of them, the oldest first.
    bytes: BytesMut,
    /// How many have arrived.
    arrived: usize,
    /// When the others arrive: so many at that time.
    transit: VecDeque<(Instant, usize)>,
    /// When the sender's line is free.
    free_at: Instant,
    /// Comes after all bytes.
    end: Option<(Instant, CloseError)>,
    end_arrived: bool,
    /// When bytes were accepted last.
    accepted_at: Option<Instant>,
    /// The sender was told that there is no room.
    pub(super) is_full: bool,
}

/// How long it takes to pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) latency: Duration,
    /// Bytes a second.
    pub(super) bandwidth: Option<u32>,
    /// So many bytes at a time.
    pub(super) piece: Option<usize>,
}

impl Pipe {
    /// Accepts as many bytes as there is room for, and says when they arrive.
    pub(super) fn write(
        &mut self,
        now: Instant,
        bytes: &[u8],
        passage: Passage,
    ) -> (usize, Option<Instant>) {
        let mut room = WINDOW.saturating_sub(self.bytes.len());
        if let Some(piece) = passage.piece {
            // Another piece at another time.
            room = room.min(if self.accepted_at == Some(now) {
                0
            } else {
                piece
            });
        }
        let count = bytes.len().min(room);
        self.is_full = count < bytes.len();
        if count == 0 {
            return (0, None);
        }
        self.accepted_at = Some(now);
        (count, Some(self.put(now, &bytes[..count], passage)))
    }

    /// Whether there is room for bytes, if perhaps not at this instant.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() < WINDOW
    }

    /// Sends these bytes, whatever the room, and says when they arrive.
    pub(super) fn put(&mut self, now: Instant, bytes: &[u8], passage: Passage) -> Instant {
        self.bytes.extend_from_slice(bytes);
        let takes = passage.bandwidth.map_or(Duration::ZERO, |rate| {
            Duration::from_nanos(bytes.len() as u64 * 1_000_000_000 / u64::from(rate.max(1)))
        });
        self.free_at = now.max(self.free_at) + takes;
        let last = self.transit.back().map_or(now, |(at, _)| *at);
        let at = last.max(self.free_at + passage.latency);
        self.transit.push_back((at, bytes.len()));
        at
    }

    /// The end comes after all bytes; says when.
    pub(super) fn end(&mut self, now: Instant, error: CloseError, passage: Passage) -> Instant {
        let last = self.transit.back().map_or(now, |(at, _)| *at);
        let at = last.max(now + passage.latency);
        self.end.get_or_insert((at, error));
        at
    }

    /// The end comes then, instead of all bytes that have not arrived.
    pub(super) fn reset(&mut self, at: Instant) {
        self.bytes.truncate(self.arrived);
        self.transit.clear();
        self.end = Some((at, CloseError::Io));
    }

    /// Lets arrive what is due, at most so many bytes at a time. When to call again, if there is
    /// more already.
    pub(super) fn arrive(&mut self, now: Instant, piece: Option<usize>) -> bool {
        let mut room = piece.unwrap_or(usize::MAX);
        while let Some((at, count)) = self.transit.front_mut() {
            if *at > now {
                return false;
            }
            let taken = (*count).min(room);
            *count -= taken;
            room -= taken;
            self.arrived += taken;
            if *count > 0 {
                return true;
            }
            self.transit.pop_front();
        }
        self.end_arrived |= self.end.is_some_and(|(at, _)| at <= now);
        false
    }

    /// The bytes that have arrived.
    pub(super) fn arrived(&self) -> &[u8] {
        &self.bytes[..self.arrived]
    }

    /// Takes so many of them.
    pub(super) fn take(&mut self, count: usize) {
        self.bytes.advance(count);
        self.arrived -= count;
    }

    /// How it has ended, once all bytes were taken.
    pub(super) fn ended(&self) -> Option<CloseError> {
        let (_, error) = self.end?;
        (self.end_arrived && self.arrived == 0).then_some(error)
    }
}
