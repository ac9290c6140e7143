//! Protocols of other kinds than the ready-made one.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use bytes::{BufMut, BytesMut};
use redial::{
    Config, ConfigError, ConnectionId, Instant, Limits, Matching, OnRequestTimeout, ReplyTo,
    RequestId, RequestOptions, Source, Verdict, Warm,
    client::{
        Client, ClientAction, ClientOutput, Decoded, Item, Malformed, Outgoing, Peer, Protocol,
        Rejected, TransportInput, framing::take_line,
    },
};

const NOW: Instant = Instant::from_millis(1);

/// Requests in flight.
const LIMIT: u32 = 4;

/// Lines, replies in order, a handshake of two steps with a session, pings, several items a frame.
#[derive(PartialEq, Debug, Default)]
struct Lines {
    session: Option<String>,
}

#[derive(Default)]
struct Line {
    /// Items of the last line that were not taken yet.
    waiting: Vec<String>,
}

impl Protocol for Lines {
    type Request = &'static str;
    type Reply = String;
    type Push = String;
    type Connection = Line;

    fn matching(&self) -> Matching {
        Matching::Order
    }

    fn has_one_session(&self) -> bool {
        true
    }

    fn has_discovery(&self) -> bool {
        true
    }

    fn discover(&mut self, _: &mut Line, out: &mut BytesMut) {
        out.put_slice(b"SERVERS?\n");
    }

    fn max_buffered(&self) -> usize {
        50
    }

    fn expects_reply(&self, request: &&'static str) -> bool {
        !request.starts_with("QUIET")
    }

    fn open(&mut self, peer: Peer<'_>) -> Line {
        assert_eq!(
            Some(peer.spec.endpoint.clone()),
            peer.address.map(Into::into)
        );
        Line::default()
    }

    fn start_handshake(&mut self, _: &mut Line, out: &mut BytesMut) {
        out.put_slice(format!("HELLO {}\n", self.session.as_deref().unwrap_or("-")).as_bytes());
    }

    fn encode(
        &mut self,
        _: &mut Line,
        outgoing: Outgoing<'_, &'static str>,
        out: &mut BytesMut,
    ) -> Result<(), Rejected> {
        out.put_slice(outgoing.request.as_bytes());
        match *outgoing.request {
            "" => {} // An encoder that writes nothing.
            "REFUSED" => return Err(Rejected),
            _ => out.put_u8(b'\n'),
        }
        Ok(())
    }

    fn decode(
        &mut self,
        line: &mut Line,
        input: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Decoded<Self> {
        loop {
            if let Some(push) = line.waiting.pop() {
                return Ok(Some(Item::Push(push)));
            }
            let Some(bytes) = take_line(input, usize::MAX)? else {
                return Ok(None);
            };
            let text = String::from_utf8(bytes.to_vec()).map_err(|_| Malformed("not UTF-8"))?;
            match text.split_once(' ').unwrap_or((&text, "")) {
                ("PING", _) => out.put_slice(b"PONG\n"),
                ("PROVE", question) => out.put_slice(format!("PROOF {question}\n").as_bytes()),
                ("WELCOME", session) => {
                    self.session = Some(session.to_owned());
                    return Ok(Some(Item::HandshakeDone(Limits::NONE)));
                }
                ("SERVERS", "") => return Ok(Some(Item::NoServers)),
                ("SERVERS", servers) => {
                    let servers = servers.split(' ').map(str::parse).collect::<Result<_, _>>();
                    return Ok(Some(Item::Servers {
                        version: None,
                        servers: servers.map_err(|_| Malformed("no server"))?,
                    }));
                }
                ("NEWS", news) => line.waiting = news.rsplit(' ').map(str::to_owned).collect(),
                ("MOVED", _) => {
                    let (to, verdict) = (ReplyTo::Oldest, Verdict::RETRY_ELSEWHERE);
                    return Ok(Some(Item::Reply {
                        to,
                        verdict,
                        throttle: None,
                        reply: text,
                    }));
                }
                ("BUSY", _) => {
                    return Ok(Some(Item::Reply {
                        to: ReplyTo::Oldest,
                        verdict: Verdict::DONE,
                        throttle: Some(Duration::from_millis(300)),
                        reply: text,
                    }));
                }
                _ => return Ok(Some(Item::reply(ReplyTo::Oldest, text))),
            }
        }
    }
}

/// A client with one node, and the connection that it wants.
fn dialling() -> (Client<Lines>, ConnectionId) {
    dialling_with(Vec::new())
}

fn dialling_with(sources: Vec<Source>) -> (Client<Lines>, ConnectionId) {
    let config = Config::builder()
        .sources(sources)
        .warm(Warm::All)
        .max_in_flight(LIMIT)
        .build()
        .expect("it is valid");
    let mut client = Client::new(Lines::default(), config, 1, NOW).expect("it suits");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7000));
    client.set_nodes(NOW, &[address.into()]).expect("not empty");
    let connection = connect(&mut client);
    (client, connection)
}

fn connect(client: &mut Client<Lines>) -> ConnectionId {
    let connect = outputs(client).into_iter().find_map(|output| match output {
        ClientOutput::Action(ClientAction::Connect { connection, .. }) => Some(connection),
        _ => None,
    });
    let connection = connect.expect("a connection is wanted");
    client.handle_input(NOW, TransportInput::Connected { connection });
    connection
}

fn ready() -> (Client<Lines>, ConnectionId) {
    ready_from(dialling())
}

/// The same when the server list is that of the cluster itself.
fn discovering() -> (Client<Lines>, ConnectionId) {
    let (mut client, connection) = ready_from(dialling_with(vec![Source::discovery()]));
    assert_eq!(sent(&mut client, connection), "SERVERS?\n");
    (client, connection)
}

fn ready_from(
    (mut client, connection): (Client<Lines>, ConnectionId),
) -> (Client<Lines>, ConnectionId) {
    sent(&mut client, connection);
    client.read(NOW, connection, b"WELCOME s1\n");
    outputs(&mut client);
    (client, connection)
}

fn outputs(client: &mut Client<Lines>) -> Vec<ClientOutput<Lines>> {
    std::iter::from_fn(|| client.poll_output()).collect()
}

fn sent(client: &mut Client<Lines>, connection: ConnectionId) -> String {
    let text = String::from_utf8(client.transmit(NOW, connection).to_vec()).expect("text");
    client.transmitted(NOW, connection, text.len());
    text
}

fn submit(client: &mut Client<Lines>, request: &'static str) -> RequestId {
    client
        .submit(NOW, request, RequestOptions::new())
        .expect("it is accepted")
}

fn replies(client: &mut Client<Lines>) -> Vec<(RequestId, Option<String>)> {
    let completions = outputs(client)
        .into_iter()
        .filter_map(|output| match output {
            ClientOutput::Completion { request, result } => Some((request, result.ok()?.reply)),
            _ => None,
        });
    completions.collect()
}

fn pushes(client: &mut Client<Lines>) -> Vec<String> {
    let pushes = outputs(client)
        .into_iter()
        .filter_map(|output| match output {
            ClientOutput::Push { push, .. } => Some(push),
            _ => None,
        });
    pushes.collect()
}

#[test]
fn a_handshake_may_take_several_round_trips() {
    let (mut client, connection) = dialling();
    let transmit = ClientOutput::Action(ClientAction::Transmit { connection });
    assert!(outputs(&mut client).contains(&transmit));
    assert_eq!(sent(&mut client, connection), "HELLO -\n");
    client.read(NOW, connection, b"PROVE 42\n");
    assert_eq!(outputs(&mut client), [transmit]);
    assert_eq!(sent(&mut client, connection), "PROOF 42\n");
    client.read(NOW, connection, b"WELCOME s1\n");
    assert_eq!(client.cluster().stats().nodes_ready, 1);
}

#[test]
fn what_the_protocol_itself_holds_lives_across_connections() {
    let (mut client, first) = ready();
    client.handle_input(
        NOW,
        TransportInput::Closed {
            connection: first,
            error: redial::CloseError::Peer,
        },
    );
    let later = NOW + Duration::from_secs(1);
    client.handle_timeout(later);
    let second = connect(&mut client);
    assert_eq!(sent(&mut client, second), "HELLO s1\n");
}

#[test]
fn the_protocol_may_answer_by_itself() {
    let (mut client, connection) = ready();
    client.read(NOW, connection, b"PING\nPI");
    client.read(NOW, connection, b"NG\n");
    let transmit = ClientOutput::Action(ClientAction::Transmit { connection });
    assert_eq!(outputs(&mut client), [transmit], "once until it is heard");
    assert_eq!(sent(&mut client, connection), "PONG\nPONG\n");
}

#[test]
fn one_frame_may_be_several_items() {
    let (mut client, connection) = ready();
    client.read(NOW, connection, b"NEWS a b c\n");
    assert_eq!(pushes(&mut client), ["a", "b", "c"]);
}

#[test]
fn replies_in_order_go_to_the_oldest_request_that_expects_one() {
    let (mut client, connection) = ready();
    let one = submit(&mut client, "ONE");
    let quiet = submit(&mut client, "QUIET");
    let two = submit(&mut client, "TWO");
    outputs(&mut client);
    assert_eq!(sent(&mut client, connection), "ONE\nQUIET\nTWO\n");
    client.read(NOW, connection, b"1\n2\n");
    let expected = [
        (quiet, None),
        (one, Some("1".to_owned())),
        (two, Some("2".to_owned())),
    ];
    assert_eq!(replies(&mut client), expected);
}

#[test]
fn a_reply_out_of_nothing_is_no_reply_to_what_was_not_sent() {
    let (mut client, connection) = ready();
    let early = submit(&mut client, "ONE");
    outputs(&mut client);
    sent(&mut client, connection);
    client.read(NOW, connection, b"1\n");
    assert_eq!(replies(&mut client), [(early, Some("1".to_owned()))]);
    submit(&mut client, "TWO");
    outputs(&mut client);
    client.read(NOW, connection, b"2\n");
    let close = ClientOutput::Action(ClientAction::Close { connection });
    assert!(outputs(&mut client).contains(&close));
    assert_eq!(
        client.cluster().stats().waiting_requests,
        1,
        "it goes elsewhere"
    );
}

#[test]
fn a_cancelled_request_keeps_its_place_in_the_order() {
    let (mut client, connection) = ready();
    let one = submit(&mut client, "ONE");
    let two = submit(&mut client, "TWO");
    outputs(&mut client);
    sent(&mut client, connection);
    client.cancel(NOW, one);
    client.read(NOW, connection, b"1\n2\n");
    assert_eq!(replies(&mut client), [(two, Some("2".to_owned()))]);
}

#[test]
fn what_the_encoder_refuses_leaves_no_byte() {
    let (mut client, connection) = ready();
    for request in ["ONE", "REFUSED", "", "TWO"] {
        submit(&mut client, request);
    }
    outputs(&mut client);
    assert_eq!(sent(&mut client, connection), "ONE\nTWO\n");
    client.read(NOW, connection, b"1\n2\n");
    assert_eq!(replies(&mut client).len(), 2);
    assert_eq!(client.cluster().stats().open_requests, 0);
}

#[test]
fn the_reply_of_an_attempt_that_is_tried_again_is_dropped() {
    let (mut client, connection) = ready();
    let id = submit(&mut client, "ONE");
    outputs(&mut client);
    sent(&mut client, connection);
    client.read(NOW, connection, b"MOVED\n");
    assert_eq!(replies(&mut client), []);
    let later = NOW + Duration::from_secs(1);
    client.handle_timeout(later);
    outputs(&mut client);
    assert_eq!(sent(&mut client, connection), "ONE\n");
    client.read(later, connection, b"1\n");
    assert_eq!(replies(&mut client), [(id, Some("1".to_owned()))]);
}

#[test]
fn a_reply_may_throttle_before_its_slot_is_used_again() {
    let (mut client, connection) = ready();
    for request in ["1", "2", "3", "4", "5"] {
        submit(&mut client, request);
    }
    outputs(&mut client);
    assert_eq!(sent(&mut client, connection), "1\n2\n3\n4\n");
    client.read(NOW, connection, b"BUSY\n");
    assert_eq!(replies(&mut client).len(), 1);
    let end = NOW + Duration::from_millis(300);
    for (now, expected) in [(NOW, ""), (end, "5\n")] {
        client.handle_timeout(now);
        outputs(&mut client);
        assert_eq!(sent(&mut client, connection), expected);
    }
}

#[test]
fn a_protocol_without_a_limit_of_its_own_is_limited() {
    let (mut client, connection) = ready();
    client.read(NOW, connection, &[b'x'; 50]);
    assert_eq!(outputs(&mut client), []);
    client.read(NOW, connection, b"x");
    let ends = outputs(&mut client);
    let close = ClientOutput::Action(ClientAction::Close { connection });
    assert!(ends.contains(&close), "{ends:?}");
}

#[test]
fn without_a_word_of_it_16_mib_and_a_length_may_wait() {
    /// Says nothing that it need not.
    #[derive(Debug)]
    struct Terse;

    impl Protocol for Terse {
        type Request = ();
        type Reply = ();
        type Push = ();
        type Connection = ();

        fn open(&mut self, _: Peer<'_>) {}

        fn encode(
            &mut self,
            _: &mut (),
            _: Outgoing<'_, ()>,
            _: &mut BytesMut,
        ) -> Result<(), Rejected> {
            Ok(())
        }

        fn decode(&mut self, _: &mut (), _: &mut BytesMut, _: &mut BytesMut) -> Decoded<Self> {
            Ok(None)
        }
    }

    assert_eq!(Terse.max_buffered(), 16_777_220);
    let client = Client::new(Terse, Config::default(), 1, NOW).unwrap();
    assert!(format!("{client:?}").starts_with("Client { protocol: Terse, cluster: "));
}

#[test]
fn the_protocol_says_how_replies_are_matched() {
    let keep = Config::builder().on_request_timeout(OnRequestTimeout::Keep);
    let config = keep.build().expect("with correlation ids it makes sense");
    let error = Client::new(Lines::default(), config, 1, NOW).map(drop);
    assert_eq!(error, Err(ConfigError::KeepWithOrder));
}

#[test]
fn the_protocol_says_that_there_is_one_session_only() {
    let both = Config::builder().make_before_break(true);
    let config = both.build().expect("with several sessions it makes sense");
    let error = Client::new(Lines::default(), config, 1, NOW).map(drop);
    assert_eq!(error, Err(ConfigError::TwoSessions));
}

#[test]
fn a_server_that_is_asked_for_its_cluster_gives_the_list() {
    let (mut client, connection) = discovering();
    client.read(NOW, connection, b"SERVERS 127.0.0.1:7000 127.0.0.1:7001\n");
    outputs(&mut client);
    assert_eq!(client.cluster().stats().nodes, 2);
    // Its question was no request: replies are still in order.
    let request = submit(&mut client, "GET");
    outputs(&mut client);
    assert_eq!(sent(&mut client, connection), "GET\n");
    client.read(NOW, connection, b"value\n");
    let completed = outputs(&mut client).into_iter().any(|output| {
        matches!(output, ClientOutput::Completion { request: id, result: Ok(_) } if id == request)
    });
    assert!(completed);
}

#[test]
fn a_server_that_cannot_say_who_is_in_its_cluster_leaves_the_list_as_it_is() {
    let (mut client, connection) = discovering();
    client.read(NOW, connection, b"SERVERS\n");
    outputs(&mut client);
    let stats = client.cluster().stats();
    assert_eq!((stats.nodes, stats.refreshes_failed), (1, 1));
}

#[test]
fn an_answer_about_servers_that_was_not_asked_for_ends_the_connection() {
    let (mut client, connection) = ready();
    client.read(NOW, connection, b"SERVERS 127.0.0.1:7001\n");
    let close = ClientOutput::Action(ClientAction::Close { connection });
    assert!(outputs(&mut client).contains(&close));
    assert_eq!(client.cluster().stats().nodes, 1);
}
