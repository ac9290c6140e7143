//! What a server answers.

use bytes::Bytes;

/// A value of RESP2 or RESP3.
///
/// Those that differ only in what they suggest to a reader are one here: a set is an array, a
/// verbatim string and the digits of a big number are a string.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Nothing: a key that is not there.
    Null,
    /// A short text such as `OK`.
    Status(Bytes),
    /// A string of bytes.
    String(Bytes),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// True or false.
    Boolean(bool),
    /// A list.
    Array(Vec<Self>),
    /// Keys and their values, in the order in which they came.
    Map(Vec<(Self, Self)>),
    /// The server could not do it, and why: a code such as `WRONGTYPE`, a space, a text.
    Error(Bytes),
}

impl Value {
    /// The text or bytes of a status, a string or an error.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Status(bytes) | Self::String(bytes) | Self::Error(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The code of an error, such as `WRONGTYPE`.
    #[must_use]
    pub fn error_code(&self) -> Option<&[u8]> {
        match self {
            Self::Error(text) => text.split(|&byte| byte == b' ').next(),
            _ => None,
        }
    }
}
