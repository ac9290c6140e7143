//! One direction of a connection.

use core::time::Duration;
use std::collections::VecDeque;

use bytes::{Buf, BytesMut};

use crate::{CloseError, Instant};

/// So many bytes are sent at a time over a narrow line.
const PACKET: usize = 1_400;

/// So many bytes may be on their way, or unread.
const WINDOW: usize = 64 * 1024;

/// Bytes on their way, and those that have arrived and were not taken.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// All of them, the oldest first.
    bytes: BytesMut,
    /// How many have arrived.
    arrived: usize,
    /// When the others arrive.
    transit: VecDeque<Packet>,
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

/// Some of the bytes on their way.
#[derive(Clone, Copy, Debug)]
struct Packet {
    at: Instant,
    count: usize,
    /// Nobody was told when it arrives: it follows another.
    follows: bool,
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

    /// Sends these bytes, whatever the room, and says when the first of them arrive.
    pub(super) fn put(&mut self, now: Instant, bytes: &[u8], passage: Passage) -> Instant {
        self.bytes.extend_from_slice(bytes);
        let Some(rate) = passage.bandwidth else {
            return self.pack(now, bytes.len(), Duration::ZERO, passage.latency, false);
        };
        let mut packets = bytes.chunks(PACKET).enumerate().map(|(place, packet)| {
            let nanos = packet.len() as u64 * 1_000_000_000 / u64::from(rate.max(1));
            let takes = Duration::from_nanos(nanos);
            self.pack(now, packet.len(), takes, passage.latency, place > 0)
        });
        let first = packets.next().unwrap_or(now);
        packets.for_each(drop);
        first
    }

    fn pack(
        &mut self,
        now: Instant,
        count: usize,
        takes: Duration,
        latency: Duration,
        follows: bool,
    ) -> Instant {
        self.free_at = now.max(self.free_at) + takes;
        let at = self.last(now).max(self.free_at + latency);
        self.transit.push_back(Packet { at, count, follows });
        at
    }

    /// When the last of the bytes on their way arrive.
    fn last(&self, now: Instant) -> Instant {
        self.transit.back().map_or(now, |packet| packet.at)
    }

    /// The line is narrow no more: what is on its way is there at this time.
    pub(super) fn hasten(&mut self, now: Instant, at: Instant) {
        self.free_at = now;
        for packet in &mut self.transit {
            packet.at = packet.at.min(at);
        }
        if let Some((end, _)) = &mut self.end {
            *end = (*end).min(at);
        }
    }

    /// The end comes after all bytes; says when.
    pub(super) fn end(&mut self, now: Instant, error: CloseError, passage: Passage) -> Instant {
        let at = self.last(now).max(now + passage.latency);
        self.end.get_or_insert((at, error));
        at
    }

    /// The end comes then, instead of all bytes that have not arrived.
    pub(super) fn reset(&mut self, at: Instant) {
        self.bytes.truncate(self.arrived);
        self.transit.clear();
        self.end = Some((at, CloseError::Io));
    }

    /// Lets arrive what is due, at most so many bytes at a time. When to call again for what comes
    /// next, if nobody was told: this instant if there is more already.
    pub(super) fn arrive(&mut self, now: Instant, piece: Option<usize>) -> Option<Instant> {
        let mut room = piece.unwrap_or(usize::MAX);
        while let Some(packet) = self.transit.front_mut() {
            if packet.at > now {
                let follows = core::mem::replace(&mut packet.follows, false);
                return follows.then_some(packet.at);
            }
            let taken = packet.count.min(room);
            packet.count -= taken;
            room -= taken;
            self.arrived += taken;
            if packet.count > 0 {
                return Some(now);
            }
            self.transit.pop_front();
        }
        self.end_arrived |= self.end.is_some_and(|(at, _)| at <= now);
        None
    }

    /// Whether bytes are on their way.
    pub(super) fn has_transit(&self) -> bool {
        !self.transit.is_empty()
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
