//! Servers whose process is stopped or killed.

use redial::{Cause, Certainty, Reason, Warm, driver::Runtime};
use redial_tests::servers::ChildServer;

use super::SECOND;
use crate::{
    client::{assert_echoed, failure},
    loopback::Loopback,
    site::{Node, Site, Way},
    wait::begin,
};

fn child() -> (ChildServer, Node) {
    let child = ChildServer::start(env!("CARGO_BIN_EXE_echo_server")).expect("a child process");
    let node = Node::from(child.address());
    (child, node)
}

pub(crate) async fn a_stopped_process_is_found_out_by_a_timeout_and_another_answers<R: Runtime>(
    site: Loopback<R>,
) {
    let ((child, stopped), alive) = (child(), site.node(Way::Echo));
    let client = site.client_with(|c| c.warm(Warm::All).request_timeout(SECOND), [&stopped]);
    client.assert_echoes("running").await;
    child.stop().expect("SIGSTOP");
    let request = begin(client.request("hello".into()).idempotent());
    site.until(|| client.stats().in_flight == 1).await;
    client.list([&stopped, &alive]);
    let response = assert_echoed(site.soon(request).await, "hello");
    assert!(
        response.attempts >= 2 && response.elapsed >= SECOND,
        "{response:?}"
    );
    assert_eq!(alive.received(), [b"hello"]);
}

pub(crate) async fn a_process_that_goes_on_answers_late_and_the_next_gets_its_own<R: Runtime>(
    site: Loopback<R>,
) {
    let (child, node) = child();
    let client = site.client([&node]);
    client.assert_echoes("running").await;
    child.stop().expect("SIGSTOP");
    let given_up = client.request("given up".into()).timeout(SECOND);
    let error = failure(site.soon(given_up).await);
    let (reason, certainty) = (Reason::Timeout, Certainty::PossiblyWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
    child.resume().expect("SIGCONT");
    client.assert_echoes("next").await;
    assert_eq!(client.stats().late_replies, 1);
}

pub(crate) async fn a_stopped_process_that_accepts_fails_at_its_setup_deadline<R: Runtime>(
    site: Loopback<R>,
) {
    let (child, node) = child();
    child.stop().expect("SIGSTOP");
    let backoff = redial::Backoff::new(SECOND / 2, SECOND / 2, 1);
    let configure = |c: redial::ConfigBuilder| c.warm(Warm::All).connection_setup_timeout(backoff);
    let mut client = site.client_with(configure, [&node]);
    let failed = client.failed_attempt(&node).await;
    assert_eq!(
        (failed.stage, failed.cause),
        (redial::Stage::Handshake, Cause::SetupTimeout)
    );
}

pub(crate) async fn a_killed_process_is_noticed_at_once_and_another_answers<R: Runtime>(
    site: Loopback<R>,
) {
    let ((mut child, killed), alive) = (child(), site.node(Way::Echo));
    let mut client = site.client([&killed]);
    client.assert_echoes("running").await;
    // So that the next request is in flight when it dies.
    child.stop().expect("SIGSTOP");
    let request = begin(client.request("hello".into()).idempotent());
    site.until(|| client.stats().in_flight == 1).await;
    child.kill().expect("SIGKILL");
    let cause = client.disconnected(&killed).await;
    // With unread bytes the kernel sends a reset.
    assert!(matches!(cause, Cause::PeerClosed | Cause::Io), "{cause}");
    client.list([&killed, &alive]);
    assert_echoed(site.soon(request).await, "hello");
    assert_eq!(alive.received(), [b"hello"]);
}
