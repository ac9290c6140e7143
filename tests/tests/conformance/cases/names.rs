//! Names, which the runtime resolves (SEMANTICS 2.4).

use redial::{Cause, Certainty, Reason, Stage, driver::Runtime};
use redial_tests::servers::{Server, ways};

use crate::{client::failure, loopback::Loopback, site::Site};

pub(crate) async fn a_name_is_resolved_by_the_system<R: Runtime>(site: Loopback<R>) {
    let server = Server::start(ways::echo);
    let client = site.client([]);
    let servers = format!("localhost:{}", server.address().port());
    client.set_servers(&servers).expect("well-formed");
    client.assert_echoes("hello").await;
}

pub(crate) async fn a_name_that_cannot_be_resolved_fails_its_node<R: Runtime>(site: Loopback<R>) {
    // No label of a name may be so long, so nobody has to be asked.
    let servers = format!("{}.invalid:1", "a".repeat(100));
    let client = site.client([]);
    client.set_servers(&servers).expect("well-formed");
    let error = failure(site.soon(client.request("x".into()).fail_fast()).await);
    assert_eq!(error.reason, Reason::Disconnected(Cause::ResolveFailed));
    assert_eq!(
        (error.stage, error.certainty),
        (Some(Stage::Resolve), Certainty::NeverWritten)
    );
}

pub(crate) async fn a_name_that_cannot_be_resolved_does_not_hold_up_others<R: Runtime>(
    site: Loopback<R>,
) {
    let server = Server::start(ways::echo);
    let client = site.client([]);
    let (bad, good) = (format!("{}.invalid:1", "a".repeat(100)), server.address());
    client
        .set_servers(&format!("{bad},{good}"))
        .expect("well-formed");
    for _ in 0..5 {
        client.assert_echoes("hello").await;
    }
}
