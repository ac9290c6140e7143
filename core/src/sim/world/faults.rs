//! What goes wrong, as it begins and ends.

use core::time::Duration;

use super::{Due, Notice, World, condition::Condition};
use crate::sim::{
    fault::{Fault, Target},
    schedule::Occurrence,
    trace::What,
};

/// A server that drains hangs up after so long.
const GRACE: Duration = Duration::from_secs(1);

impl World {
    pub(super) fn begins(&mut self, index: usize) {
        let occurrence = self.schedule.faults[index];
        *self.fired.entry(occurrence.fault.kind()).or_insert(0) += 1;
        self.changes.push(What::Begins(occurrence));
        match occurrence.fault {
            Fault::Reset => self.for_each(occurrence.target, Self::reset_all),
            Fault::HalfOpen => self.for_each(occurrence.target, Self::forget_all),
            Fault::Sleep => self.sleeps += 1,
            _ => {}
        }
        if !occurrence.fault.is_instant() {
            self.active.push(index);
            self.change(occurrence);
        }
    }

    pub(super) fn ends(&mut self, index: usize) {
        let occurrence = self.schedule.faults[index];
        self.changes.push(What::Ends(occurrence));
        self.active.retain(|active| *active != index);
        if occurrence.fault == Fault::Sleep {
            self.sleeps -= 1;
            if self.sleeps == 0 {
                self.events.add(self.now, Due::Wakes);
            }
        }
        self.change(occurrence);
    }

    fn for_each(&mut self, target: Target, mut act: impl FnMut(&mut Self, u32)) {
        let count = self.servers.len() as u32;
        match target {
            Target::All => (0..count).for_each(|server| act(self, server)),
            Target::Server(server) => act(self, server),
        }
    }

    fn change(&mut self, occurrence: Occurrence) {
        let listed = self.list();
        self.for_each(occurrence.target, Self::change_server);
        if self.list() != listed {
            self.tell(Notice::ListChanged);
        }
    }

    /// Adds up what is wrong with a server, and does what follows from the difference.
    fn change_server(&mut self, server: u32) {
        let active = self.active.iter().map(|index| self.schedule.faults[*index]);
        let here = active.filter(|occurrence| match occurrence.target {
            Target::All => true,
            Target::Server(target) => target == server,
        });
        let host = &mut self.servers[server as usize];
        let new = here.fold(host.well.clone(), |condition: Condition, occurrence| {
            condition.with(occurrence.fault)
        });
        let old = core::mem::replace(&mut host.condition, new.clone());
        if old.is_up && !new.is_up {
            self.reset_all(server);
            self.servers[server as usize].server.restart();
        }
        if !new.drains {
            self.servers[server as usize].hangs_up_at = None;
        } else if !old.drains {
            let at = self.now + GRACE;
            self.servers[server as usize].hangs_up_at = Some(at);
            self.goodbye(server);
            self.events.add(at, Due::HangUp(server));
        }
        let flows = |old: bool, new: bool| old && !new;
        let resumes = flows(old.is_paused, new.is_paused)
            || flows(old.is_mute, new.is_mute)
            || flows(old.blocks_to_server(), new.blocks_to_server())
            || flows(old.blocks_to_client(), new.blocks_to_client())
            || flows(old.piece.is_some(), new.piece.is_some());
        if resumes {
            self.resume(server);
        }
        if flows(old.is_narrow(), new.is_narrow()) {
            self.hasten_all(server);
        }
    }

    /// What could not pass passes again.
    pub(super) fn resume(&mut self, server: u32) {
        let at = self.now + self.latency(server);
        for id in self.links_to(server) {
            self.events.add(at, Due::ToServer(id));
            self.events.add(at, Due::ToClient(id));
            self.events.add(at, Due::Room(id));
        }
        if self.servers[server as usize].hangs_up_at.is_some() {
            self.events.add(at, Due::HangUp(server));
        }
    }
}
