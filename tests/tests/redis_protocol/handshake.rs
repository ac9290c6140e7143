//! From the greeting to Ready.

use redial::Cause;
use redial_tests::redis::{command, resp::Redis};

use crate::rig::{Rig, Seen};

#[test]
fn the_greeting_says_version_and_credentials() {
    for (protocol, greeting) in [
        (Redis::new(), "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"),
        (
            Redis::new().password("pw"),
            "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$2\r\npw\r\n",
        ),
        (
            Redis::new().user("me").password("pw"),
            "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$2\r\npw\r\n",
        ),
        (Redis::new().resp2(), "*1\r\n$4\r\nPING\r\n"),
        (
            Redis::new().resp2().password("pw"),
            "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n",
        ),
        (
            Redis::new().resp2().user("me").password("pw"),
            "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$2\r\npw\r\n",
        ),
    ] {
        assert_eq!(
            Rig::greeting(protocol).written(),
            greeting.as_bytes(),
            "{greeting:?}"
        );
    }
}

#[test]
fn a_password_is_not_shown() {
    let shown = format!("{:?}", Redis::new().user("me").password("secret"));
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn a_refusal_says_whether_it_is_about_credentials_or_the_version() {
    use Cause::{CredentialsRejected, PeerClosed, VersionRefused};
    for (refusal, cause) in [
        (
            "-WRONGPASS invalid username-password pair",
            CredentialsRejected,
        ),
        ("-NOAUTH HELLO must be called with …", CredentialsRejected),
        ("-NOPERM no permissions", CredentialsRejected),
        (
            "-DENIED Redis is running in protected mode",
            CredentialsRejected,
        ),
        ("-ERR invalid password", CredentialsRejected),
        (
            "-ERR AUTH <password> called without any password configured for the default user",
            CredentialsRejected,
        ),
        (
            "-ERR Client sent AUTH, but no password is set",
            CredentialsRejected,
        ),
        ("-NOPROTO unsupported protocol version", VersionRefused),
        ("-ERR unknown command `HELLO`", VersionRefused),
        ("-ERR max number of clients reached", PeerClosed),
        ("-LOADING loading", PeerClosed),
    ] {
        let mut rig = Rig::greeting(Redis::new().password("pw"));
        rig.written();
        let seen = rig.read(format!("{refusal}\r\n").as_bytes());
        assert_eq!(seen, [Seen::Ended(cause)], "{refusal}");
    }
}

#[test]
fn a_resp2_server_that_is_loading_is_ready_and_says_so_to_each_command() {
    let mut rig = Rig::greeting(Redis::new().resp2());
    rig.written();
    assert_eq!(rig.read(b"-LOADING loading\r\n"), [Seen::Ready]);
    let id = rig.send(command("GET x"));
    assert_eq!(rig.read(b"-LOADING loading\r\n"), [Seen::Retry(id)]);
}

#[test]
fn a_push_may_come_before_the_handshake_is_done() {
    let mut rig = Rig::greeting(Redis::new());
    rig.written();
    let seen = rig.read(b">1\r\n+news\r\n%0\r\n");
    assert!(matches!(seen[..], [Seen::Push(_), Seen::Ready]), "{seen:?}");
}
