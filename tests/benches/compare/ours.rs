//! redial as its users have it: the default configuration, the handle, tokio.

use std::net::SocketAddr;

use bytes::Bytes;
use redial::client::length_prefixed::LengthPrefixed;
use redial_tokio::Client;

use crate::{BODY, Caller};

#[derive(Clone)]
pub(crate) struct Frames(Client<LengthPrefixed>);

pub(crate) async fn frames(address: SocketAddr) -> Frames {
    let builder = Client::builder(LengthPrefixed::new()).servers(address.to_string());
    Frames(builder.build().expect("an address"))
}

impl Caller for Frames {
    async fn call(&self) {
        let response = self.0.request(Bytes::from_static(BODY)).await;
        let reply = response.expect("an answer").reply;
        assert_eq!(reply.as_deref(), Some(BODY));
    }
}
