//! Where a redirect leads, and where it does not.

use redial::driver::{RedirectError, SourceError};
use redial_tests::nginx::Nginx;

use crate::support::{Rig, source};

#[tokio::test]
async fn another_host_is_asked_without_the_credentials() {
    let Some(second) = Nginx::start("") else {
        return;
    };
    second.write("servers", "a:1\n");
    let there = second.url("/servers");
    let Some(first) = Nginx::start(&format!("location /servers {{ return 307 {there}; }}")) else {
        return;
    };
    let rig = Rig::new(source(&first.url_as("operator:hunter2", "/servers")));
    rig.until(&["a:1"]).await;
    assert!(first.requests()[0].authorization.starts_with("Basic "));
    assert!(second.requests().iter().all(|r| r.authorization == "-"));
}

#[tokio::test]
async fn from_https_nobody_goes_to_http() {
    let locations = "location /servers { return 301 http://$host:$arg_port/list; }";
    let Some(nginx) = Nginx::start(locations) else {
        return;
    };
    nginx.write("list", "a:1\n");
    let port = nginx.address().port();
    let url = nginx.https_url(&format!("/servers?port={port}"));
    let builder = redial_tokio::HttpSource::builder(&url);
    let builder = builder.root_certificate(nginx.certificates().authority());
    let mut rig = Rig::new(builder.build().expect("it makes sense"));
    rig.failure(|error| {
        let SourceError::Redirect { error, .. } = error else {
            return false;
        };
        *error == RedirectError::Insecure
    })
    .await;
    assert!(rig.servers().is_empty());
    assert!(
        nginx
            .requests()
            .iter()
            .all(|r| r.target.starts_with("/servers"))
    );
    // The other way is fine.
    let rig = Rig::new(source(&format!("{}?port={port}", nginx.url("/servers"))));
    rig.until(&["a:1"]).await;
}
