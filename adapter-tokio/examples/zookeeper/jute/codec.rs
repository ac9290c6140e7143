//! The encoding: big-endian integers; strings and buffers with their length in front, which is −1 for
//! none at all.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use redial::client::Malformed;

/// Reads what a frame has.
#[derive(Debug)]
pub(super) struct Reader(Bytes);

impl Reader {
    pub(super) const fn new(frame: Bytes) -> Self {
        Self(frame)
    }

    pub(super) fn int(&mut self) -> Result<i32, Malformed> {
        Ok(self.take(4)?.get_i32())
    }

    pub(super) fn long(&mut self) -> Result<i64, Malformed> {
        Ok(self.take(8)?.get_i64())
    }

    pub(super) fn buffer(&mut self) -> Result<Bytes, Malformed> {
        match self.int()? {
            -1 => Ok(Bytes::new()),
            length => self.take(usize::try_from(length).map_err(|_| Malformed("not a length"))?),
        }
    }

    pub(super) fn string(&mut self) -> Result<String, Malformed> {
        let text = String::from_utf8(self.buffer()?.into());
        text.map_err(|_| Malformed("not UTF-8"))
    }

    /// Nothing may be left.
    pub(super) fn end(self) -> Result<(), Malformed> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Malformed("a frame longer than what it has to say")),
        }
    }

    fn take(&mut self, length: usize) -> Result<Bytes, Malformed> {
        match length <= self.0.len() {
            true => Ok(self.0.split_to(length)),
            false => Err(Malformed("a frame shorter than what it has to say")),
        }
    }
}

pub(super) fn put_bool(out: &mut BytesMut, value: bool) {
    out.put_u8(value.into());
}

/// A length that does not fit makes a frame that is over any limit, and is refused for that.
pub(super) fn put_buffer(out: &mut BytesMut, bytes: &[u8]) {
    out.put_i32(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
    out.put_slice(bytes);
}

pub(super) fn put_optional(out: &mut BytesMut, text: Option<&str>) {
    match text {
        Some(text) => put_buffer(out, text.as_bytes()),
        None => out.put_i32(-1),
    }
}

pub(super) fn put_strings<'a>(
    out: &mut BytesMut,
    strings: impl ExactSizeIterator<Item = &'a String>,
) {
    out.put_i32(i32::try_from(strings.len()).unwrap_or(i32::MAX));
    for string in strings {
        put_buffer(out, string.as_bytes());
    }
}
