//! The ceiling: one loop that keeps so many requests in flight, without callers.

use std::{net::SocketAddr, time::Instant};

use bytes::{Bytes, BytesMut};
use redial::client::length_prefixed::{Frame, Kind};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{BODY, server::MAX_FRAME};

/// Requests a second.
pub(crate) async fn run(address: SocketAddr, window: usize, requests: usize) -> f64 {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("nodelay");
    let (mut input, mut output) = (BytesMut::with_capacity(64 * 1024), BytesMut::new());
    let (mut sent, mut answered) = (0, 0);
    let start = Instant::now();
    while answered < requests {
        while sent < requests && sent < answered + window {
            Frame::request(sent as u32, Bytes::from_static(BODY)).encode(&mut output);
            sent += 1;
        }
        stream.write_all_buf(&mut output).await.expect("written");
        input.reserve(64 * 1024);
        let length = stream.read_buf(&mut input).await.expect("read");
        assert!(length > 0, "the server is there");
        while let Some(frame) = Frame::decode(&mut input, MAX_FRAME).expect("a frame") {
            assert_eq!((frame.kind, frame.id as usize), (Kind::Reply, answered));
            answered += 1;
        }
    }
    requests as f64 / start.elapsed().as_secs_f64()
}
