//! A part of a text that knows where it stands, and the forms that both texts share.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::{Expected, Fault};
use crate::{
    Endpoint,
    servers::endpoint::{is_host_name, parse_port},
};

#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    /// Offset of its first byte in the whole.
    pub(super) at: usize,
}

impl<'a> Piece<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) const fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// Something else should have stood where this begins.
    pub(super) const fn fault(self, expected: Expected) -> Fault {
        Fault {
            at: self.at,
            expected,
        }
    }

    /// The empty piece behind this one.
    pub(super) const fn end(self) -> Self {
        Self {
            text: "",
            at: self.at + self.text.len(),
        }
    }

    /// A part of this one that goes to its end.
    const fn tail(self, text: &'a str) -> Self {
        Self {
            text,
            at: self.at + (self.text.len() - text.len()),
        }
    }

    pub(super) fn trim_start(self) -> Self {
        self.tail(self.text.trim_start_matches(is_blank))
    }

    pub(super) fn trim_end(self) -> Self {
        Self {
            text: self.text.trim_end_matches(is_blank),
            ..self
        }
    }

    pub(super) fn trim(self) -> Self {
        self.trim_start().trim_end()
    }

    pub(super) fn strip_prefix(self, prefix: &str) -> Option<Self> {
        Some(self.tail(self.text.strip_prefix(prefix)?))
    }

    pub(super) fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let (before, after) = self.text.split_once(separator)?;
        let before_it = Self {
            text: before,
            ..self
        };
        Some((before_it, self.tail(after)))
    }

    pub(super) fn split(self, separator: char) -> impl Iterator<Item = Self> {
        let mut at = self.at;
        self.text.split(separator).map(move |text| {
            let piece = Self { text, at };
            at += text.len() + separator.len_utf8();
            piece
        })
    }

    /// `host`, `[v6]`, or one of them, a colon and something; that something comes second.
    pub(super) fn host(self) -> Result<(Host<'a>, Option<Self>), Fault> {
        if let Some(inner) = self.strip_prefix("[") {
            let (ip, rest) = inner
                .split_once(']')
                .ok_or_else(|| inner.fault(Expected::Ipv6))?;
            let ip: Ipv6Addr = ip.text.parse().map_err(|_| ip.fault(Expected::Ipv6))?;
            let after_colon = rest.strip_prefix(":");
            if after_colon.is_none() && !rest.is_empty() {
                return Err(rest.fault(Expected::Colon));
            }
            return Ok((Host::Ip(ip.into()), after_colon));
        }
        let (host, after_colon) = match self.split_once(':') {
            Some((host, rest)) => (host, Some(rest)),
            None => (self, None),
        };
        let host = match host.text.parse() {
            Ok(ip @ IpAddr::V4(_)) => Host::Ip(ip),
            _ if is_host_name(host.text) => Host::Name(host.text),
            _ => return Err(host.fault(Expected::Host)),
        };
        Ok((host, after_colon))
    }

    pub(super) fn port(self) -> Result<u16, Fault> {
        parse_port(self.text).ok_or_else(|| self.fault(Expected::Port))
    }
}

/// Where a server is, but for the port.
#[derive(Clone, Copy)]
pub(super) enum Host<'a> {
    Ip(IpAddr),
    Name(&'a str),
}

impl Host<'_> {
    pub(super) fn endpoint(self, port: u16) -> Endpoint {
        match self {
            Self::Ip(ip) => Endpoint::Address(SocketAddr::new(ip, port)),
            Self::Name(name) => Endpoint::Name {
                host: name.to_ascii_lowercase().into(),
                port,
            },
        }
    }

    pub(super) const fn is_v6(self) -> bool {
        matches!(self, Self::Ip(IpAddr::V6(_)))
    }

    /// `0.0.0.0` or `::`: any address of the server's host.
    pub(super) const fn is_unspecified(self) -> bool {
        matches!(self, Self::Ip(ip) if ip.is_unspecified())
    }
}

/// White space of ASCII, which is what Java's `trim` takes away of what people write.
pub(super) const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}
