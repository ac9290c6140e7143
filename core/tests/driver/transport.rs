//! Connections that another transport than the runtime's makes.

use std::{
    future::IntoFuture,
    net::SocketAddr,
    sync::{Arc, Mutex},
    task::Poll,
};

use redial::{
    ConnectError, Endpoint, NodeSpec,
    client::length_prefixed::{Frame, LengthPrefixed},
    driver::{Either, Handle, Runtime, Transport},
};

use super::{
    poll,
    sim::{End, Sim, Wakes},
};

type Dialled = (Endpoint, Option<SocketAddr>);

/// Leads through the runtime's own transport, and remembers where it was asked to go.
#[derive(Clone)]
struct Tunnel {
    below: Sim,
    dialled: Arc<Mutex<Vec<Dialled>>>,
}

impl Transport for Tunnel {
    type Stream = Either<End, End>;

    fn connect(
        &self,
        node: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<Self::Stream, ConnectError>> + Send + 'static {
        let dialled = (node.endpoint.clone(), address);
        self.dialled.lock().expect("nobody panics").push(dialled);
        let connect = self.below.connect(node, address);
        async move { connect.await.map(Either::Second) }
    }
}

#[test]
fn a_runtime_takes_the_connections_of_another_transport() {
    let (sim, wakes, dialled) = (Sim::default(), Arc::new(Wakes::default()), Arc::default());
    let tunnel = Tunnel {
        below: sim.clone(),
        dialled: Arc::clone(&dialled),
    };
    let client = Handle::builder(LengthPrefixed::new())
        .servers("unix:/run/x.sock")
        .runtime(sim.clone().with_transport(tunnel))
        .build()
        .expect("it is well-formed");
    let run = || {
        sim.poll(&wakes);
        while wakes.take() > 0 {
            sim.poll(&wakes);
        }
    };
    run();
    let mut request = client.request("ping".into()).into_future();
    assert!(poll(&mut request).is_pending());
    run();
    sim.welcome(0);
    run();
    let id = sim.requests(0)[0];
    sim.send(0, &[Frame::reply(id, "pong")]);
    run();
    let Poll::Ready(Ok(response)) = poll(&mut request) else {
        panic!("it was answered")
    };
    assert_eq!(response.reply.as_deref(), Some(&b"pong"[..]));
    let endpoint = Endpoint::Opaque("unix:/run/x.sock".into());
    assert_eq!(*dialled.lock().expect("nobody panics"), [(endpoint, None)]);
}
