//! A client of real servers.

use std::{
    net::SocketAddr,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use redial::{
    Cause, Config, Endpoint, Event, NodeSpec, NodeState, Output,
    driver::{ClientEvent, Events, Pushes},
    record::replay_with,
};
use redial_tests::{
    recording::Sheet,
    waiting::soon,
    zookeeper::jute::{Push, Reply, Request, ServerError, ZooKeeper},
};
use redial_tokio::Client;

/// A client, what it is pushed and what happens to it.
pub(crate) struct Session {
    pub(crate) client: Client<ZooKeeper>,
    pub(crate) events: Events,
    pushes: Pushes<Push>,
    recording: Sheet,
}

/// A session as a connection took it up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Established {
    pub(crate) id: i64,
    pub(crate) timeout: Duration,
    pub(crate) resumed: bool,
}

impl Session {
    pub(crate) fn start(timeout: Duration, seed: u64, nodes: Vec<NodeSpec>) -> Self {
        Self::with(Config::zookeeper(timeout), timeout, seed, nodes)
    }

    pub(crate) fn with(config: Config, timeout: Duration, seed: u64, nodes: Vec<NodeSpec>) -> Self {
        let recording = Sheet::default();
        let client = Client::builder(ZooKeeper::new(timeout))
            .nodes(nodes)
            .config(config)
            .seed(seed)
            .record(recording.clone())
            .build()
            .expect("a valid configuration");
        let (events, pushes) = (client.events(), client.pushes());
        Self {
            client,
            events,
            pushes,
            recording,
        }
    }

    pub(crate) async fn push(&mut self) -> Push {
        let record = soon(self.pushes.next()).await;
        record.expect("the client has not ended").push
    }

    /// Waits until a connection takes up the session.
    pub(crate) async fn established(&mut self) -> Established {
        loop {
            if let Push::Session {
                id,
                timeout,
                resumed,
            } = self.push().await
            {
                return Established {
                    id,
                    timeout,
                    resumed,
                };
            }
        }
    }

    /// What the server makes of a request that may be carried out twice.
    pub(crate) async fn ask(&self, request: Request) -> Result<Reply, ServerError> {
        let response = soon(self.client.request(request).idempotent()).await;
        response.expect("an answer").reply.expect("a reply")
    }

    /// Makes a node.
    pub(crate) async fn create(&self, path: &str, ephemeral: bool) {
        let request = Request::Create {
            path: path.into(),
            data: Bytes::new(),
            ephemeral,
        };
        assert_eq!(self.ask(request).await, Ok(Reply::Path(path.into())));
    }

    /// Writes a node.
    pub(crate) async fn write(&self, path: &str, data: &'static str) {
        let request = Request::SetData {
            path: path.into(),
            data: data.into(),
            version: None,
        };
        let reply = self.ask(request).await;
        assert!(matches!(reply, Ok(Reply::Stat(_))), "{reply:?}");
    }

    /// Where the connection leads that is Ready.
    pub(crate) fn server(&self) -> Option<SocketAddr> {
        let nodes = self.client.nodes();
        let ready = nodes.iter().find(|node| node.state == NodeState::Ready)?;
        match &ready.spec.endpoint {
            Endpoint::Address(address) => Some(*address),
            other => panic!("an address was given: {other}"),
        }
    }

    /// Why the next connection ends that was up.
    pub(crate) async fn disconnected(&mut self) -> Cause {
        loop {
            let record = soon(self.events.next()).await;
            let event = record.expect("the client has not ended").event;
            if let ClientEvent::Cluster(Event::Disconnected { cause, .. }) = event {
                return cause;
            }
        }
    }

    /// What has happened to it since it was asked last.
    pub(crate) fn passed(&mut self) -> Vec<Event> {
        let mut passed = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(record) = self.events.poll_next(&mut context) {
            let record = record.expect("the client has not ended");
            if let ClientEvent::Cluster(event) = record.event {
                passed.push(event);
            }
        }
        passed
    }

    /// Ends the client and replays its recording: where the last connection leads.
    pub(crate) async fn replay(self) -> Option<SocketAddr> {
        let Self {
            client,
            mut events,
            recording,
            ..
        } = self;
        let ended = soon(client.shutdown(Duration::ZERO)).await;
        ended.expect("zero is not too long");
        drop(client);
        while soon(events.next()).await.is_some() {}
        // The driver has told of the end; its task holds the recording until it returns.
        tokio::task::yield_now().await;
        let mut server = None;
        replay_with(recording.text().as_bytes(), |_, _, output| {
            if let Output::Event(Event::Connected { address, .. }) = output {
                server = address;
            }
        })
        .expect("the replay goes as recorded");
        server
    }

    /// How often the session was told to be over, once the client has ended.
    pub(crate) async fn expiries(&mut self) -> usize {
        let mut expiries = 0;
        while let Some(record) = soon(self.events.next()).await {
            let expired = matches!(
                record.event,
                ClientEvent::Cluster(Event::SessionExpired { .. })
            );
            expiries += usize::from(expired);
        }
        expiries
    }
}
