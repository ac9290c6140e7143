//! Where a frame ends.
//!
//! A reply of a million elements comes in hundreds of reads. Parsing it anew with each would take
//! quadratic time; keeping what is parsed so far would take the bytes out of the input, where redial
//! looks for a torn frame when the peer closes. So the end is looked for first, and where the search
//! stopped is remembered: it takes no more than two numbers, as nesting does not matter to it.

use bytes::{Bytes, BytesMut};
use redial::client::Malformed;

/// The shortest value: `_\r\n`.
const SHORTEST_VALUE: usize = 3;

/// Looks for the end of the frame at the front of an input that grows.
#[derive(Clone, Debug)]
pub(super) struct Scanner {
    /// Values that are still to come until the frame is whole, those inside of others included.
    awaited: usize,
    /// They begin here.
    at: usize,
    /// The line that begins there does not end before here.
    line_searched: usize,
}

impl Scanner {
    pub(super) const fn new() -> Self {
        Self {
            awaited: 1,
            at: 0,
            line_searched: 0,
        }
    }

    /// Takes the next frame; `None` if it is not whole yet. Then nothing is taken, and the next call
    /// must find the same bytes in front.
    pub(super) fn next_frame(
        &mut self,
        input: &mut BytesMut,
        max_frame: usize,
    ) -> Result<Option<Bytes>, Malformed> {
        while self.awaited > 0 {
            // What is wrong with a line over the limit must not depend on how much of it is there.
            let within = &input[..input.len().min(max_frame)];
            let Some((token, line_end)) = token(within, self.at, self.line_searched)? else {
                if input.len() > max_frame {
                    return Err(Malformed("frame over the limit"));
                }
                self.line_searched = input.len();
                return Ok(None);
            };
            let (end, more) = match token {
                Token::Scalar(..) => (line_end, 0),
                Token::Blob(_, length) => (line_end.saturating_add(length).saturating_add(2), 0),
                Token::Aggregate(_, count) => (line_end, count),
                // Its value is still to come.
                Token::Attribute(count) => (line_end, count.saturating_add(1)),
            };
            // Before it is there: a peer cannot make us wait for more than the limit.
            let awaited = (self.awaited - 1).saturating_add(more);
            if end.saturating_add(awaited.saturating_mul(SHORTEST_VALUE)) > max_frame {
                return Err(Malformed("frame over the limit"));
            }
            if end > input.len() {
                return Ok(None);
            }
            if !input[..end].ends_with(b"\r\n") {
                return Err(Malformed("a string that does not end where it says"));
            }
            *self = Self {
                awaited,
                at: end,
                line_searched: end,
            };
        }
        let end = self.at;
        *self = Self::new();
        Ok(Some(input.split_to(end).freeze()))
    }
}

/// What a line says: all of a value, or what follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// The value is in the line, behind its kind. Nulls of RESP2 are told as those of RESP3.
    Scalar(u8, &'a [u8]),
    /// So many bytes follow, and the end of a line.
    Blob(u8, usize),
    /// So many values follow, a key and its value being two.
    Aggregate(u8, usize),
    /// So many values follow that comment on the next value.
    Attribute(usize),
}

/// The token whose line begins at `at`, and where its line ends; `None` if that is not there yet. No
/// line ends before `searched`.
pub(super) fn token(
    input: &[u8],
    at: usize,
    searched: usize,
) -> Result<Option<(Token<'_>, usize)>, Malformed> {
    let Some(length) = input[searched..].iter().position(|&byte| byte == b'\n') else {
        return Ok(None);
    };
    let end = searched + length + 1;
    let Some((&kind, text)) = input[at..end]
        .strip_suffix(b"\r\n")
        .and_then(|line| line.split_first())
    else {
        return Err(Malformed("a line that is empty or ends without CR"));
    };
    let token = match (kind, text) {
        (b'$' | b'*', b"-1") => Token::Scalar(b'_', b""),
        (b'+' | b'-' | b':' | b',' | b'#' | b'(' | b'_', _) => Token::Scalar(kind, text),
        (b'$' | b'!' | b'=', _) => Token::Blob(kind, count(text)?),
        (b'*' | b'~' | b'>', _) => Token::Aggregate(kind, count(text)?),
        (b'%', _) => Token::Aggregate(kind, count(text)?.saturating_mul(2)),
        (b'|', _) => Token::Attribute(count(text)?.saturating_mul(2)),
        _ => return Err(Malformed("unknown kind of value")),
    };
    Ok(Some((token, end)))
}

fn count(text: &[u8]) -> Result<usize, Malformed> {
    str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Malformed("not a length"))
}
