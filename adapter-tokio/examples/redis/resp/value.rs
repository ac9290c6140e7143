//! What a server answers.

use std::fmt;

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

/// On one line, for people: `["a", 1, {"k": (nil)}]`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("(nil)"),
            Self::Status(text) => write!(f, "{}", String::from_utf8_lossy(text)),
            Self::String(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Double(number) => write!(f, "{number}"),
            Self::Boolean(truth) => write!(f, "{truth}"),
            Self::Error(text) => write!(f, "(error) {}", String::from_utf8_lossy(text)),
            Self::Array(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", separator(index))?;
                }
                f.write_str("]")
            }
            Self::Map(pairs) => {
                f.write_str("{")?;
                for (index, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}{key}: {value}", separator(index))?;
                }
                f.write_str("}")
            }
        }
    }
}

const fn separator(index: usize) -> &'static str {
    match index {
        0 => "",
        _ => ", ",
    }
}
