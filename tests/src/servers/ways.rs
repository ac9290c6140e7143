//! How a server can treat a connection: well, or in one of the ways in which nodes die.

use std::{io, sync::Arc, thread, time::Duration};

use super::{Gate, Peer, peer::reply};

/// Answers each request at once with its own payload.
pub fn echo(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    echo_requests(peer)
}

/// As [`echo`], after a pause before each reply.
pub fn slow(pause: Duration) -> impl Fn(&mut Peer) -> io::Result<()> {
    move |peer| {
        peer.greet()?;
        loop {
            let request = peer.request()?;
            thread::sleep(pause);
            peer.echo(&request)?;
        }
    }
}

/// As [`echo`], but each reply comes byte by byte.
pub fn dribble(pause: Duration) -> impl Fn(&mut Peer) -> io::Result<()> {
    move |peer| {
        peer.greet()?;
        loop {
            let request = peer.request()?;
            for byte in reply(&request) {
                peer.write(&[byte])?;
                thread::sleep(pause);
            }
        }
    }
}

/// As [`echo`], with at most so many requests in flight.
pub fn limited(limit: u32) -> impl Fn(&mut Peer) -> io::Result<()> {
    move |peer| {
        peer.greet_with_limit(limit)?;
        echo_requests(peer)
    }
}

/// As [`echo`], but it says something unasked before each reply.
pub fn push_before_each_reply(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    loop {
        let request = peer.request()?;
        peer.push(b"news")?;
        peer.echo(&request)?;
    }
}

/// As [`echo`], but before each reply it asks for no more requests for so long.
pub fn throttle(wait: Duration) -> impl Fn(&mut Peer) -> io::Result<()> {
    move |peer| {
        peer.greet()?;
        loop {
            let request = peer.request()?;
            peer.throttle(wait)?;
            peer.echo(&request)?;
        }
    }
}

/// Answers one request on each connection, says that it will close it, and leaves that to the client.
pub fn say_goodbye(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    let request = peer.request()?;
    peer.echo(&request)?;
    peer.say_goodbye()?;
    peer.read_to_end()
}

/// Says to each request that another node is to be asked.
pub fn send_elsewhere(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    loop {
        let request = peer.request()?;
        peer.send_elsewhere(&request)?;
    }
}

/// Reads all requests and answers none.
pub fn silent(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    loop {
        peer.request()?;
    }
}

/// Refuses the credentials of whoever greets it.
pub fn reject(peer: &mut Peer) -> io::Result<()> {
    peer.reject()
}

/// Says to whoever greets it that the session is over.
pub fn end_session(peer: &mut Peer) -> io::Result<()> {
    peer.end_session()
}

/// Accepts and says nothing.
pub fn mute(peer: &mut Peer) -> io::Result<()> {
    peer.read_to_end()
}

/// Accepts and closes.
pub fn close(_: &mut Peer) -> io::Result<()> {
    Ok(())
}

/// Answers the hello with what is not the protocol.
pub fn garbage_for_a_hello(peer: &mut Peer) -> io::Result<()> {
    peer.read_hello()?;
    peer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
    peer.read_to_end()
}

/// Answers the first request with what is not the protocol.
pub fn garbage_for_a_reply(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    peer.request()?;
    peer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
    peer.read_to_end()
}

/// Closes the connection at the first request.
pub fn close_at_a_request(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    peer.request().map(drop)
}

/// Closes the connection in good order in the middle of the first reply.
pub fn close_in_a_reply(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    let reply = reply(&peer.request()?);
    peer.write(&reply[..reply.len() / 2])
}

/// Resets the connection in the middle of the first reply.
pub fn reset_in_a_reply(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    let request = peer.request()?;
    let reply = reply(&request);
    peer.write(&reply[..reply.len() / 2])?;
    peer.end_with_reset()
}

/// Never reads again once it has said hello.
pub fn stop_reading(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    peer.wait_at(&Gate::default())
}

/// Never reads again once it has said hello, and says something now and then.
pub fn stop_reading_but_push(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    loop {
        peer.push(b"still here")?;
        thread::sleep(Duration::from_millis(20));
    }
}

/// Says something unasked without end, and answers nothing.
pub fn flood(peer: &mut Peer) -> io::Result<()> {
    peer.greet()?;
    loop {
        peer.push(&[b'x'; 1000])?;
    }
}

/// As [`echo`], but waits at the gate when the first bytes of requests have come, unread.
pub fn read_after(gate: Arc<Gate>) -> impl Fn(&mut Peer) -> io::Result<()> {
    move |peer| {
        peer.greet()?;
        peer.wait_for_bytes()?;
        peer.wait_at(&gate)?;
        echo_requests(peer)
    }
}

/// As [`echo`], but waits at the gate when it has read the first request.
pub fn reply_after(gate: Arc<Gate>) -> impl Fn(&mut Peer) -> io::Result<()> {
    move |peer| {
        peer.greet()?;
        let request = peer.request()?;
        peer.wait_at(&gate)?;
        peer.echo(&request)?;
        echo_requests(peer)
    }
}

/// As [`echo`], but waits at the gate when it has written half of the first reply.
pub fn half_a_reply_before(gate: Arc<Gate>) -> impl Fn(&mut Peer) -> io::Result<()> {
    move |peer| {
        peer.greet()?;
        let reply = reply(&peer.request()?);
        let (first, second) = reply.split_at(reply.len() / 2);
        peer.write(first)?;
        peer.wait_at(&gate)?;
        peer.write(second)?;
        echo_requests(peer)
    }
}

fn echo_requests(peer: &mut Peer) -> io::Result<()> {
    loop {
        let request = peer.request()?;
        peer.echo(&request)?;
    }
}
