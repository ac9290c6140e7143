//! From a whole frame to its values. Strings are not copied: they are parts of the frame.

use std::str::FromStr;

use bytes::Bytes;
use redial::client::Malformed;

use super::{
    Value,
    scan::{Token, token},
};

/// More levels than any server sends; the limit keeps a malicious one from exhausting the stack.
const MAX_DEPTH: usize = 64;

/// A frame that was read.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Frame {
    /// An answer.
    Reply(Value),
    /// Something that nobody asked for: its kind, and what belongs to it.
    Push(Vec<Value>),
}

/// Reads a whole frame, which [`Scanner`](super::scan::Scanner) has found.
pub(super) fn parse(frame: &Bytes) -> Result<Frame, Malformed> {
    let mut reader = Reader { frame, at: 0 };
    match reader.token()? {
        // A push is never part of a value.
        Token::Aggregate(b'>', count) => Ok(Frame::Push(reader.values(count, MAX_DEPTH)?)),
        token => Ok(Frame::Reply(reader.value(token, MAX_DEPTH)?)),
    }
}

struct Reader<'a> {
    frame: &'a Bytes,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The next token that is no comment.
    fn token(&mut self) -> Result<Token<'a>, Malformed> {
        let mut to_skip = 0_usize;
        loop {
            let next = self.any_token()?;
            match next {
                Token::Attribute(count) => to_skip = to_skip.saturating_add(count),
                _ if to_skip == 0 => return Ok(next),
                Token::Scalar(..) => to_skip -= 1,
                Token::Blob(_, length) => {
                    self.blob(length)?;
                    to_skip -= 1;
                }
                Token::Aggregate(_, count) => to_skip = (to_skip - 1).saturating_add(count),
            }
        }
    }

    fn any_token(&mut self) -> Result<Token<'a>, Malformed> {
        let (token, end) = token(self.frame, self.at, self.at)?.ok_or(TORN)?;
        self.at = end;
        Ok(token)
    }

    fn value(&mut self, token: Token<'a>, depth: usize) -> Result<Value, Malformed> {
        Ok(match token {
            Token::Scalar(kind, text) => self.scalar(kind, text)?,
            Token::Blob(b'!', length) => Value::Error(self.blob(length)?),
            Token::Blob(b'=', length) => Value::String(verbatim(&self.blob(length)?)?),
            Token::Blob(_, length) => Value::String(self.blob(length)?),
            Token::Aggregate(b'%', count) => Value::Map(self.pairs(count / 2, depth)?),
            Token::Aggregate(b'*' | b'~', count) => Value::Array(self.values(count, depth)?),
            Token::Aggregate(..) | Token::Attribute(_) => {
                return Err(Malformed("a push inside of a value"));
            }
        })
    }

    fn scalar(&self, kind: u8, text: &'a [u8]) -> Result<Value, Malformed> {
        Ok(match (kind, text) {
            (b'+', _) => Value::Status(self.frame.slice_ref(text)),
            (b'-', _) => Value::Error(self.frame.slice_ref(text)),
            (b':', _) => Value::Integer(number(text)?),
            (b',', _) => Value::Double(number(text)?),
            (b'(', _) => Value::String(self.frame.slice_ref(text)),
            (b'#', b"t") => Value::Boolean(true),
            (b'#', b"f") => Value::Boolean(false),
            (b'_', b"") => Value::Null,
            _ => return Err(Malformed("not a boolean or a null")),
        })
    }

    fn blob(&mut self, length: usize) -> Result<Bytes, Malformed> {
        let (start, end) = (self.at, self.at.saturating_add(length));
        if end.saturating_add(2) > self.frame.len() {
            return Err(TORN);
        }
        self.at = end + 2;
        Ok(self.frame.slice(start..end))
    }

    fn values(&mut self, count: usize, depth: usize) -> Result<Vec<Value>, Malformed> {
        let depth = deeper(depth)?;
        (0..count)
            .map(|_| {
                let token = self.token()?;
                self.value(token, depth)
            })
            .collect()
    }

    fn pairs(&mut self, count: usize, depth: usize) -> Result<Vec<(Value, Value)>, Malformed> {
        let mut values = self.values(count.saturating_mul(2), depth)?.into_iter();
        Ok(std::iter::from_fn(|| values.next().zip(values.next())).collect())
    }
}

/// Not met, because the frame is whole.
const TORN: Malformed = Malformed("a frame that ends too early");

fn deeper(depth: usize) -> Result<usize, Malformed> {
    depth.checked_sub(1).ok_or(Malformed("nested too deeply"))
}

fn number<T: FromStr>(text: &[u8]) -> Result<T, Malformed> {
    str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Malformed("not a number"))
}

/// The text of a verbatim string, which begins with its format, such as `txt:`.
fn verbatim(blob: &Bytes) -> Result<Bytes, Malformed> {
    match blob.get(3) {
        Some(b':') => Ok(blob.slice(4..)),
        _ => Err(Malformed("a verbatim string without its format")),
    }
}
