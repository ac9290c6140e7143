//! Outputs in short words.

use redial::{Action, ConnectionId, Endpoint, NodeId, Output, RequestId, SuccessKind};

use super::Script;

impl Script {
    pub(super) fn line(&self, output: &Output) -> String {
        match *output {
            Output::Action(action) => self.action(action),
            Output::Completion(completion) => {
                let request = self.request_name(completion.request);
                match completion.result {
                    Ok(success) => {
                        let kind = match success.kind {
                            SuccessKind::Reply => "reply",
                            SuccessKind::Sent => "sent",
                        };
                        format!("{request} {kind} {}", self.node_name(success.node))
                    }
                    Err(error) => format!("{request} {:?} {:?}", error.reason, error.certainty),
                }
            }
            Output::Event(event) => format!("{event:?}"),
            Output::Terminated => "terminated".to_owned(),
        }
    }

    fn action(&self, action: Action) -> String {
        let on = |connection| self.connection_name(connection);
        match action {
            Action::Resolve { node, .. } => format!("resolve {}", self.node_name(node)),
            Action::AbortResolve { attempt } => {
                let of = |entry: &(&NodeId, &redial::AttemptId)| *entry.1 == attempt;
                let node = self.attempts.iter().find(of).map(|entry| *entry.0);
                let name = node.map_or_else(|| attempt.to_string(), |node| self.node_name(node));
                format!("abort-resolve {name}")
            }
            // Where there is a choice of addresses, it matters.
            Action::Connect { node, address, .. } => {
                let spec = self.cluster().spec(node);
                let named = spec.is_some_and(|spec| matches!(spec.endpoint, Endpoint::Name { .. }));
                match address.filter(|_| named) {
                    Some(address) => format!("connect {} {address}", self.node_name(node)),
                    None => format!("connect {}", self.node_name(node)),
                }
            }
            Action::Handshake { connection } => format!("handshake {}", on(connection)),
            Action::Write {
                connection,
                request,
                ..
            } => {
                format!("write {} {}", on(connection), self.request_name(request))
            }
            Action::Withdraw {
                connection,
                request,
                ..
            } => {
                format!("withdraw {} {}", on(connection), self.request_name(request))
            }
            Action::Probe { connection } => format!("probe {}", on(connection)),
            Action::Close { connection } => format!("close {}", on(connection)),
            Action::Abort { connection } => format!("abort {}", on(connection)),
            Action::Refresh { source, .. } => format!("refresh {source}"),
            Action::Discover {
                source, connection, ..
            } => format!("discover {source} {}", on(connection)),
            other => format!("{other:?}"),
        }
    }

    fn node_name(&self, node: NodeId) -> String {
        let place = self.nodes.iter().position(|id| *id == node);
        place.map_or_else(|| format!("unknown {node}"), |place| format!("n{place}"))
    }

    /// The node for its newest connection, `n0-1` for the one before.
    fn connection_name(&self, connection: ConnectionId) -> String {
        for (node, all) in &self.connections {
            if let Some(back) = all.iter().rev().position(|id| *id == connection) {
                let node = self.node_name(*node);
                return if back == 0 {
                    node
                } else {
                    format!("{node}-{back}")
                };
            }
        }
        format!("unknown {connection}")
    }

    fn request_name(&self, request: RequestId) -> String {
        let place = self.requests.iter().rposition(|id| *id == request);
        place.map_or_else(|| format!("unknown {request}"), |place| format!("r{place}"))
    }
}
