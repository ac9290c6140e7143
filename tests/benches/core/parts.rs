//! Single parts: a pick, the deadline calls with 100,000 deadlines, an update of the list.

use std::hint::black_box;

use redial::{Cluster, Config, Instant, NodeSpec, RequestOptions, SelectionPolicy};

use crate::{
    cycle::{Cycle, specs},
    support::{Report, Subject, interleave, median},
    time,
};

const COUNT: u64 = 20_000;
const DEADLINES: u64 = 100_000;

pub(crate) fn run(report: &mut Report) {
    report.table(&["part", "ns"]);
    let subjects: [(&str, Subject<'_>); 5] = [
        ("submit with its pick, 3 nodes", sends(3)),
        ("submit with its pick, 100,000 nodes", sends(100_000)),
        ("`poll_timeout`, 100,000 deadlines", poll_timeout()),
        (
            "`handle_timeout` with nothing due, 100,000 deadlines",
            handle_timeout(),
        ),
        ("`handle_timeout`, a deadline of 100,000 due", expiry()),
    ];
    let (names, mut measures): (Vec<_>, Vec<_>) = subjects.into_iter().unzip();
    let figures = interleave(&mut measures);
    for (name, figures) in names.iter().zip(&figures) {
        report.row(&[(*name).to_owned(), format!("{:.1}", median(figures))]);
    }
    list_updates(report);
}

/// A submit with its pick and its Write: the first part of the cycle.
fn sends(nodes: usize) -> Subject<'static> {
    let mut cycle = Cycle::new(nodes).with_in_flight(0);
    Box::new(move || {
        let mut sent = 0.0;
        // In small steps, so that it stays the part and not the filling of memory that is measured.
        for _ in 0..COUNT / 100 {
            sent += time(COUNT, || (0..100).for_each(|_| cycle.submit()));
            (0..100).for_each(|_| cycle.write_and_answer());
        }
        sent
    })
}

/// Each request with a timeout of its own, so that each has its own timer.
fn armed() -> (Cluster, Instant) {
    let now = Instant::ORIGIN;
    let config = Config::builder().queue_max_requests(u32::MAX);
    let mut cluster = Cluster::new(config.build().expect("valid"), 1, now);
    cluster.set_nodes(now, &specs(3)).expect("a valid list");
    for n in 0..DEADLINES {
        arm(&mut cluster, now, n);
    }
    (cluster, now)
}

fn arm(cluster: &mut Cluster, now: Instant, n: u64) {
    let timeout = std::time::Duration::from_micros(1_000 + n);
    let options = RequestOptions::new().timeout(timeout);
    cluster.submit(now, options).expect("accepted");
    while cluster.poll_output().is_some() {}
}

fn poll_timeout() -> Subject<'static> {
    let (cluster, _) = armed();
    Box::new(move || {
        time(COUNT, || {
            for _ in 0..COUNT {
                black_box(black_box(&cluster).poll_timeout());
            }
        })
    })
}

fn handle_timeout() -> Subject<'static> {
    let (mut cluster, now) = armed();
    Box::new(move || {
        time(COUNT, || {
            for _ in 0..COUNT {
                black_box(&mut cluster).handle_timeout(now);
            }
        })
    })
}

/// Every step lets one request expire and submits another.
fn expiry() -> Subject<'static> {
    let (mut cluster, _) = armed();
    Box::new(move || {
        time(COUNT, || {
            for _ in 0..COUNT {
                let due = cluster.poll_timeout().expect("deadlines are armed");
                cluster.handle_timeout(due.at);
                while cluster.poll_output().is_some() {}
                arm(&mut cluster, due.at, DEADLINES);
            }
        })
    })
}

/// A client that is given two lists in turn, of which one node differs.
struct Updates {
    list: Vec<NodeSpec>,
    cluster: Cluster,
    turn: usize,
}

impl Updates {
    fn new(nodes: usize, selection: SelectionPolicy) -> Self {
        let config = Config::builder().selection(selection);
        let config = config.build().expect("it is valid");
        let mut updates = Self {
            list: specs(nodes + 1),
            cluster: Cluster::new(config, 1, Instant::ORIGIN),
            turn: 0,
        };
        (0..4).for_each(|_| updates.update());
        updates
    }

    /// One comes, one goes.
    fn update(&mut self) {
        self.turn += 1;
        let nodes = self.list.len() - 1;
        let list = &self.list[self.turn % 2..][..nodes];
        let set = self.cluster.set_nodes(Instant::ORIGIN, list);
        set.expect("a valid list");
        while self.cluster.poll_output().is_some() {}
    }
}

fn list_updates(report: &mut Report) {
    report.table(&["list update, one node changed", "µs", "allocations"]);
    for (name, policy) in [
        ("LeastLoaded", SelectionPolicy::LeastLoaded),
        ("Sticky", SelectionPolicy::Sticky),
    ] {
        let sizes = [1_000, 10_000];
        let subject = |nodes| -> Subject<'static> {
            let mut updates = Updates::new(nodes, policy.clone());
            Box::new(move || time(1, || updates.update()) / 1_000.0)
        };
        let figures = interleave(&mut sizes.map(subject));
        let allocations = sizes.map(|nodes| {
            let mut updates = Updates::new(nodes, policy.clone());
            allocation_counter::measure(|| updates.update()).count_total
        });
        let times = [median(&figures[0]), median(&figures[1])];
        for ((nodes, time), allocations) in sizes.iter().zip(times).zip(allocations) {
            report.row(&[
                format!("{name}, {nodes} nodes"),
                format!("{time:.0}"),
                allocations.to_string(),
            ]);
        }
        let aim = format!("list update under {name}, 10,000 / 1,000 nodes");
        report.below(aim, times[1] / times[0], 15.0);
        // What the one that comes and the one that goes take; none for one that is kept.
        let aim = format!("allocations of a list update of 10,000 nodes under {name}");
        report.below(aim, allocations[1] as f64, 32.0);
    }
}
