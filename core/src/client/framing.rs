//! Cutting frames from a stream of bytes, for protocols of your own.
//!
//! Each `take_` function takes one whole frame from the front of a buffer, or leaves the buffer as
//! it is and says that more bytes are needed, so the frames are the same however the stream is
//! split. All of them check a limit before the frame is there, so a peer cannot make the buffer
//! grow beyond it.

use bytes::{Buf, BufMut, BytesMut};

use super::{Malformed, Rejected};

/// The bytes of a length field.
pub(super) const LENGTH: usize = 4;

/// Takes the next frame that begins with the length of what follows, a big-endian `u32` (as in
/// Kafka and ZooKeeper); returns what follows. `None` if it is not whole yet.
///
/// ```
/// use bytes::BytesMut;
/// use redial::client::framing::take_frame;
///
/// let mut input = BytesMut::from(&b"\0\0\0\x02hi\0\0"[..]);
/// assert_eq!(take_frame(&mut input, 1024)?.as_deref(), Some(&b"hi"[..]));
/// assert_eq!(take_frame(&mut input, 1024)?, None);
/// assert_eq!(&input[..], b"\0\0");
/// # Ok::<(), redial::client::Malformed>(())
/// ```
///
/// # Errors
///
/// [`Malformed`] if the length is over `max` bytes; a negative one, where the protocol has signed
/// lengths, is.
pub fn take_frame(input: &mut BytesMut, max: usize) -> Result<Option<BytesMut>, Malformed> {
    let Some(length) = frame_length(input, max)? else {
        return Ok(None);
    };
    // Skipped rather than split off: each piece counts its owners.
    input.advance(LENGTH);
    Ok(Some(input.split_to(length)))
}

/// The length that the frame in front says, if the frame is whole.
pub(super) fn frame_length(input: &[u8], max: usize) -> Result<Option<usize>, Malformed> {
    let Some(&[a, b, c, d]) = input.first_chunk() else {
        return Ok(None);
    };
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if length > max {
        return Err(Malformed("frame over the limit"));
    }
    Ok((input.len() - LENGTH >= length).then_some(length))
}

/// Appends a frame that begins with the length of what follows, a big-endian `u32`; `body` appends
/// what follows.
///
/// # Errors
///
/// [`Rejected`] if the body has more than `max` bytes, or more than a length field can say. `out` is
/// then as it was.
pub fn put_frame(
    out: &mut BytesMut,
    max: usize,
    body: impl FnOnce(&mut BytesMut),
) -> Result<(), Rejected> {
    let start = out.len();
    out.put_u32(0);
    body(out);
    let written = out.len() - start - LENGTH;
    match u32::try_from(written) {
        Ok(length) if written <= max => {
            out[start..start + LENGTH].copy_from_slice(&length.to_be_bytes());
            Ok(())
        }
        _ => {
            out.truncate(start);
            Err(Rejected)
        }
    }
}

/// Takes the next line, that is, bytes up to `\n` or `\r\n`; returns it without its end. `None` if it
/// is not whole yet. A line that comes in pieces is looked through again with each, so keep `max`
/// small.
///
/// ```
/// use bytes::BytesMut;
/// use redial::client::framing::take_line;
///
/// let mut input = BytesMut::from("one\r\ntw");
/// assert_eq!(take_line(&mut input, 1024)?.as_deref(), Some(&b"one"[..]));
/// assert_eq!(take_line(&mut input, 1024)?, None);
/// # Ok::<(), redial::client::Malformed>(())
/// ```
///
/// # Errors
///
/// [`Malformed`] if the line is over `max` bytes, its end included.
pub fn take_line(input: &mut BytesMut, max: usize) -> Result<Option<BytesMut>, Malformed> {
    let within = &input[..input.len().min(max)];
    let Some(end) = within.iter().position(|&byte| byte == b'\n') else {
        return match input.len() < max {
            true => Ok(None),
            false => Err(Malformed("line over the limit")),
        };
    };
    let mut line = input.split_to(end + 1);
    line.truncate(end);
    if line.last() == Some(&b'\r') {
        line.truncate(end - 1);
    }
    Ok(Some(line))
}
