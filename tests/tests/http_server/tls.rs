//! HTTPS with an authority of one's own.

use redial::driver::SourceError;
use redial_tests::nginx::Nginx;
use redial_tokio::HttpSource;

use crate::support::{Rig, source};

#[tokio::test]
async fn a_list_behind_a_private_authority_is_read_once_that_is_trusted() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    nginx.write("servers", "a:1\n");
    for url in [
        nginx.https_url("/servers"),
        nginx
            .https_url("/servers")
            .replace("127.0.0.1", "localhost"),
    ] {
        let builder = HttpSource::builder(&url).bearer("t0ken");
        let trusting = builder.root_certificate(nginx.certificates().authority());
        let rig = Rig::new(trusting.build().expect("it makes sense"));
        rig.until(&["a:1"]).await;
    }
    let requests = nginx.requests();
    assert!(requests.iter().all(|r| r.authorization == "Bearer t0ken"));
}

#[tokio::test]
async fn an_authority_that_is_not_trusted_changes_nothing_and_hears_nothing() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    nginx.write("servers", "a:1\n");
    let mut rig = Rig::new(source(&nginx.https_url("/servers")));
    let error = rig.failure(|_| true).await;
    assert!(matches!(error, SourceError::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
    assert!(rig.servers().is_empty());
    assert!(nginx.requests().is_empty());
}
