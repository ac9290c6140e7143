//! redial on the simulated network of [turmoil](https://docs.rs/turmoil): the tokio adapter, with
//! other connections.
//!
//! ```text
//! cargo run --release -p redial-tokio --example turmoil
//! ```
//!
//! Three servers, and a client that asks one question after the other. The server that answers is cut
//! off, then it is back and the one that answers instead crashes. Time is simulated, so it takes a
//! moment, and each run prints the same.
//!
//! All that turmoil needs is the [`Transport`] below: time and tasks are tokio's, which turmoil
//! controls. Names would be looked up by the real system, so the servers are listed by address.

use std::{
    cell::RefCell, collections::BTreeMap, future::Future, net::SocketAddr, rc::Rc, time::Duration,
};

use bytes::BytesMut;
use redial::{
    Config, ConnectError, NodeSpec,
    client::length_prefixed::{Frame, Kind, LengthPrefixed, Status},
    driver::{Handle, Runtime, Transport},
};
use redial_tokio::{Io, Tokio};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, sleep},
};
use turmoil::net::{TcpListener, TcpStream};

const SERVERS: [&str; 3] = ["a", "b", "c"];
const PORT: u16 = 9092;

/// Connections of turmoil.
#[derive(Clone, Copy)]
struct Simulated;

impl Transport for Simulated {
    type Stream = Io<TcpStream>;

    fn connect(
        &self,
        _: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<Io<TcpStream>, ConnectError>> + Send + 'static {
        dial(address)
    }
}

async fn dial(address: Option<SocketAddr>) -> Result<Io<TcpStream>, ConnectError> {
    let address = address.ok_or(ConnectError::Other)?;
    Ok(Io(TcpStream::connect(address).await?))
}

fn main() -> turmoil::Result {
    let mut builder = turmoil::Builder::new();
    builder.rng_seed(1);
    let mut sim = builder.simulation_duration(Duration::from_secs(20)).build();
    for server in SERVERS {
        sim.host(server, serve);
    }
    let book = Rc::new(RefCell::new(Book::default()));
    sim.client("client", ask(Rc::clone(&book)));

    let run_until = |sim: &mut turmoil::Sim<'_>, end: u64, what: String| -> turmoil::Result<_> {
        while sim.elapsed() < Duration::from_secs(end) {
            sim.step()?;
        }
        let Book {
            answers,
            slowest,
            last,
        } = std::mem::take(&mut *book.borrow_mut());
        println!(
            "until {end:2} s: {what:13}  slowest answer {slowest:7.1?}  answers by {answers:?}"
        );
        Ok(last.ok_or("nobody answered")?)
    };
    let first = run_until(&mut sim, 5, "all is well".into())?;
    sim.partition("client", first);
    let second = run_until(&mut sim, 10, format!("{first} is cut off"))?;
    sim.repair("client", first);
    sim.crash(second);
    let third = run_until(&mut sim, 15, format!("{second} has crashed"))?;
    assert!(first != second && second != third, "another node answers");
    Ok(())
}

/// What became of the questions.
#[derive(Default)]
struct Book {
    /// By server.
    answers: BTreeMap<&'static str, u32>,
    slowest: Duration,
    last: Option<&'static str>,
}

/// Asks, and asks again after a tenth of a second.
async fn ask(book: Rc<RefCell<Book>>) -> turmoil::Result {
    let runtime = Tokio::new(tokio::runtime::Handle::current()).with_transport(Simulated);
    let address = |server| SocketAddr::new(turmoil::lookup(server), PORT);
    let servers: Vec<_> = SERVERS
        .into_iter()
        .map(address)
        .map(NodeSpec::from)
        .collect();
    // An answer takes 200 ms at most, both ways together.
    let config = Config::builder().request_timeout(Duration::from_millis(300));
    let config = config.build()?;
    let client = Handle::builder(LengthPrefixed::new())
        .nodes(servers.clone())
        .config(config)
        .runtime(runtime)
        .seed(1)
        .build()?;
    loop {
        let start = Instant::now();
        let request = client.request("ping".into()).idempotent();
        let response = request.timeout(Duration::from_secs(5)).await?;
        let by = SERVERS.iter().zip(&servers);
        let is_it = |server: &NodeSpec| client.find(&server.endpoint) == Some(response.node);
        let answered = by
            .filter(|(_, server)| is_it(server))
            .map(|(name, _)| *name);
        for name in answered {
            let mut book = book.borrow_mut();
            *book.answers.entry(name).or_default() += 1;
            book.slowest = book.slowest.max(start.elapsed());
            book.last = Some(name);
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Greets and echoes.
async fn serve() -> turmoil::Result {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
            while let Ok(1..) = stream.read_buf(&mut input).await {
                while let Ok(Some(frame)) = Frame::decode(&mut input, 1 << 20) {
                    match frame.kind {
                        Kind::Hello => Frame::hello_answer(Status::Ok, 0).encode(&mut output),
                        _ => Frame::reply(frame.id, frame.body).encode(&mut output),
                    }
                }
                if stream.write_all_buf(&mut output).await.is_err() {
                    return;
                }
            }
        });
    }
}
