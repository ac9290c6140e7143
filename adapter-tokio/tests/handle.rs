//! What is tokio's alone: on which runtime a client is built, and Unix sockets. All that a handle
//! promises on every runtime is in `tests/tests/conformance`.

mod support;
#[cfg(unix)]
mod unix;

use redial::{client::length_prefixed::LengthPrefixed, driver::BuildError};
use redial_tokio::{Client, Tokio};
use support::{client, echo, server};

#[tokio::test]
async fn inside_of_a_runtime_it_need_not_be_named() {
    let server = server(echo).await;
    let client = client(&server);
    let response = client.request("ping".into()).await.expect("answered");
    assert_eq!(response.reply.as_deref(), Some(&b"ping"[..]));
}

#[test]
fn outside_of_a_runtime_it_must_be_named() {
    let builder = || Client::builder(LengthPrefixed::new());
    assert!(matches!(builder().build(), Err(BuildError::NoRuntime)));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let named = builder().runtime(Tokio::new(runtime.handle().clone()));
    assert!(named.build().is_ok());
}
