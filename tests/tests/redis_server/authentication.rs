//! Servers that want a password.

use redial::{Config, Reason};
use redial_tests::{
    redis::{RedisServer, command, resp::Redis, string},
    waiting::{failure, soon},
};

use crate::support::{ask, client_with};

/// Each way to say this password.
fn with_password(password: &'static str) -> [Redis; 4] {
    [
        Redis::new().password(password),
        Redis::new().user("default").password(password),
        Redis::new().resp2().password(password),
        Redis::new().resp2().user("default").password(password),
    ]
}

fn server_with_password() -> Option<RedisServer> {
    let server = RedisServer::start(&[])?;
    assert_eq!(server.command("CONFIG SET requirepass right"), "+OK");
    Some(server)
}

#[tokio::test]
async fn the_right_password_opens_a_connection() {
    let Some(server) = server_with_password() else {
        return;
    };
    for protocol in with_password("right") {
        let client = client_with(protocol, Config::default(), &[&server]);
        assert_eq!(ask(&client, "ECHO x").await, string("x"));
    }
}

#[tokio::test]
async fn a_wrong_or_missing_password_fails_what_waits_for_the_connection() {
    let Some(server) = server_with_password() else {
        return;
    };
    let missing = [Redis::new(), Redis::new().resp2()];
    for protocol in with_password("wrong").into_iter().chain(missing) {
        let client = client_with(protocol, Config::default(), &[&server]);
        let error = failure(soon(client.request(command("PING"))).await);
        assert_eq!(error.reason, Reason::AuthenticationFailed);
        assert_eq!(client.stats().failures_authenticate, 1);
    }
}
