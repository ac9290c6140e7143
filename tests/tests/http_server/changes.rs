//! 7.2: what is behind the URL arrives.

use std::time::Duration;

use redial::RefreshResult;
use redial_tests::{nginx::Nginx, waiting::until};

use crate::support::{Rig, source};

#[tokio::test]
async fn each_change_arrives() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    nginx.write("servers", "a:1\n");
    let rig = Rig::new(source(&nginx.url("/servers")));
    rig.until(&["a:1"]).await;
    for text in ["a:1\nb:22\n", "b:22\nc:333\nd:4\n", "d:4"] {
        nginx.write("servers", text);
        rig.until(&text.lines().collect::<Vec<_>>()).await;
    }
}

/// nginx's tags are real ones.
#[tokio::test]
async fn while_nothing_changes_nginx_says_only_that() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    nginx.write("servers", "a:1\n");
    // The tag of a text that is as new as the answer is not used.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let mut rig = Rig::new(source(&nginx.url("/servers")));
    assert_eq!(rig.refreshed().await, RefreshResult::Changed);
    for _ in 0..3 {
        assert_eq!(rig.refreshed().await, RefreshResult::Unchanged);
    }
    until(|| nginx.requests().len() >= 4).await;
    let statuses: Vec<_> = nginx.requests().iter().map(|r| r.status).collect();
    assert_eq!(statuses[..4], [200, 304, 304, 304]);
    nginx.write("servers", "b:22\n");
    rig.until(&["b:22"]).await;
    assert_eq!(nginx.requests()[0].if_none_match, "-");
}

/// 7.5: an older version is ignored, and the same one is no failure, also when it is told with 304.
#[tokio::test]
async fn versions_of_a_dynamic_configuration_count() {
    let Some(nginx) = Nginx::start("") else {
        return;
    };
    let server = "server.1=a:2888:3888;2181\n";
    nginx.write("servers", format!("{server}version=a\n"));
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let mut rig = Rig::new(source(&nginx.url("/servers")));
    assert_eq!(rig.refreshed().await, RefreshResult::Changed);
    assert_eq!(rig.refreshed().await, RefreshResult::Older);
    nginx.write("servers", format!("{server}server.2=b:1:2;3\nversion=9\n"));
    until(|| nginx.requests().iter().filter(|r| r.status == 200).count() == 2).await;
    assert_eq!(rig.servers(), ["a:2181"]);
    assert!(rig.client.find_key("1").is_some());
    nginx.write("servers", format!("{server}server.2=b:1:2;33\nversion=b\n"));
    rig.until(&["a:2181", "b:33"]).await;
}

#[tokio::test]
async fn credentials_open_a_protected_list() {
    let locations = "location /private { auth_basic x; auth_basic_user_file users; }";
    let Some(nginx) = Nginx::start(locations) else {
        return;
    };
    nginx.write("private", "a:1\n");
    let rig = Rig::new(source(&nginx.url_as("operator:hunter2", "/private")));
    rig.until(&["a:1"]).await;
}
