//! How connections begin.

use core::{net::SocketAddr, time::Duration};

use super::{
    Due, Link, LinkId, Notice, Owner, World,
    condition::{Dial, Name},
    names::server_at,
};
use crate::ConnectError;

/// A dial that was lost is sent again after a second, two, four, …; after so many times it has
/// failed. As Linux does it (tcp_syn_retries).
const MAX_LOST: u32 = 6;

/// How long it takes to find out that nothing is at an address.
const NOWHERE: Duration = Duration::from_millis(1);

impl World {
    /// Dials an address, and tells the owner what comes of it.
    pub(in crate::sim) fn dial(&mut self, owner: Owner, address: Option<SocketAddr>) -> LinkId {
        let id = LinkId(self.next_link);
        self.next_link += 1;
        let server = address
            .and_then(server_at)
            .filter(|server| (*server as usize) < self.servers.len());
        self.links.insert(id, Link::new(owner, server.unwrap_or(0)));
        match server {
            None => {
                let nowhere = Due::DialEnds(id, Some(ConnectError::Unreachable));
                self.events.add(self.now + NOWHERE, nowhere);
            }
            Some(server) => {
                let at = self.now + self.latency(server);
                self.events.add(at, Due::Dialled(id, 0));
            }
        }
        id
    }

    pub(super) fn dialled(&mut self, id: LinkId, lost: u32) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let server = link.server;
        let condition = self.condition(server);
        let is_lost = condition.partition.to_server || condition.partition.to_client;
        let answer = match condition.dial() {
            _ if is_lost => Dial::Lost,
            answer => answer,
        };
        let error = match answer {
            Dial::Accepted => None,
            Dial::Fails(error) => Some(error),
            Dial::Lost if lost < MAX_LOST => {
                let again = self.now + Duration::from_secs(1 << lost);
                self.events.add(again, Due::Dialled(id, lost + 1));
                return;
            }
            // Timed out.
            Dial::Lost => Some(ConnectError::Other),
        };
        if error.is_none()
            && let Some(link) = self.links.get_mut(&id)
        {
            link.accepted();
        }
        let at = self.now + self.latency(server);
        self.events.add(at, Due::DialEnds(id, error));
    }

    pub(super) fn dial_ends(&mut self, id: LinkId, error: Option<ConnectError>) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let owner = link.owner;
        let result = error.map_or(Ok(()), Err);
        match result {
            Ok(()) => link.is_up = true,
            Err(_) => _ = self.links.remove(&id),
        }
        self.tell(Notice::Connected(owner, id, result));
        // What the server said first may be here already.
        self.reaches_client(id);
    }

    /// Whether a name's look-up gives an address, by the server's condition.
    pub(super) fn resolves(&self, server: u32) -> Name {
        self.condition(server).name
    }
}
