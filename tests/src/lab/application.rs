//! The application: some of everything, at any time.

use std::{collections::BTreeMap, time::Duration};

use redial::{
    Hint, Instant, NodeId, NodeSpec, Reason, RequestError, RequestId, RequestOptions, SourceId,
    SubmitError,
    client::Response,
    sim::{App, Workload},
};

use super::{Chance, Request, Speaker};

/// So long after all was well again the client must have found out.
pub const SETTLED: Duration = Duration::from_secs(100);

/// A request is answered then within this time.
pub const SOON: Duration = Duration::from_secs(15);

/// An application by chance. Until all is well it does some of everything; from then on it sends plain
/// requests at a steady pace.
#[derive(Debug)]
pub struct Application {
    chance: Chance,
    /// All servers.
    list: Vec<NodeSpec>,
    /// It hands in lists of its own.
    has_lists: bool,
    /// Its plain requests must be answered when all has been well for a while.
    is_strict: bool,
    is_calm: bool,
    sent: u64,
    open: BTreeMap<RequestId, Sent>,
    /// How often it acts in this burst or quiet time, and how slowly.
    left: u64,
    pause: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    expects_reply: bool,
    /// It must be answered soon.
    must: bool,
}

impl Application {
    /// One for servers that are listed so.
    #[must_use]
    pub const fn new(
        chance: Chance,
        list: Vec<NodeSpec>,
        has_lists: bool,
        is_strict: bool,
    ) -> Self {
        Self {
            chance,
            list,
            has_lists,
            is_strict,
            is_calm: false,
            sent: 0,
            open: BTreeMap::new(),
            left: 0,
            pause: 0,
        }
    }

    fn send(&mut self, app: &mut App<'_, Speaker>, plain: bool, options: RequestOptions) {
        let request = Request {
            number: self.sent,
            plain,
            encodable: plain || self.chance.below(100) > 0,
        };
        let (expects_reply, must) = (options.expects_reply, self.must(app, plain));
        match app.submit(request, options) {
            Ok(id) => {
                let sent = Sent {
                    number: self.sent,
                    expects_reply,
                    must,
                };
                self.sent += 1;
                if self.open.insert(id, sent).is_some() {
                    app.fail(format!("{id} was given to two requests"));
                }
            }
            Err(refused) if must && refused.error != SubmitError::Closed => {
                app.fail(format!(
                    "all is well, and a request is refused: {refused:?}"
                ));
            }
            Err(_) => {}
        }
    }

    fn must(&self, app: &App<'_, Speaker>, plain: bool) -> bool {
        self.is_strict && plain && app.now() >= app.calm_from() + SETTLED
    }

    /// One thing of many.
    fn act_oddly(&mut self, app: &mut App<'_, Speaker>) {
        match self.chance.below(100) {
            0..70 => {
                let options = self.options(app);
                let plain = self.chance.below(4) == 0;
                self.send(app, plain, options);
            }
            70..80 => {
                let at = self.chance.below(self.open.len() as u64) as usize;
                if let Some(id) = self.open.keys().nth(at).copied()
                    && !app.cancel(id)
                {
                    app.fail(format!("{id} is open and cannot be cancelled"));
                }
            }
            80..84 => {
                let hint = self.hint(app);
                app.hint(hint);
            }
            84..87 if self.has_lists => {
                let list = self.some_servers();
                let _ = app.set_nodes(&list);
            }
            87 => {
                let list = self.some_servers();
                let _ = app.set_fallback(&list);
            }
            _ => {
                let options = RequestOptions::new().idempotent();
                self.send(app, true, options);
            }
        }
    }

    fn options(&mut self, app: &App<'_, Speaker>) -> RequestOptions {
        let mut options = RequestOptions::new();
        if self.chance.below(3) == 0
            && let Some(node) = self.node(app)
        {
            options = options.on(node);
        }
        if self.chance.below(3) == 0 {
            options = options.timeout(self.chance.millis(5_000));
        }
        if self.chance.below(6) == 0 {
            options = options.request_timeout(self.chance.millis(5_000));
        }
        options.idempotent = self.chance.below(2) == 0;
        options.fail_fast = self.chance.below(6) == 0;
        options.expects_reply = self.chance.below(8) > 0;
        options.bytes = self.chance.pick(&[0, 0, 1_000_000]);
        options
    }

    fn hint(&mut self, app: &App<'_, Speaker>) -> Hint {
        let source = SourceId::new(self.chance.below(4) as u32);
        let node = self.node(app);
        match (self.chance.below(5), node) {
            (0, Some(node)) => Hint::NodeUp(node),
            (1, Some(node)) => Hint::NodeDown(node),
            (2, _) => Hint::SourceChanged(source),
            (3, _) => Hint::Resumed,
            _ => Hint::NetworkChanged,
        }
    }

    fn node(&mut self, app: &App<'_, Speaker>) -> Option<NodeId> {
        let nodes = app.client().cluster().nodes().map(|view| view.id);
        let nodes: Vec<_> = nodes.collect();
        let at = self.chance.below(nodes.len() as u64) as usize;
        nodes.get(at).copied()
    }

    /// Some of them, or none, or all; one may have a key, or the key of another.
    fn some_servers(&mut self) -> Vec<NodeSpec> {
        let mut some = self.list.clone();
        some.retain(|_| self.chance.below(3) > 0);
        let at = self.chance.below(some.len() as u64 * 2) as usize;
        if let Some(spec) = some.get_mut(at) {
            let key = self.chance.pick(&["one", "two"]);
            *spec = spec.clone().with_key(key);
        }
        some
    }

    /// Bursts and quiet times.
    fn pause(&mut self) -> Duration {
        if self.left == 0 {
            (self.left, self.pause) =
                self.chance
                    .pick(&[(10, 1_000), (20, 300), (30, 30), (50, 1), (3, 10_000)]);
        }
        self.left -= 1;
        self.chance.millis(self.pause * 2)
    }
}

impl Workload<Speaker> for Application {
    fn act(&mut self, app: &mut App<'_, Speaker>) -> Option<Instant> {
        if app.is_over() {
            return None;
        }
        if self.sent == 0 {
            // Where lists come from sources there is none yet.
            let hasty = RequestOptions::new().timeout(Duration::from_millis(1));
            self.send(app, false, hasty);
            if self.has_lists && self.chance.below(4) > 0 {
                let _ = app.set_nodes(&self.list);
            }
        }
        if app.now() < app.calm_from() {
            self.act_oddly(app);
            let pause = self.pause();
            return Some((app.now() + pause).min(app.calm_from()));
        }
        if !self.is_calm && self.has_lists {
            self.is_calm = true;
            let _ = app.set_nodes(&self.list);
        }
        self.send(app, true, RequestOptions::new().idempotent());
        Some(app.now() + Duration::from_millis(700))
    }

    fn completed(
        &mut self,
        app: &mut App<'_, Speaker>,
        request: RequestId,
        result: &Result<Response<u64>, RequestError>,
    ) {
        let Some(sent) = self.open.remove(&request) else {
            return app.fail(format!("{request} is not open and completes: {result:?}"));
        };
        let elapsed = match result {
            Ok(response) => {
                let awaited = sent.expects_reply.then_some(sent.number);
                if response.reply != awaited {
                    let reply = response.reply;
                    app.fail(format!("{request} awaits {awaited:?} and gets {reply:?}"));
                }
                response.elapsed
            }
            Err(error) if error.reason == Reason::Closed => error.elapsed,
            Err(error) if sent.must => {
                return app.fail(format!("all is well, and {request} fails: {error:?}"));
            }
            Err(_) => return,
        };
        if sent.must && elapsed > SOON {
            app.fail(format!("all is well, and {request} takes {elapsed:?}"));
        }
    }
}
