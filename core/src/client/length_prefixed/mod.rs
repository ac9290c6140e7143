//! A ready-made protocol for people who have none: frames with a length, a hello, correlation ids.
//!
//! # The wire format
//!
//! `frame := u32 length of what follows | u8 kind | u32 id | body`, integers in big-endian order. A
//! length below 5 or over the limit is a protocol error.
//!
//! | kind | name | direction | id | body |
//! |---|---|---|---|---|
//! | 0 | Hello | client first | 0 | u8 version (1), credentials |
//! | 0 | Hello | server's answer | 0 | u8 [`Status`], u32 most requests in flight (0: no limit) |
//! | 1 | Request | to the server | correlation id | payload |
//! | 2 | Reply | to the client | of its request | payload |
//! | 3 | Push | to the client | 0 | payload |
//! | 4 | Goodbye | to the client: it will close this connection | 0 | – |
//! | 5 | OneWay | to the server: a request without reply | correlation id | payload |
//! | 6 | Retry | to the client: not carried out | of its request | u8 where (0 here, 1 elsewhere), u32 milliseconds to wait |
//! | 7 | Throttle | to the client: no more requests for now | 0 | u32 milliseconds |

mod frame;
mod protocol;

pub use {
    frame::{Frame, Kind, Status},
    protocol::LengthPrefixed,
};
