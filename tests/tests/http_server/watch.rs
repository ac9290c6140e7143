//! `serverlist watch`: each change is printed as a client takes it.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use redial_tests::nginx::Nginx;

use crate::tool::serverlist;

/// A tool that watches, killed when dropped.
struct Watch {
    process: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(url: &str) -> Self {
        let mut process = serverlist(&["watch", url, "--interval", "0.1"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let out = process.stdout.take().expect("it is piped");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { process, lines }
    }

    /// The next line, without its time.
    fn line(&self) -> String {
        let line = self.lines.recv_timeout(Duration::from_secs(20));
        let line = line.expect("a line");
        line.split_once(" s  ").expect("a time").1.to_owned()
    }

    /// The next lines up to this one.
    fn expect(&self, expected: &[&str]) {
        for expected in expected {
            assert_eq!(self.line(), *expected);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn watch_prints_what_is_added_removed_and_kept_and_the_version() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    nginx.write("servers", "a:1\nb:1\n");
    let watch = Watch::start(&nginx.url("/servers"));
    watch.expect(&["added 2, removed 0, kept 0, version none", "+ a:1", "+ b:1"]);
    nginx.write(
        "servers",
        "server.1=b:1:2;1\nserver.2=c:1:2;1\nversion=1f\n",
    );
    watch.expect(&["added 1, removed 1, kept 1, version 1f", "+ c:1", "- a:1"]);
    nginx.write("servers", "server.1=d:1:2;1\nversion=1e\n");
    watch.expect(&["ignored: its version 1e is not newer"]);
}

#[test]
fn watch_prints_why_there_is_no_list_and_goes_on() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    let watch = Watch::start(&nginx.url("/servers?key=hunter2"));
    let url = nginx.url("/servers");
    watch.expect(&[&format!(
        "failed: {url}: the server answered with status 404"
    )]);
    nginx.write("servers", "a:1\n");
    while watch.line() != "+ a:1" {}
}
