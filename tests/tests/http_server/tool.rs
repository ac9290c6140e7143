//! The tool `serverlist`, as a process of its own.

use std::{
    path::PathBuf,
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
};

use redial_tests::nginx::Nginx;

/// Without credentials of the environment that the tests run in.
pub(crate) fn serverlist(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serverlist"));
    command.args(arguments);
    for name in ["REDIAL_USER", "REDIAL_PASSWORD"] {
        command.env_remove(name);
    }
    command
}

/// What it prints and says.
pub(crate) struct Ran {
    pub(crate) well: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn run(command: &mut Command) -> Ran {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (out, err) = (text(stdout), text(stderr));
    assert!(
        !out.contains("hunter2") && !err.contains("hunter2"),
        "{out}{err}"
    );
    Ran {
        well: status.success(),
        out,
        err,
    }
}

/// A file for one test.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new(text: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("redial-serverlist-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("it can be written");
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn get_prints_the_list_as_it_is_and_tells_its_tag() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    let text = "server.1=a:2888:3888;2181\n# ours\nversion=1f\n";
    nginx.write("servers", text);
    let ran = run(&mut serverlist(&["get", &nginx.url("/servers")]));
    assert!(ran.well, "{}", ran.err);
    assert_eq!(ran.out, text);
    assert!(
        ran.err.starts_with("1 servers\nversion: 1f\nETag: \""),
        "{}",
        ran.err
    );
}

#[test]
fn get_fails_where_there_is_no_list() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    nginx.write("garbage", "no list\n");
    for path in ["/garbage", "/missing"] {
        let ran = run(&mut serverlist(&["get", &nginx.url(path)]));
        assert!(!ran.well && ran.out.is_empty());
        assert!(
            ran.err.starts_with(&format!("error: {}", nginx.url(path))),
            "{}",
            ran.err
        );
    }
}

#[test]
fn credentials_and_authorities_are_taken_from_where_they_are_safe() {
    let locations = "
        location /basic { auth_basic x; auth_basic_user_file users; }
        location /bearer { if ($http_authorization != 'Bearer hunter2') { return 401; } }";
    let Some(nginx) = Nginx::start(locations) else {
        return;
    };
    nginx.write("basic", "a:1\n");
    nginx.write("bearer", "b:1\n");
    let ca = File::new(nginx.certificates().authority());
    let (basic, bearer) = (nginx.https_url("/basic"), nginx.https_url("/bearer"));
    let ran = run(serverlist(&["get", &basic, "--ca", ca.path()])
        .env("REDIAL_USER", "operator")
        .env("REDIAL_PASSWORD", "hunter2"));
    assert!(ran.well && ran.out == "a:1\n", "{}", ran.err);
    let ran = run(
        serverlist(&["get", &bearer, "--ca", ca.path(), "--bearer-env", "TOKEN"])
            .env("TOKEN", "hunter2"),
    );
    assert!(ran.well && ran.out == "b:1\n", "{}", ran.err);
    let ran = run(&mut serverlist(&["get", &basic, "--ca", ca.path()]));
    assert!(!ran.well && ran.err.contains("status 401"), "{}", ran.err);
}

/// `run` looks for the password in all that is said.
#[test]
fn a_url_in_a_wrong_place_of_the_command_line_is_not_repeated() {
    let url = "http://operator:hunter2@localhost/servers";
    for arguments in [
        &[url][..],
        &[url, "get"],
        &["get", url, url],
        &["get", url, "--timeout", url],
        &["watch", url, &format!("--interval={url}")],
        &["operator:hunter2@localhost"],
    ] {
        let ran = run(&mut serverlist(arguments));
        assert!(!ran.well && ran.out.is_empty());
        assert!(ran.err.ends_with("; see --help\n"), "{}", ran.err);
    }
    let ran = run(&mut serverlist(&["get", url, "--timeout", "0"]));
    assert!(
        !ran.well && ran.err.contains("0.001 to 86400"),
        "{}",
        ran.err
    );
    assert!(run(&mut serverlist(&["--help"])).out.contains("Usage"));
}

/// What is in the environment for others is not for us.
#[test]
fn proxies_of_the_environment_are_not_used() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    nginx.write("servers", "a:1\n");
    let mut command = serverlist(&["get", &nginx.url("/servers")]);
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
    }
    assert!(run(&mut command).well);
}
