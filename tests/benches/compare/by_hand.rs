//! What one writes who wants speed and has many callers: a channel, a table of oneshots, one task
//! that coalesces writes. No timeouts, no reconnect, no cancellation, one server.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use redial::client::length_prefixed::{Frame, Kind};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{mpsc, oneshot},
    task::yield_now,
};

use crate::{BODY, Caller, server::MAX_FRAME};

/// So much goes out at once without waiting for more: then the server works while we do. Measured;
/// 256 and 1024 are slower.
const BATCH: usize = 512;
const BUFFER: usize = 64 * 1024;

type Call = (Bytes, oneshot::Sender<Bytes>);

#[derive(Clone)]
pub(crate) struct ByHand(mpsc::UnboundedSender<Call>);

impl ByHand {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("nodelay");
        let (sender, calls) = mpsc::unbounded_channel();
        tokio::spawn(serve(stream, calls));
        Self(sender)
    }
}

impl Caller for ByHand {
    async fn call(&self) {
        let (sender, reply) = oneshot::channel();
        let sent = self.0.send((Bytes::from_static(BODY), sender));
        sent.expect("the task is there");
        assert_eq!(reply.await.as_deref(), Ok(BODY));
    }
}

async fn serve(mut stream: TcpStream, mut calls: mpsc::UnboundedReceiver<Call>) {
    let (mut waiting, mut batch) = (Waiting::default(), Vec::with_capacity(BATCH));
    let (mut input, mut output) = (BytesMut::with_capacity(BUFFER), BytesMut::new());
    loop {
        tokio::select! {
            biased;
            length = stream.read_buf(&mut input) => {
                if length.expect("read") == 0 {
                    return;
                }
                while let Some(frame) = Frame::decode(&mut input, MAX_FRAME).expect("a frame") {
                    if frame.kind == Kind::Reply
                        && let Some(reply) = waiting.remove(frame.id)
                    {
                        let _ = reply.send(frame.body);
                    }
                }
                input.reserve(BUFFER);
            }
            count = calls.recv_many(&mut batch, BATCH) => {
                if count == 0 {
                    return;
                }
                if count < BATCH && (waiting.open > 0 || count > 1) {
                    // Others may be about to call.
                    yield_now().await;
                    while batch.len() < BATCH && let Ok(call) = calls.try_recv() {
                        batch.push(call);
                    }
                }
                for (body, reply) in batch.drain(..) {
                    Frame::request(waiting.insert(reply), body).encode(&mut output);
                }
                stream.write_all_buf(&mut output).await.expect("written");
            }
        }
    }
}

/// Who waits for the reply with which id. Ids are used again.
#[derive(Default)]
struct Waiting {
    replies: Vec<Option<oneshot::Sender<Bytes>>>,
    free: Vec<u32>,
    open: usize,
}

impl Waiting {
    fn insert(&mut self, reply: oneshot::Sender<Bytes>) -> u32 {
        self.open += 1;
        let id = self.free.pop().unwrap_or_else(|| {
            self.replies.push(None);
            self.replies.len() as u32 - 1
        });
        self.replies[id as usize] = Some(reply);
        id
    }

    fn remove(&mut self, id: u32) -> Option<oneshot::Sender<Bytes>> {
        let reply = self.replies.get_mut(id as usize)?.take()?;
        self.free.push(id);
        self.open -= 1;
        Some(reply)
    }
}
