//! A program without std that uses redial: it brings its own panic handler and allocator.
//!
//! If redial, or anything below it, linked std, the compiler would refuse this crate: std brings a
//! panic handler too, and there can be only one (error E0152, duplicate lang item `panic_impl`).
#![no_std]

mod bare;

use core::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use redial::{
    Action, Cluster, Config, Input, Instant, Limits, NodeSpec, Output, ReplyTo, RequestOptions,
    Verdict,
};

/// Runs one request against one imaginary node, from the dial to the reply. True if it was answered.
#[unsafe(no_mangle)]
pub extern "C" fn redial_answers_without_std() -> bool {
    let now = Instant::ORIGIN;
    let mut cluster = Cluster::new(Config::default(), 1, now);
    let node = SocketAddr::from((Ipv4Addr::LOCALHOST, 9092));
    if cluster.set_nodes(now, &[NodeSpec::from(node)]).is_err() {
        return false;
    }
    let Ok(request) = cluster.submit(now, RequestOptions::new()) else {
        return false;
    };

    let mut answered = false;
    while let Some(output) = cluster.poll_output() {
        match output {
            Output::Action(action) => perform(&mut cluster, now, action),
            Output::Completion(completion) => {
                answered |= completion.request == request && completion.result.is_ok();
            }
            _ => {}
        }
    }
    cluster.handle_timeout(now + Duration::from_secs(1));
    answered && cluster.stats().succeeded == 1
}

/// A network and a peer without any delay.
fn perform(cluster: &mut Cluster, now: Instant, action: Action) {
    match action {
        Action::Connect { connection, .. } => {
            cluster.handle_input(now, Input::Connected { connection });
        }
        Action::Handshake { connection } => {
            let limits = Limits::NONE;
            cluster.handle_input(now, Input::HandshakeDone { connection, limits });
        }
        Action::Write {
            connection, serial, ..
        } => {
            let (to, verdict) = (ReplyTo::Serial(serial), Verdict::DONE);
            for fact in [
                Input::WriteStarted { connection, serial },
                Input::WriteDone { connection, serial },
                Input::Reply {
                    connection,
                    to,
                    verdict,
                },
            ] {
                cluster.handle_input(now, fact);
            }
        }
        _ => {}
    }
}
