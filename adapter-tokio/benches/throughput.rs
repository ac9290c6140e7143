//! Requests a second over one loopback connection: redial against a client written by hand for many
//! callers (a channel, a map of oneshots, coalesced writes), same runtime, same frames.
//!
//! ```text
//! taskset -c 0 cargo bench -p redial-tokio --bench throughput
//! ```
//!
//! The server is another process, on the second processor where `taskset` is to be had. Each figure
//! is the median of interleaved runs; compare ratios only.

use std::{
    collections::HashMap,
    env,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use bytes::{Bytes, BytesMut};
use redial::client::length_prefixed::{Frame, Kind, LengthPrefixed, Status};
use redial_tokio::Client;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{mpsc, oneshot},
};

/// With its header a frame of 16 bytes.
const BODY: &[u8] = b"1234567";
const RUNS: usize = 7;
const MAX_FRAME: usize = 1 << 20;

fn main() {
    if env::args().any(|arg| arg == "--server") {
        return serve();
    }
    let (mut server, address) = start_server();
    println!("in flight   by hand/s   redial/s   ratio");
    for (callers, requests) in [(1, 20_000), (64, 400_000), (1024, 1_000_000)] {
        let mut pairs: Vec<(f64, f64)> = Vec::new();
        for _ in 0..RUNS {
            let by_hand = run(callers, requests, |_| ByHand::connect(address));
            let redial = run(callers, requests, |_| Redial::connect(address));
            pairs.push((by_hand, redial));
        }
        let median = |of: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = pairs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[RUNS / 2]
        };
        let (by_hand, redial) = (median(|pair| pair.0), median(|pair| pair.1));
        let ratio = median(|pair| pair.1 / pair.0);
        println!("{callers:9}   {by_hand:9.0}   {redial:8.0}   {ratio:5.2}");
    }
    let _ = server.kill();
    let _ = server.wait();
}

/// Requests a second, by so many callers that each wait for their reply.
fn run<C: Caller, F: Future<Output = C>>(
    callers: usize,
    requests: usize,
    connect: impl Fn(()) -> F,
) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let client = connect(()).await;
        client.call().await;
        let start = Instant::now();
        let tasks: Vec<_> = (0..callers)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move {
                    for _ in 0..requests / callers {
                        client.call().await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        requests as f64 / start.elapsed().as_secs_f64()
    })
}

trait Caller: Clone + Send + 'static {
    fn call(&self) -> impl Future<Output = ()> + Send;
}

#[derive(Clone)]
struct Redial(Client<LengthPrefixed>);

impl Redial {
    async fn connect(address: SocketAddr) -> Self {
        let builder = Client::builder(LengthPrefixed::new()).servers(address.to_string());
        Self(builder.build().unwrap())
    }
}

impl Caller for Redial {
    async fn call(&self) {
        let response = self.0.request(Bytes::from_static(BODY)).await.unwrap();
        assert_eq!(response.reply.as_deref(), Some(BODY));
    }
}

/// No timeouts, no reconnect, no cancellation: what one writes in an afternoon.
#[derive(Clone)]
struct ByHand(mpsc::Sender<(Bytes, oneshot::Sender<Bytes>)>);

type Waiting = Arc<Mutex<HashMap<u32, oneshot::Sender<Bytes>>>>;

impl ByHand {
    async fn connect(address: SocketAddr) -> Self {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut reader, mut writer) = stream.into_split();
        let (sender, mut calls) = mpsc::channel(1024);
        let waiting = Waiting::default();
        let replies = Arc::clone(&waiting);
        tokio::spawn(async move {
            let (mut batch, mut output) = (Vec::new(), BytesMut::new());
            let mut id = 0;
            Frame::hello(b"").encode(&mut output);
            writer.write_all_buf(&mut output).await.unwrap();
            while calls.recv_many(&mut batch, 1024).await > 0 {
                {
                    let mut waiting = waiting.lock().unwrap();
                    for (body, reply) in batch.drain(..) {
                        Frame::request(id, body).encode(&mut output);
                        waiting.insert(id, reply);
                        id += 1;
                    }
                }
                writer.write_all_buf(&mut output).await.unwrap();
            }
        });
        tokio::spawn(async move {
            let mut input = BytesMut::with_capacity(64 * 1024);
            while reader.read_buf(&mut input).await.unwrap() > 0 {
                {
                    let mut waiting = replies.lock().unwrap();
                    while let Some(frame) = Frame::decode(&mut input, MAX_FRAME).unwrap() {
                        if frame.kind == Kind::Reply
                            && let Some(reply) = waiting.remove(&frame.id)
                        {
                            let _ = reply.send(frame.body);
                        }
                    }
                }
                input.reserve(64 * 1024);
            }
        });
        Self(sender)
    }
}

impl Caller for ByHand {
    async fn call(&self) {
        let (sender, reply) = oneshot::channel();
        self.0
            .send((Bytes::from_static(BODY), sender))
            .await
            .unwrap();
        assert_eq!(reply.await.as_deref(), Ok(BODY));
    }
}

/// Another process, so that it can be on another processor.
fn start_server() -> (Child, SocketAddr) {
    let program = env::current_exe().unwrap();
    let spawn = |command: &mut Command| command.stdout(Stdio::piped()).spawn();
    let pinned = spawn(
        Command::new("taskset")
            .args(["-c", "1"])
            .arg(&program)
            .arg("--server"),
    );
    let mut child = pinned
        .or_else(|_| spawn(Command::new(&program).arg("--server")))
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    (child, line.trim().parse().unwrap())
}

fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    for stream in listener.incoming() {
        thread::spawn(|| echo(stream.unwrap()));
    }
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let (mut chunk, mut input, mut output) = (vec![0; 64 * 1024], BytesMut::new(), BytesMut::new());
    while let Ok(length @ 1..) = stream.read(&mut chunk) {
        input.extend_from_slice(&chunk[..length]);
        while let Some(frame) = Frame::decode(&mut input, MAX_FRAME).unwrap() {
            match frame.kind {
                Kind::Hello => Frame::hello_answer(Status::Ok, 0).encode(&mut output),
                _ => Frame::reply(frame.id, frame.body).encode(&mut output),
            }
        }
        if stream.write_all(&output).is_err() {
            return;
        }
        output.clear();
    }
}
