//! 7.5: whatever goes wrong, the old list stays, and an event says why.

use std::{
    fs,
    io::ErrorKind,
    net::TcpListener,
    time::{Duration, Instant},
};

use redial::{RefreshResult, driver::SourceError};
use redial_tests::nginx::Nginx;
use redial_tokio::HttpSource;

use crate::{
    scripted::{Scripted, response},
    support::Rig,
};

/// How one URL goes wrong while there is a file of this name.
const WAYS: [&str; 10] = [
    "denied",
    "forbidden",
    "missing",
    "broken",
    "hanging",
    "turning",
    "empty",
    "garbage",
    "huge",
    "cut",
];

/// Nobody answers at `hanging`, and `cut` closes early.
fn locations(hanging: &str, cut: &str) -> String {
    let switches = WAYS
        .map(|way| format!("if (-f $document_root/{way}.on) {{ rewrite ^ /way/{way} last; }}\n"));
    format!(
        "
location = /servers {{ {} }}
location = /way/denied {{ auth_basic x; auth_basic_user_file users; }}
location = /way/forbidden {{ return 403; }}
location = /way/broken {{ return 500; }}
location = /way/hanging {{ proxy_pass {hanging}; }}
location = /way/turning {{ return 302 /servers; }}
location = /way/cut {{ proxy_pass {cut}; }}
",
        switches.concat()
    )
}

fn is_way(way: &str, error: &SourceError) -> bool {
    use SourceError::{AccessDenied, Io, Malformed, Redirect, Status, TooLarge};
    match (way, error) {
        ("denied", AccessDenied { status: 401, .. })
        | ("forbidden", AccessDenied { status: 403, .. })
        | ("missing", Status { status: 404, .. })
        | ("broken", Status { status: 500, .. })
        | ("turning", Redirect { .. })
        | ("empty", Malformed { .. })
        | ("huge", TooLarge { .. }) => true,
        ("hanging", Io { kind, .. }) => *kind == ErrorKind::TimedOut,
        ("garbage", Io { kind, .. }) => *kind == ErrorKind::InvalidData,
        ("cut", Io { kind, .. }) => *kind == ErrorKind::UnexpectedEof,
        ("down", Io { kind, .. }) => *kind == ErrorKind::ConnectionRefused,
        _ => false,
    }
}

/// Asks soon again and gives up soon.
fn rig(nginx: &Nginx) -> Rig {
    let builder = HttpSource::builder(&nginx.url("/servers?key=hunter2"));
    let builder = builder.basic("somebody", "else-hunter2");
    let builder = builder.timeout(Duration::from_millis(300));
    Rig::new(builder.build().expect("it makes sense"))
}

#[tokio::test]
async fn whatever_goes_wrong_the_old_list_stays_and_an_event_says_why() {
    // Never accepted, but the kernel takes the connection.
    let silent = TcpListener::bind("127.0.0.1:0").expect("loopback works");
    let silent = format!("http://{}", silent.local_addr().expect("it is bound"));
    let cut = Scripted::start(|_| {
        let mut whole = response("200 OK", "", &b"b:1\n".repeat(1_000));
        whole.truncate(200);
        whole
    });
    let Some(nginx) = Nginx::start(&locations(&silent, &cut.url("/"))) else {
        return;
    };
    fs::create_dir(nginx.file("way")).expect("it can be created");
    nginx.write("way/denied", "b:1\n");
    nginx.write("way/empty", "");
    nginx.write("way/garbage", [b'b', b':', b'1', 0xfe, 0xff, 0]);
    let huge = fs::File::create(nginx.file("way/huge")).expect("it can be created");
    huge.set_len(100 << 20).expect("it is sparse");
    nginx.write("servers", "a:1\n");
    let mut rig = rig(&nginx);
    rig.until(&["a:1"]).await;

    for way in WAYS {
        let (start, before) = (Instant::now(), nginx.requests().len());
        let switch = format!("{way}.on");
        nginx.write(&switch, "");
        for _ in 0..3 {
            let error = rig.failure(|error| is_way(way, error)).await;
            let text = format!("{error} {error:?}");
            assert!(
                text.contains("/servers") && !text.contains("hunter2"),
                "{text}"
            );
        }
        assert_eq!(rig.servers(), ["a:1"], "{way}");
        let failed = rig.client.stats().refreshes_failed;
        fs::remove_file(nginx.file(&switch)).expect("it is there");
        // A turn in the circle is four requests.
        let requests = nginx.requests().len() - before;
        let periods = usize::try_from(start.elapsed().as_millis() / 100).expect("a few");
        assert!(
            requests <= 4 * (periods + 2),
            "{way}: {requests} in {periods} periods"
        );
        assert!(failed >= 3);
        while rig.refreshed().await != RefreshResult::Unchanged {}
    }
    nginx.write("servers", "c:333\n");
    rig.until(&["c:333"]).await;
}

#[tokio::test]
async fn a_server_that_is_down_changes_nothing_until_it_is_up_again() {
    let Some(mut nginx) = Nginx::start("") else {
        return;
    };
    nginx.write("servers", "a:1\n");
    let mut rig = rig(&nginx);
    rig.until(&["a:1"]).await;
    nginx.kill();
    for _ in 0..3 {
        rig.failure(|error| is_way("down", error)).await;
    }
    assert_eq!(rig.servers(), ["a:1"]);
    nginx.write("servers", "b:22\n");
    nginx.restart();
    rig.until(&["b:22"]).await;
}
