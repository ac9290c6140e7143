//! A server list behind a URL, from servers that answer as scripted.

mod scripted;

use std::{io::ErrorKind, time::Duration};

use redial::driver::{RedirectError, ServerSource, SourceError};
use redial_tokio::{Condition, HttpError, HttpSource, PublishError};
use scripted::{Scripted, list, response};

/// In each URL, header and redirect of the tests where one can be.
const SECRET: &str = "hunter2";

fn source(url: &str) -> HttpSource {
    HttpSource::new(url).expect("it makes sense")
}

async fn servers(source: &HttpSource) -> Result<Vec<String>, SourceError> {
    let list = source.retrieve().await?;
    let servers = list.nodes.iter().map(|node| node.endpoint.to_string());
    Ok(servers.collect())
}

#[tokio::test]
async fn a_list_is_read_with_the_default_port_or_as_dynamic_configuration() {
    let server = Scripted::start(|request| match request.path() {
        "/lines" => list("# ours\na:1\nb\n"),
        _ => list("server.1=a:2888:3888;2181\nversion=1f\n"),
    });
    let lines = HttpSource::builder(&server.url("/lines")).default_port(7);
    let lines = lines.build().expect("it makes sense");
    assert_eq!(servers(&lines).await.expect("a list"), ["a:1", "b:7"]);
    let dynamic = source(&server.url("/dynamic"));
    let list = dynamic.retrieve().await.expect("a list");
    assert_eq!((list.nodes.len(), list.version), (1, Some(0x1f)));
}

#[tokio::test]
async fn credentials_in_the_url_or_apart_are_sent() {
    let server = Scripted::start(|_| list("a:1"));
    let at = |user: &str| {
        server
            .url("/")
            .replacen("http://", &format!("http://{user}@"), 1)
    };
    let sources = [
        HttpSource::builder(&at("me%40here:p%3Aw%25d")),
        HttpSource::builder(&server.url("/")).basic("me@here", "p:w%d"),
        HttpSource::builder(&at("me")),
        HttpSource::builder(&server.url("/")).bearer("t0ken"),
        HttpSource::builder(&server.url("/")),
    ];
    for source in sources {
        let source = source.build().expect("it makes sense");
        servers(&source).await.expect("a list");
    }
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("authorization").unwrap_or("none").to_owned())
        .collect();
    let pair = "Basic bWVAaGVyZTpwOnclZA==";
    assert_eq!(sent, [pair, pair, "Basic bWU6", "Bearer t0ken", "none"]);
}

#[test]
fn what_is_said_wrongly_is_told_when_it_is_built() {
    let build = HttpSource::builder;
    for (builder, expected) in [
        (build("ftp://a/"), HttpError::Scheme),
        (build("http://u:p@a/"), HttpError::ClearCredentials),
        (build("http://a/").bearer("x"), HttpError::ClearCredentials),
        (
            build("https://u:p@a/").bearer("x"),
            HttpError::TwoCredentials,
        ),
        (build("https://a/").bearer("x\ny"), HttpError::Credentials),
        (
            build("https://a/").basic("x:y", "z"),
            HttpError::Credentials,
        ),
    ] {
        assert_eq!(builder.build().expect_err("it is wrong"), expected);
    }
    for url in [
        "",
        "a:1",
        "https://",
        "https://u:hunter2@a:99999/",
        "//hunter2@a",
    ] {
        let error = HttpSource::new(url).expect_err(url).to_string();
        assert!(!error.contains(SECRET), "{error}");
    }
    for pem in [
        "",
        "hunter2",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        let builder = build("https://a/").root_certificate(pem);
        assert!(
            matches!(builder.build(), Err(HttpError::Certificate(_))),
            "{pem}"
        );
    }
    for builder in [
        build("http://u:p@localhost/"),
        build("http://u:p@127.9.9.9/"),
        build("http://u:p@[::1]/"),
        build("http://u:p@a/").allow_clear_credentials(),
        build("https://u:p@a/"),
    ] {
        builder.build().expect("it is right");
    }
}

/// All kinds of failure, with a secret wherever one can be.
#[tokio::test]
async fn no_text_has_a_secret() {
    let server = Scripted::start(|request| match request.path() {
        "/garbage" => list("hunter2 hunter2"),
        "/binary" => response("200 OK", "", b"\xff\xfe"),
        "/srv" => list("dns-srv://hunter2"),
        "/large" => response("200 OK", "", &[b'x'; 2_000_000]),
        "/cut" => b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\na:1".to_vec(),
        "/endless" => b"HTTP/1.1 200 OK\r\n\r\na:1".to_vec(),
        "/nonsense" => b"hunter2\r\n\r\n".to_vec(),
        "/closed" => Vec::new(),
        "/loop" => redirect("/loop?hunter2"),
        "/nowhere" => response("302 Found", "", b""),
        "/ftp" => redirect("ftp://hunter2:hunter2@a/hunter2"),
        "/away" => redirect("http://hunter2:hunter2@localhost:1/b?hunter2#hunter2"),
        path => response(&path[1..4], "", b"hunter2"),
    });
    let mut kinds = Vec::new();
    for path in [
        "/garbage",
        "/binary",
        "/srv",
        "/large",
        "/cut",
        "/endless",
        "/nonsense",
        "/closed",
        "/loop",
        "/nowhere",
        "/ftp",
        "/away",
        "/401",
        "/403",
        "/404",
        "/500",
        "/304",
        "/204",
    ] {
        let url = server.url(&format!("{path}?key=hunter2#hunter2"));
        let source = source(&url.replace("http://", "http://hunter2:hunter2@"));
        let error = source.retrieve().await.expect_err(path);
        for text in [
            error.to_string(),
            format!("{error:?}"),
            source.place(),
            format!("{source:?}"),
        ] {
            assert!(!text.contains(SECRET), "{path}: {text}");
            assert!(text.contains(path) || path == "/away", "{path}: {text}");
        }
        kinds.push(kind(&error));
    }
    assert_eq!(
        kinds,
        [
            "malformed",
            "InvalidData",
            "indirect",
            "too large",
            "UnexpectedEof",
            "UnexpectedEof",
            "InvalidData",
            "UnexpectedEof",
            "too many",
            "unusable",
            "unusable",
            "ConnectionRefused",
            "denied 401",
            "denied 403",
            "status 404",
            "status 500",
            "status 304",
            "status 204",
        ]
    );
    let builder = HttpSource::builder("https://hunter2@a/?hunter2").bearer(SECRET);
    assert!(!format!("{builder:?}").contains(SECRET));
}

fn kind(error: &SourceError) -> String {
    match error {
        SourceError::Io { kind, .. } => format!("{kind:?}"),
        SourceError::TooLarge { .. } => "too large".into(),
        SourceError::Malformed { .. } => "malformed".into(),
        SourceError::Status { status, .. } => format!("status {status}"),
        SourceError::AccessDenied { status, .. } => format!("denied {status}"),
        SourceError::Redirect { error, .. } => match error {
            RedirectError::TooMany { max: 3 } => "too many".into(),
            RedirectError::Unusable => "unusable".into(),
            other => format!("{other:?}"),
        },
        SourceError::Indirect { .. } => "indirect".into(),
        other => format!("{other:?}"),
    }
}

fn redirect(to: &str) -> Vec<u8> {
    response("302 Found", &format!("Location: {to}\r\n"), b"")
}

/// Neither there, nor from there back to where they are good.
#[tokio::test]
async fn credentials_never_go_to_another_host_nor_come_back_from_one() {
    let second = Scripted::start(|request| {
        let back = request.query().expect("where the first one is").to_owned();
        redirect(&format!("http://u:hunter2@{back}/end"))
    });
    let address = second.address();
    let first = Scripted::start(move |request| match request.path() {
        "/end" => list("a:1"),
        _ => {
            let host = request.header("host").expect("it is sent");
            redirect(&format!("http://{address}/?{host}"))
        }
    });
    let source = HttpSource::builder(&first.url("/")).basic("u", SECRET);
    let source = source.build().expect("it makes sense");
    assert_eq!(servers(&source).await.expect("a list"), ["a:1"]);
    assert!(first.requests()[0].header("authorization").is_some());
    for request in [&second.requests()[0], &first.requests()[1]] {
        assert_eq!(request.header("authorization"), None);
        assert!(!request.text().contains(SECRET), "{}", request.text());
    }
}

#[tokio::test]
async fn redirects_on_the_same_host_keep_the_credentials_and_are_limited() {
    let server = Scripted::start(|request| match request.path() {
        "/3" => redirect("2"),
        "/2" => redirect("/1"),
        "/1" => redirect("/0"),
        _ => list("a:1"),
    });
    let at = |path: &str, max| {
        let builder = HttpSource::builder(&server.url(path)).bearer("t");
        builder.max_redirects(max).build().expect("it makes sense")
    };
    servers(&at("/3", 3)).await.expect("three are followed");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|r| r.header("authorization").is_some()));
    for (path, max) in [("/3", 2), ("/1", 0)] {
        let error = servers(&at(path, max)).await.expect_err("one too many");
        let expected = RedirectError::TooMany { max };
        assert!(matches!(error, SourceError::Redirect { error, .. } if error == expected));
    }
}

#[tokio::test]
async fn a_tag_is_given_back_and_then_the_last_list_is_the_answer_again() {
    let server = Scripted::start(|request| match request.header("if-none-match") {
        None => response(
            "200 OK",
            "ETag: \"one\"\r\n",
            b"server.1=a:1:2;3\nversion=7",
        ),
        Some("\"one\"") => response("304 Not Modified", "", b""),
        Some(other) => panic!("{other}"),
    });
    let source = source(&server.url("/"));
    let first = source.retrieve().await.expect("a list");
    // A clone knows it too.
    assert_eq!(source.clone().retrieve().await.expect("a list"), first);
    assert_eq!(first.version, Some(7));
    assert_eq!(server.requests().len(), 2);
    let fetched = source.fetch().await.expect("a list");
    assert_eq!(fetched.etag.as_deref(), Some("\"one\""));
    assert_eq!(fetched.list, Ok(first));
}

/// RFC 9110 8.8.2.2: made of whole seconds, the tag may be that of another text of this second too.
#[tokio::test]
async fn a_tag_as_new_as_the_answer_is_not_given_back() {
    const DATE: &str = "Date: Mon, 30 Nov 2026 03:10:14 GMT\r\n";
    const CHANGED: &str = "Last-Modified: Mon, 30 Nov 2026 03:10:1";
    let server = Scripted::start(|request| {
        let second = if request.number == 0 { 4 } else { 3 };
        let headers = format!("{DATE}{CHANGED}{second} GMT\r\nETag: \"1\"\r\n");
        match request.header("if-none-match") {
            None => response("200 OK", &headers, b"a:1"),
            Some(_) => response("304 Not Modified", "", b""),
        }
    });
    let source = source(&server.url("/"));
    for _ in 0..3 {
        assert_eq!(servers(&source).await.expect("a list"), ["a:1"]);
    }
    let requests = server.requests();
    let given_back = requests
        .iter()
        .map(|request| request.header("if-none-match").is_some());
    assert_eq!(given_back.collect::<Vec<_>>(), [false, false, true]);
}

/// A server that sends us elsewhere may send us to another place tomorrow.
#[tokio::test]
async fn a_tag_is_given_back_to_the_url_that_it_is_from_only() {
    let server = Scripted::start(|request| match (request.path(), request.number) {
        ("/", 0) => redirect("/old"),
        ("/", _) => redirect("/new"),
        ("/old", _) => response("200 OK", "ETag: \"1\"\r\n", b"a:1"),
        _ if request.header("if-none-match").is_some() => response("304 Not Modified", "", b""),
        _ => response("200 OK", "ETag: \"1\"\r\n", b"b:1"),
    });
    let source = source(&server.url("/"));
    for expected in ["a:1", "b:1", "b:1"] {
        assert_eq!(servers(&source).await.expect("a list"), [expected]);
    }
    assert!(
        server
            .requests()
            .iter()
            .step_by(2)
            .all(|r| r.header("if-none-match").is_none())
    );
}

/// A list that cannot be read does not become the last list.
#[tokio::test]
async fn a_failure_does_not_spoil_what_the_tag_stands_for() {
    let server = Scripted::start(|request| match request.number {
        0 => response("200 OK", "ETag: \"good\"\r\n", b"a:1"),
        1 => response("200 OK", "ETag: \"bad\"\r\n", b"no list"),
        _ => {
            assert_eq!(request.header("if-none-match"), Some("\"good\""));
            response("304 Not Modified", "", b"")
        }
    });
    let source = source(&server.url("/"));
    servers(&source).await.expect("a list");
    servers(&source).await.expect_err("no list");
    assert_eq!(servers(&source).await.expect("a list"), ["a:1"]);
}

#[tokio::test]
async fn the_size_is_limited_whether_it_is_said_or_not() {
    let server = Scripted::start(|request| {
        let body = &b"# 45678\na:1"[..];
        match request.path() {
            "/said" => response("200 OK", "", body),
            "/lie" => b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\na:1".to_vec(),
            _ => scripted::chunked(&[&body[..5], &body[5..]]),
        }
    });
    for (path, max, fits) in [
        ("/said", 11, true),
        ("/said", 10, false),
        ("/chunked", 11, true),
        ("/chunked", 10, false),
        ("/chunked", 0, false),
        ("/lie", 1 << 20, false),
    ] {
        let source = HttpSource::builder(&server.url(path)).max_bytes(max);
        let answer = servers(&source.build().expect("it makes sense")).await;
        match fits {
            true => assert_eq!(answer.expect("it fits"), ["a:1"]),
            false => {
                let error = answer.expect_err("it does not fit");
                assert!(matches!(error, SourceError::TooLarge { max: m, .. } if m == max));
            }
        }
    }
}

/// What is there would be a list.
#[tokio::test]
async fn half_a_list_is_none() {
    let server = Scripted::start(|request| match request.path() {
        "/length" => b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\na:1\n".to_vec(),
        "/chunks" => {
            let mut whole = scripted::chunked(&[b"a:1\n"]);
            whole.truncate(whole.len() - "0\r\n\r\n".len());
            whole
        }
        "/coding" => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\na:1\n".to_vec(),
        "/coding-and-length" => {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 8\r\n\r\na:1\n"
                .to_vec()
        }
        _ => b"HTTP/1.0 200 OK\r\n\r\na:1\n".to_vec(),
    });
    for path in [
        "/length",
        "/chunks",
        "/coding",
        "/coding-and-length",
        "/no-length",
    ] {
        let error = servers(&source(&server.url(path))).await.expect_err(path);
        let is_it =
            matches!(&error, SourceError::Io { kind, .. } if *kind == ErrorKind::UnexpectedEof);
        assert!(is_it, "{path}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_anywhere_is_given_up_in_time() {
    let server = Scripted::start(|request| match request.path() {
        "/body" => b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\na:1\n!hang".to_vec(),
        _ => b"!hang".to_vec(),
    });
    for path in ["/head", "/body"] {
        let source = HttpSource::builder(&server.url(path)).timeout(Duration::from_millis(200));
        let answer = servers(&source.build().expect("it makes sense")).await;
        let error = answer.expect_err("it hangs");
        let is_it = matches!(&error, SourceError::Io { kind, .. } if *kind == ErrorKind::TimedOut);
        assert!(is_it, "{path}: {error:?}");
    }
}

#[tokio::test]
async fn compression_is_not_asked_for_and_not_taken() {
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00";
    let server = Scripted::start(|_| response("200 OK", "Content-Encoding: gzip\r\n", gzip));
    servers(&source(&server.url("/")))
        .await
        .expect_err("it is no text");
    assert_eq!(
        server.requests()[0].header("accept-encoding"),
        Some("identity")
    );
}

#[tokio::test]
async fn a_list_is_written_under_its_condition() {
    let server = Scripted::start(|_| response("204 No Content", "", b""));
    let source = HttpSource::builder(&server.url("/")).basic("u", "p");
    let source = source.build().expect("it makes sense");
    for condition in [
        Condition::Always,
        Condition::Absent,
        Condition::Unchanged("\"x\"".into()),
    ] {
        source
            .publish("a:1\n", &condition)
            .await
            .expect("it is written");
    }
    let requests = server.requests();
    let sent = requests.iter().map(|request| {
        assert!(request.text().starts_with("PUT / "));
        assert!(request.header("authorization").is_some());
        assert_eq!(request.body(), "a:1\n");
        (request.header("if-match"), request.header("if-none-match"))
    });
    let expected = [(None, None), (None, Some("*")), (Some("\"x\""), None)];
    assert_eq!(sent.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn why_a_list_was_not_written_is_told() {
    let server = Scripted::start(|request| match request.path() {
        "/closed" => Vec::new(),
        "/redirect" => redirect("/elsewhere"),
        path => response(&path[1..], "", b"hunter2"),
    });
    let publish = async |url: &str| {
        let url = url.replace("http://", "http://u:hunter2@");
        let error = source(&url).publish("a:1", &Condition::Always).await;
        let error = error.expect_err("it is refused");
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
        error
    };
    for (path, expected) in [
        ("/412", "Changed"),
        ("/405", "NotAllowed"),
        ("/501", "NotAllowed"),
        ("/401", "Failed(AccessDenied"),
        ("/403", "Failed(AccessDenied"),
        ("/409", "Failed(Status"),
        ("/redirect", "Failed(Status"),
        ("/502", "Unknown(Status"),
        ("/202", "Unknown(Status"),
        ("/303", "Unknown(Status"),
        ("/closed", "Unknown(Io"),
    ] {
        let error = format!("{:?}", publish(&server.url(path)).await);
        assert!(error.starts_with(expected), "{path}: {error}");
    }
    let error = publish(&scripted::nobody()).await;
    assert!(matches!(error, PublishError::Failed(_)), "{error:?}");
    assert_eq!(server.requests().len(), 11);
}

#[tokio::test]
async fn what_is_no_list_or_no_tag_is_not_sent() {
    let server = Scripted::start(|_| response("204 No Content", "", b""));
    let source = source(&server.url("/"));
    for text in ["", "no list", "dns-srv://a"] {
        let error = source.publish(text, &Condition::Always).await;
        assert!(
            matches!(error, Err(PublishError::Malformed(_))),
            "{error:?}"
        );
    }
    for tag in ["", "x", "\"", "W/\"x\"", "\"\n\""] {
        let error = source
            .publish("a:1", &Condition::Unchanged(tag.into()))
            .await;
        assert_eq!(error, Err(PublishError::Tag), "{tag}");
    }
    // Nobody would read it.
    let large = format!("a:1\n{}", "#".repeat(1 << 20));
    let error = source.publish(large, &Condition::Always).await;
    assert!(
        matches!(
            error,
            Err(PublishError::Malformed(SourceError::TooLarge { .. }))
        ),
        "{error:?}"
    );
    assert!(server.requests().is_empty());
}
