//! A client driven by hand: std sockets and a loop, no runtime.
//!
//! Two echo servers run in threads. Half-way the one that answers is killed, and the client fails
//! over to the other: `cargo run -p redial --features client,std --example own_loop`
#![expect(clippy::disallowed_methods)] // Outside the core one spawns and waits.

mod server;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::{thread, time::Duration};

use redial::client::length_prefixed::LengthPrefixed;
use redial::client::{Client, ClientAction, ClientOutput, TransportInput};
use redial::{Clock, CloseError, Config, ConnectError, ConnectionId, RequestOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let servers = [server::Server::start()?, server::Server::start()?];
    let clock = Clock::starting_now();
    let client = Client::new(LengthPrefixed::new(), Config::default(), 42, clock.now())?;
    let mut own = OwnLoop {
        clock,
        client,
        sockets: BTreeMap::new(),
    };
    own.client
        .set_nodes(clock.now(), &servers.each_ref().map(|s| s.address.into()))?;

    for number in 0..10 {
        let request = format!("request {number}").into();
        let options = RequestOptions::new().idempotent();
        let id = own.client.submit(clock.now(), request, options)?;
        let response = 'answered: loop {
            for output in own.turn() {
                match output {
                    ClientOutput::Completion { request, result } if request == id => {
                        break 'answered result?;
                    }
                    other => println!("{:>12} {other:?}", clock.now()),
                }
            }
        };
        let node = response.node;
        println!("{:>12} {node} answers {:?}", clock.now(), response.reply);
        if number == 5 {
            println!("{:>12} {node} is killed", clock.now());
            servers[node.index()].kill();
        }
    }
    Ok(())
}

struct OwnLoop {
    clock: Clock,
    client: Client<LengthPrefixed>,
    sockets: BTreeMap<ConnectionId, TcpStream>,
}

impl OwnLoop {
    /// One turn of the loop: facts in, outputs out, sleep. Returns what is not an action.
    fn turn(&mut self) -> Vec<ClientOutput<LengthPrefixed>> {
        self.sockets.retain(|&connection, socket| {
            let Err(error) = exchange(&mut self.client, self.clock, connection, socket) else {
                return true;
            };
            let closed = TransportInput::Closed { connection, error };
            self.client.handle_input(self.clock.now(), closed);
            false
        });
        let mut results = Vec::new();
        let deadline = self
            .client
            .drive(self.clock.now(), |client, output| match output {
                ClientOutput::Action(ClientAction::Connect {
                    connection,
                    address,
                    ..
                }) => {
                    let input = match address
                        .ok_or(ErrorKind::Unsupported.into())
                        .and_then(connect)
                    {
                        Ok(socket) => {
                            self.sockets.insert(connection, socket);
                            TransportInput::Connected { connection }
                        }
                        Err(_) => TransportInput::ConnectFailed {
                            connection,
                            error: ConnectError::Other,
                        },
                    };
                    client.handle_input(self.clock.now(), input);
                }
                ClientOutput::Action(
                    ClientAction::Close { connection } | ClientAction::Abort { connection },
                ) => drop(self.sockets.remove(&connection)),
                // Every turn asks all connections for bytes; there are no names to resolve.
                ClientOutput::Action(_) => {}
                result => results.push(result),
            });
        // A poller would wait for a socket or the deadline; this loop looks every millisecond.
        let wait = deadline.map_or(Duration::MAX, |deadline| deadline.at - self.clock.now());
        thread::sleep(wait.min(Duration::from_millis(1)));
        results
    }
}

/// Connects. The only way that std has blocks the loop; a poller or a thread would not.
fn connect(address: std::net::SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&address, Duration::from_millis(250))?;
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Writes what the socket takes, and reads what it has.
fn exchange(
    client: &mut Client<LengthPrefixed>,
    clock: Clock,
    connection: ConnectionId,
    socket: &mut TcpStream,
) -> Result<(), CloseError> {
    loop {
        let bytes = client.transmit(clock.now(), connection);
        if bytes.is_empty() {
            break;
        }
        match socket.write(bytes) {
            Ok(count) => client.transmitted(clock.now(), connection, count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                client.handle_input(clock.now(), TransportInput::WriteBlocked { connection });
                break;
            }
            Err(_) => return Err(CloseError::Io),
        }
    }
    let mut buffer = [0; 16 * 1024];
    match socket.read(&mut buffer) {
        Ok(0) => return Err(CloseError::Peer),
        Ok(count) => client.read(clock.now(), connection, &buffer[..count]),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        Err(_) => return Err(CloseError::Io),
    }
    Ok(())
}
