//! Kinds `connect_string` and `dynamic_config`: server lists as text.

use redial::{ConnectString, DynamicConfig, Endpoint, Servers};
use serde::{Deserialize, Deserializer, de::Error};

use super::expect;

#[derive(Deserialize)]
pub(super) struct ConnectStringVector {
    #[serde(rename = "in")]
    text: String,
    default_port: u16,
    expect: Expectation<ListAndChroot>,
}

#[derive(Deserialize)]
pub(super) struct DynamicConfigVector {
    #[serde(rename = "in")]
    text: String,
    expect: Expectation<ListAndVersion>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Expectation<T> {
    Error(ErrorWord),
    Read(T),
}

#[derive(Deserialize)]
enum ErrorWord {
    #[serde(rename = "error")]
    Error,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct ListAndChroot {
    servers: Vec<Server>,
    #[serde(deserialize_with = "Option::deserialize")]
    chroot: Option<String>,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct ListAndVersion {
    /// In no particular order.
    servers: Vec<Server>,
    #[serde(deserialize_with = "Option::deserialize")]
    version: Option<i64>,
}

/// An endpoint that is written as a host, IPv6 without brackets, and a port.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Server(Endpoint);

impl<'de> Deserialize<'de> for Server {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (host, port) = <(String, u16)>::deserialize(deserializer)?;
        let text = if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        };
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl ConnectStringVector {
    pub(super) fn replay(&self) -> Result<(), String> {
        let parsed = ConnectString::parse(&self.text, self.default_port);
        self.expect.check(parsed, |parsed| {
            let Servers::Listed(servers) = parsed.servers else {
                return Err("expected servers, came a name of SRV records".to_owned());
            };
            Ok(ListAndChroot {
                servers: servers.into_iter().map(Server).collect(),
                chroot: parsed.chroot.map(String::from),
            })
        })
    }
}

impl DynamicConfigVector {
    pub(super) fn replay(mut self) -> Result<(), String> {
        if let Expectation::Read(expected) = &mut self.expect {
            expected.servers.sort();
        }
        self.expect
            .check(DynamicConfig::parse(&self.text), |parsed| {
                let servers = parsed.servers.into_iter();
                let mut servers: Vec<_> = servers.map(|s| Server(s.client_address)).collect();
                servers.sort();
                let version = parsed.version;
                Ok(ListAndVersion { servers, version })
            })
    }
}

impl<T: PartialEq + std::fmt::Debug> Expectation<T> {
    fn check<P: std::fmt::Debug, E: std::fmt::Display>(
        &self,
        came: Result<P, E>,
        convert: impl FnOnce(P) -> Result<T, String>,
    ) -> Result<(), String> {
        match (self, came) {
            (Self::Error(_), Err(_)) => Ok(()),
            (Self::Error(_), Ok(came)) => Err(format!("expected an error, came {came:?}")),
            (Self::Read(expected), Err(error)) => {
                Err(format!("expected {expected:?}, came the error {error}"))
            }
            (Self::Read(expected), Ok(came)) => expect("parsed", expected, &convert(came)?),
        }
    }
}
