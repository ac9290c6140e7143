//! `serverlist put`: a list is replaced on its condition, or nothing is written.

use std::sync::{Arc, Mutex};

use redial_tests::nginx::Nginx;

use crate::{
    scripted::{Request, Scripted, response},
    tool::{File, Ran, run, serverlist},
};

/// nginx's WebDAV module replaces a file in one step. It does not look at If-Match.
const DAV: &str = "
    location / { dav_methods PUT; limit_except GET { auth_basic x; auth_basic_user_file users; } }
    location /read-only { }";

const OPERATOR: &str = "operator:hunter2";

fn put(url: &str, text: &str, options: &[&str]) -> Ran {
    let file = File::new(text);
    let arguments = ["put", url, file.path()];
    run(&mut serverlist(&[&arguments, options].concat()))
}

/// It failed, said so, and did not write.
fn refused(nginx: &Nginx, ran: &Ran, why: &str) {
    assert!(!ran.well);
    assert!(ran.err.contains(why), "{}", ran.err);
    assert_eq!(nginx.read("servers"), "a:1\n");
}

fn with_a_list() -> Option<Nginx> {
    let nginx = Nginx::start(DAV)?;
    nginx.write("servers", "a:1\n");
    Some(nginx)
}

fn tag(nginx: &Nginx) -> String {
    let ran = run(&mut serverlist(&["get", &nginx.url("/servers")]));
    let tag = ran.err.lines().find_map(|line| line.strip_prefix("ETag: "));
    tag.expect("a tag").to_owned()
}

#[test]
fn a_list_is_replaced() {
    let Some(nginx) = with_a_list() else { return };
    let url = nginx.url_as(OPERATOR, "/servers");
    let ran = put(&url, "b:22\nc:333\n", &[]);
    assert!(ran.well, "{}", ran.err);
    assert_eq!(
        ran.out,
        format!("{}: 2 servers are written\n", nginx.url("/servers"))
    );
    assert_eq!(nginx.read("servers"), "b:22\nc:333\n");
}

/// With its quotes, or without, as a shell leaves it.
#[test]
fn a_list_that_is_as_get_has_shown_it_is_replaced() {
    for quotes in ["\"", ""] {
        let Some(nginx) = with_a_list() else { return };
        let tag = tag(&nginx).replace('"', quotes);
        let url = nginx.url_as(OPERATOR, "/servers");
        let ran = put(&url, "b:22\n", &["--if-match", &tag]);
        assert!(ran.well, "{}", ran.err);
        assert_eq!(nginx.read("servers"), "b:22\n");
    }
}

#[test]
fn with_a_wrong_password_nothing_is_written() {
    let Some(nginx) = with_a_list() else { return };
    let url = nginx.url_as("operator:no-hunter2", "/servers");
    for options in [&[][..], &["--force"]] {
        refused(
            &nginx,
            &put(&url, "b:22\n", options),
            "access denied (status 401)",
        );
    }
    refused(
        &nginx,
        &put(&nginx.url("/servers"), "b:22\n", &[]),
        "nothing was written",
    );
}

#[test]
fn a_list_that_has_changed_is_not_replaced() {
    let Some(nginx) = with_a_list() else { return };
    nginx.write("servers", "elsewhere:9\n");
    let tag = tag(&nginx);
    nginx.write("servers", "a:1\n");
    let ran = put(
        &nginx.url_as(OPERATOR, "/servers"),
        "b:22\n",
        &["--if-match", &tag],
    );
    refused(
        &nginx,
        &ran,
        "it is not as expected any more; nothing was written",
    );
}

#[test]
fn a_list_is_created_only_where_there_is_none() {
    let Some(nginx) = with_a_list() else { return };
    let ran = put(&nginx.url_as(OPERATOR, "/servers"), "b:22\n", &["--create"]);
    refused(&nginx, &ran, "nothing was written");
    let ran = put(&nginx.url_as(OPERATOR, "/new"), "b:22\n", &[]);
    refused(&nginx, &ran, "status 404");
    assert!(put(&nginx.url_as(OPERATOR, "/new"), "b:22\n", &["--create"]).well);
    assert_eq!(nginx.read("new"), "b:22\n");
}

#[test]
fn a_file_that_is_no_list_is_not_sent() {
    let Some(nginx) = with_a_list() else { return };
    for text in ["", "a:1\nno list\n", "dns-srv://a\n"] {
        let ran = put(&nginx.url_as(OPERATOR, "/servers"), text, &["--force"]);
        refused(&nginx, &ran, "redial-serverlist-");
    }
    assert!(nginx.requests().is_empty());
}

#[test]
fn a_server_that_takes_no_lists_says_so() {
    let Some(nginx) = with_a_list() else { return };
    nginx.write("read-only", "a:1\n");
    let ran = put(&nginx.url("/read-only"), "b:22\n", &[]);
    refused(&nginx, &ran, "the server takes no lists there (status 405)");
    assert_eq!(nginx.read("read-only"), "a:1\n");
}

#[test]
fn whether_a_list_was_written_is_not_known_without_an_answer() {
    let server = Scripted::start(|_| b"!hang".to_vec());
    let ran = put(&server.url("/"), "b:22\n", &["--force", "--timeout", "0.2"]);
    assert!(!ran.well);
    assert!(
        ran.err.contains("whether it was written is not known"),
        "{}",
        ran.err
    );
}

/// A server that keeps to the condition, as nginx does not, and that has another list after each look.
#[test]
fn who_is_quicker_between_look_and_write_wins() {
    let list = Arc::new(Mutex::new((0, "a:1\n".to_owned())));
    let kept = Arc::clone(&list);
    let server = Scripted::start(move |request: &Request| {
        let (version, text) = &mut *kept.lock().expect("no panic");
        let tag = format!("\"{version}\"");
        match (
            request.header("if-match"),
            request.text().starts_with("GET "),
        ) {
            (_, true) => {
                let answer = response("200 OK", &format!("ETag: {tag}\r\n"), text.as_bytes());
                *version += 1;
                answer
            }
            (Some(expected), _) if expected != tag => response("412 Precondition Failed", "", b""),
            _ => {
                *text = request.body().to_owned();
                response("204 No Content", "", b"")
            }
        }
    });
    let ran = put(&server.url("/"), "b:22\n", &[]);
    assert!(!ran.well);
    assert!(
        ran.err
            .contains("it is not as expected any more; nothing was written"),
        "{}",
        ran.err
    );
    assert_eq!(list.lock().expect("no panic").1, "a:1\n");
    assert!(put(&server.url("/"), "b:22\n", &["--force"]).well);
    assert_eq!(list.lock().expect("no panic").1, "b:22\n");
}
