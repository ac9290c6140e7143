//! Endpoints in files: the text that `FromStr` reads, with a prefix for those that it cannot tell.

use alloc::string::String;
use core::net::{IpAddr, SocketAddr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Unexpected},
};

use crate::Endpoint;

// Neither is the beginning of a host and port.
const OPAQUE: &str = "opaque://";
/// For a name that looks like an IP address and is to be resolved all the same.
const NAME: &str = "name://";

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Opaque(text) => serializer.collect_str(&format_args!("{OPAQUE}{text}")),
            Self::Name { host, .. } if host.parse::<IpAddr>().is_ok() => {
                serializer.collect_str(&format_args!("{NAME}{self}"))
            }
            Self::Name { .. } | Self::Address(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let expected = &"host:port, an address and port, opaque://… or name://…";
        read(&text).ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), expected))
    }
}

fn read(text: &str) -> Option<Endpoint> {
    if let Some(text) = text.strip_prefix(OPAQUE) {
        return Some(Endpoint::Opaque(text.into()));
    }
    if let Some(text) = text.strip_prefix(NAME) {
        let (host, port) = text.rsplit_once(':')?;
        return Endpoint::name(host, port.parse().ok()?).ok();
    }
    // An address may have port 0 or an IPv6 zone, which nobody writes into a list of servers.
    let address = || text.parse::<SocketAddr>().map(Endpoint::Address);
    text.parse().ok().or_else(|| address().ok())
}
