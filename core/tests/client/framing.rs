//! Bytes to items and back: framing and the ready-made protocol, without connections.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use redial::{
    HandshakeError, Limits, ReplyTo, Verdict,
    client::{
        Item, Malformed, Protocol, Rejected,
        framing::{put_frame, take_frame, take_line},
        length_prefixed::{Frame, LengthPrefixed, Status},
    },
};

use crate::random::Random;

type Items = Vec<Result<Item<Bytes, Bytes>, Malformed>>;

/// What comes out of a decoder that is fed these chunks, up to the first error; and how many bytes
/// wait for more.
fn decode<'a>(max_frame: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Items, usize) {
    let mut protocol = LengthPrefixed::new().max_frame(max_frame);
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    let mut items = Vec::new();
    for chunk in chunks {
        input.extend_from_slice(chunk);
        while let Some(item) = protocol.decode(&mut (), &mut input, &mut out).transpose() {
            let ended = item.is_err();
            items.push(item);
            if ended {
                return (items, 0);
            }
        }
    }
    assert!(out.is_empty(), "this protocol answers nothing by itself");
    (items, input.len())
}

fn wire(frames: &[Frame]) -> BytesMut {
    let mut wire = BytesMut::new();
    for frame in frames {
        frame.encode(&mut wire);
    }
    wire
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Every frame that a server can send, and what it means.
fn conversation() -> Vec<(Frame, Item<Bytes, Bytes>)> {
    let retry = |id, verdict| Item::Reply {
        to: ReplyTo::Serial(id),
        verdict,
        throttle: None,
        reply: Bytes::new(),
    };
    let done = |id, reply| Item::reply(ReplyTo::Serial(id), Bytes::from_static(reply));
    let failed = Item::HandshakeFailed;
    let longest = ms(u32::MAX.into());
    vec![
        (
            Frame::hello_answer(Status::Ok, 0),
            Item::HandshakeDone(Limits::NONE),
        ),
        (
            Frame::hello_answer(Status::Ok, 7),
            Item::HandshakeDone(Limits::in_flight(7)),
        ),
        (
            Frame::hello_answer(Status::VersionRefused, 0),
            failed(HandshakeError::Version),
        ),
        (
            Frame::hello_answer(Status::CredentialsRejected, 0),
            failed(HandshakeError::Rejected),
        ),
        (
            Frame::hello_answer(Status::SessionOver, 0),
            failed(HandshakeError::Fatal),
        ),
        (Frame::reply(0, "first"), done(0, b"first")),
        (Frame::reply(u32::MAX, ""), done(u32::MAX, b"")),
        (Frame::push("news"), Item::Push(Bytes::from_static(b"news"))),
        (
            Frame::retry_here(3, ms(250)),
            retry(3, Verdict::RETRY_HERE.after(ms(250))),
        ),
        (
            Frame::retry_elsewhere(4, Duration::MAX),
            retry(4, Verdict::RETRY_ELSEWHERE.after(longest)),
        ),
        (Frame::throttle(ms(30)), Item::Throttle(ms(30))),
        (Frame::goodbye(), Item::Goodbye),
    ]
}

#[test]
fn every_frame_of_a_server_has_its_meaning() {
    for (frame, expected) in conversation() {
        let (items, left) = decode(100, [&wire(std::slice::from_ref(&frame))[..]]);
        assert_eq!((items, left), (vec![Ok(expected)], 0), "{frame:?}");
    }
}

#[test]
fn the_bytes_of_each_frame_are_as_documented() {
    let cases: [(Frame, &[u8]); 11] = [
        (Frame::hello(b"key"), b"\0\0\0\x09\0\0\0\0\0\x01key"),
        (
            Frame::hello_answer(Status::SessionOver, 258),
            b"\0\0\0\x0a\0\0\0\0\0\x03\0\0\x01\x02",
        ),
        (
            Frame::request(0x0102_0304, "hi"),
            b"\0\0\0\x07\x01\x01\x02\x03\x04hi",
        ),
        (Frame::request(9, ""), b"\0\0\0\x05\x01\0\0\0\x09"),
        (Frame::reply(1, "ok"), b"\0\0\0\x07\x02\0\0\0\x01ok"),
        (Frame::push("news"), b"\0\0\0\x09\x03\0\0\0\0news"),
        (Frame::goodbye(), b"\0\0\0\x05\x04\0\0\0\0"),
        (Frame::one_way(2, "x"), b"\0\0\0\x06\x05\0\0\0\x02x"),
        (
            Frame::retry_here(3, ms(256)),
            b"\0\0\0\x0a\x06\0\0\0\x03\0\0\0\x01\0",
        ),
        (
            Frame::retry_elsewhere(3, ms(1)),
            b"\0\0\0\x0a\x06\0\0\0\x03\x01\0\0\0\x01",
        ),
        (Frame::throttle(ms(9)), b"\0\0\0\x09\x07\0\0\0\0\0\0\0\x09"),
    ];
    for (frame, expected) in cases {
        let mut bytes = wire(std::slice::from_ref(&frame));
        assert_eq!(&bytes[..], expected, "{frame:?}");
        assert_eq!(Frame::decode(&mut bytes, 100), Ok(Some(frame)));
        assert!(bytes.is_empty());
    }
}

#[test]
fn frames_that_no_server_sends_are_malformed() {
    const LIMIT: &str = "frame over the limit";
    const SHORT: &str = "frame without kind and id";
    const CLIENT: &str = "not a frame that a server sends";
    let cases: [(&[u8], &str); 14] = [
        (b"\0\0\0\0", SHORT),
        (b"\0\0\0\x04\x02\0\0\0", SHORT),
        (b"\0\0\0\x65", LIMIT), // 101, seen before its body has come
        (b"\xff\xff\xff\xff", LIMIT),
        (b"HTTP/1.1 400", LIMIT),
        (b"\0\0\0\x05\x08\0\0\0\0", "unknown kind of frame"),
        (
            b"\0\0\0\x0a\0\0\0\0\0\x04\0\0\0\0",
            "unknown status in a hello",
        ),
        (b"\0\0\0\x0a\0\0\0\0\x01\0\0\0\0\0", CLIENT), // a hello with an id
        (b"\0\0\0\x06\0\0\0\0\0\0", CLIENT),           // a short hello
        (b"\0\0\0\x05\x01\0\0\0\0", CLIENT),           // a request
        (b"\0\0\0\x05\x05\0\0\0\0", CLIENT),           // a request without reply
        (b"\0\0\0\x06\x04\0\0\0\0x", CLIENT),          // a goodbye with a body
        (b"\0\0\0\x0a\x06\0\0\0\x01\x02\0\0\0\0", CLIENT), // a retry neither here nor elsewhere
        (b"\0\0\0\x06\x07\0\0\0\0\0", CLIENT),         // a short throttle
    ];
    for (bytes, expected) in cases {
        assert_eq!(
            decode(100, [bytes]).0,
            [Err(Malformed(expected))],
            "{bytes:?}"
        );
    }
}

#[test]
fn a_frame_at_the_limit_passes_and_one_over_it_does_not() {
    let frame = wire(&[Frame::reply(1, vec![7; 95])]);
    assert!(matches!(
        decode(100, [&frame[..]]).0[..],
        [Ok(Item::Reply { .. })]
    ));
    assert!(matches!(
        decode(99, [&frame[..]]).0[..],
        [Err(Malformed(_))]
    ));
}

#[test]
fn split_at_any_byte_the_items_are_the_same() {
    let (frames, items): (Vec<_>, Vec<_>) = conversation().into_iter().unzip();
    let expected = (items.into_iter().map(Ok).collect::<Items>(), 0);
    let bytes = wire(&frames);
    for at in 0..=bytes.len() {
        let (first, second) = bytes.split_at(at);
        assert_eq!(decode(100, [first, second]), expected, "split at {at}");
    }
    assert_eq!(decode(100, bytes.chunks(1)), expected, "byte by byte");
}

#[test]
fn cut_off_at_any_byte_the_whole_frames_come_out_and_the_rest_is_left() {
    let frame = Frame::reply(1, "payload");
    let bytes = wire(&[frame.clone(), frame]);
    let one = bytes.len() / 2;
    for length in 0..=bytes.len() {
        let (items, left) = decode(100, [&bytes[..length]]);
        assert_eq!(
            (items.len(), left),
            (length / one, length % one),
            "{length} bytes"
        );
    }
}

#[test]
fn any_bytes_in_any_chunks_give_the_same_items_and_no_panic() {
    let (mut malformed, mut left_over) = (0, 0);
    for seed in 0..5_000 {
        let mut random = Random(seed);
        let bytes = random.stream();
        let whole = decode(200, [&bytes[..]]);
        let chunks = random.chunks(&bytes);
        assert_eq!(decode(200, chunks), whole, "seed {seed}, bytes {bytes:?}");
        malformed += u32::from(whole.0.last().is_some_and(Result::is_err));
        left_over += u32::from(whole.1 > 0);
    }
    assert!(
        malformed > 500 && left_over > 500,
        "{malformed} malformed, {left_over} left over"
    );
}

impl Random {
    /// Frames, some with bytes changed, the last maybe cut off.
    fn stream(&mut self) -> Vec<u8> {
        let frames = conversation();
        let mut bytes = BytesMut::new();
        for _ in 0..=self.below(20) {
            frames[self.below(frames.len())].0.encode(&mut bytes);
        }
        for _ in 0..self.below(3) {
            let at = self.below(bytes.len());
            bytes[at] = self.below(256).to_le_bytes()[0];
        }
        bytes.truncate(bytes.len() - self.below(4));
        bytes.to_vec()
    }

    fn chunks<'a>(&mut self, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let mut chunks = Vec::new();
        while !bytes.is_empty() {
            let (chunk, rest) = bytes.split_at(self.below(bytes.len().min(40) + 1));
            chunks.push(chunk);
            bytes = rest;
        }
        chunks
    }
}

#[test]
fn a_frame_holds_what_was_put_into_it() {
    for length in [0, 1, 100] {
        let body = vec![b'x'; length];
        let mut bytes = BytesMut::from("before");
        assert_eq!(
            put_frame(&mut bytes, 100, |out| out.extend_from_slice(&body)),
            Ok(())
        );
        let mut frame = bytes.split_off(6);
        assert_eq!(
            take_frame(&mut frame, 100),
            Ok(Some(BytesMut::from(&body[..])))
        );
        assert_eq!((&bytes[..], frame.len()), (&b"before"[..], 0));
    }
}

#[test]
fn a_frame_over_the_limit_is_not_put() {
    let mut bytes = BytesMut::from("before");
    assert_eq!(
        put_frame(&mut bytes, 2, |out| out.extend_from_slice(b"123")),
        Err(Rejected)
    );
    assert_eq!(&bytes[..], b"before");
}

#[test]
fn lines_end_with_a_newline_and_have_a_limit() {
    const OVER: Malformed = Malformed("line over the limit");
    type Line = Result<Option<&'static [u8]>, Malformed>;
    let cases: [(&[u8], Line, &[u8]); 9] = [
        (b"", Ok(None), b""),
        (b"one", Ok(None), b"one"),
        (b"one\ntwo", Ok(Some(b"one")), b"two"),
        (b"one\r\ntwo", Ok(Some(b"one")), b"two"),
        (b"\r\n", Ok(Some(b"")), b""),
        (b"\n\n", Ok(Some(b"")), b"\n"),
        (b"1234567\n", Ok(Some(b"1234567")), b""),
        (b"12345678", Err(OVER), b"12345678"),
        (b"12345678\n", Err(OVER), b"12345678\n"),
    ];
    for (bytes, expected, rest) in cases {
        let mut input = BytesMut::from(bytes);
        let line = take_line(&mut input, 8).map(|line| line.map(BytesMut::freeze));
        assert_eq!(
            line,
            expected.map(|line| line.map(Bytes::from_static)),
            "{bytes:?}"
        );
        assert_eq!(&input[..], rest);
    }
}

#[test]
fn credentials_are_not_shown() {
    let protocol = LengthPrefixed::new().credentials("secret");
    assert!(!format!("{protocol:?}").contains("secret"));
}
