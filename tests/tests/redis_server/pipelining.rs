//! Many callers on one connection, and what they are answered.

use redial_tests::{
    redis::{
        RedisServer, command,
        resp::{Redis, Value},
        string,
    },
    waiting::soon,
};

use crate::support::{ask, client, client_with};

#[tokio::test]
async fn a_thousand_callers_share_one_connection_and_each_gets_its_own_replies() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    let callers: Vec<_> = (0..1000)
        .map(|caller| {
            let client = client.clone();
            tokio::spawn(async move {
                for round in 0..20 {
                    let text = format!("{caller}-{round}");
                    let reply = ask(&client, &format!("ECHO {text}")).await;
                    assert_eq!(reply, Value::String(text.into()));
                }
            })
        })
        .collect();
    for caller in callers {
        soon(caller).await.expect("its own replies");
    }
    let stats = client.stats();
    assert_eq!((stats.attempts, stats.succeeded), (1, 20_000));
}

#[tokio::test]
async fn long_replies_come_whole_between_short_ones() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    ask(&client, "SETRANGE long 20000000 x").await;
    let list = command("EVAL")
        .arg("local t = {} for i = 1, 500000 do t[i] = i end return t")
        .arg("0");
    let (long, short, list) = tokio::join!(
        ask(&client, "GET long"),
        ask(&client, "ECHO short"),
        soon(client.request(list)),
    );
    assert_eq!(long.bytes().map(<[u8]>::len), Some(20_000_001));
    assert_eq!(short, string("short"));
    assert_eq!(
        list.expect("an answer").reply,
        Some(Value::Array((1..=500_000).map(Value::Integer).collect()))
    );
    assert_eq!(client.stats().attempts, 1);
}

#[tokio::test]
async fn each_version_of_resp_answers_with_its_own_kinds_of_values() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let resp3 = client(&[&server]);
    let resp2 = client_with(Redis::new().resp2(), redial::Config::default(), &[&server]);
    assert_eq!(ask(&resp3, "HSET h f 1").await, Value::Integer(1));
    assert_eq!(
        ask(&resp3, "HGETALL h").await,
        Value::Map(vec![(string("f"), string("1"))])
    );
    assert_eq!(
        ask(&resp2, "HGETALL h").await,
        Value::Array(vec![string("f"), string("1")])
    );
    assert_eq!(ask(&resp3, "GET none").await, Value::Null);
    assert_eq!(ask(&resp2, "GET none").await, Value::Null);
    ask(&resp3, "ZADD z 1.5 m").await;
    assert_eq!(ask(&resp3, "ZSCORE z m").await, Value::Double(1.5));
    assert_eq!(ask(&resp2, "ZSCORE z m").await, string("1.5"));
    let error = ask(&resp3, "LPUSH h x").await;
    assert_eq!(error.error_code(), Some(&b"WRONGTYPE"[..]));
}
