//! redial as its users have it: the default configuration, the handle, a runtime.

use std::net::SocketAddr;

use bytes::Bytes;
use redial::{
    client::length_prefixed::LengthPrefixed,
    driver::{Handle, Runtime},
};

use crate::{BODY, Caller};

pub(crate) struct Frames<R: Runtime>(Handle<LengthPrefixed, R>);

/// On the runtime that calls.
pub(crate) async fn frames<R: Runtime>(address: SocketAddr) -> Frames<R> {
    let builder = Handle::builder(LengthPrefixed::new()).servers(address.to_string());
    Frames(builder.build().expect("an address, and a runtime"))
}

impl<R: Runtime> Clone for Frames<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<R: Runtime> Caller for Frames<R> {
    async fn call(&self) {
        let response = self.0.request(Bytes::from_static(BODY)).await;
        let reply = response.expect("an answer").reply;
        assert_eq!(reply.as_deref(), Some(BODY));
    }
}
