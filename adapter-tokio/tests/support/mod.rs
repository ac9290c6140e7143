//! A server of the length-prefixed protocol, in the test's own runtime.

use std::net::SocketAddr;

use bytes::BytesMut;
use redial::client::length_prefixed::{Frame, Kind, LengthPrefixed, Status};
use redial_tokio::Client;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};

/// A server, until it is dropped with its runtime.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
}

/// Greets each connection; what else it sends is up to `answer`.
pub(crate) async fn server(answer: fn(Frame) -> Vec<Frame>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback works");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, answer));
        }
    });
    Server { address }
}

/// The reply that echoes a request; nothing for other frames.
pub(crate) fn echo(frame: Frame) -> Vec<Frame> {
    match frame.kind {
        Kind::Request => vec![Frame::reply(frame.id, frame.body)],
        _ => Vec::new(),
    }
}

/// A client of this server, with the default configuration.
pub(crate) fn client(server: &Server) -> Client<LengthPrefixed> {
    let servers = server.address.to_string();
    Client::builder(LengthPrefixed::new())
        .servers(servers)
        .build()
        .expect("it is well-formed")
}

/// Serves one connection.
pub(crate) async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: fn(Frame) -> Vec<Frame>,
) {
    let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
    while let Ok(1..) = stream.read_buf(&mut input).await {
        while let Some(frame) = Frame::decode(&mut input, 1 << 20).expect("the client is correct") {
            match frame.kind {
                Kind::Hello => Frame::hello_answer(Status::Ok, 0).encode(&mut output),
                _ => answer(frame)
                    .iter()
                    .for_each(|frame| frame.encode(&mut output)),
            }
        }
        if stream.write_all_buf(&mut output).await.is_err() {
            return;
        }
    }
}
