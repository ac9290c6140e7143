//! A real client is recorded.

use std::{
    io::{self, Write},
    sync::Mutex,
};

use redial::record::{RecordError, replay};

use redial::driver::{BuildError, SourceError};

use super::{
    sources::{A, B, Desk, list, servers},
    *,
};

#[derive(Clone, Default)]
struct Sheet(Arc<Mutex<Vec<u8>>>);

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A request that is answered, one that loses its connection, one that is cancelled, and the end.
/// Returns all that can be seen of it.
fn scenario(f: Fixture) -> String {
    f.run();
    let (mut answered, mut lost, cancelled) = (f.submit(), f.submit(), f.submit());
    f.run();
    f.sim.welcome(0);
    f.run();
    drop(cancelled);
    f.run();
    let sent = f.sim.requests(0);
    f.sim.send(0, &[Frame::reply(sent[0], "reply")]);
    f.run();
    let answered = poll(&mut answered);
    // The answer to nothing: the connection ends.
    f.sim.send(0, &[Frame::reply(99, "reply")]);
    f.run();
    let lost = failure(poll(&mut lost));
    let mut end = pin!(f.client.shutdown(Duration::ZERO));
    f.run();
    assert!(poll(end.as_mut()).is_ready());
    format!("{sent:?} {answered:?} {lost:?} {:?}", f.client.snapshot())
}

#[test]
fn a_recorded_client_behaves_as_one_that_is_not_and_its_core_is_replayed() {
    let servers = |builder: Builder<LengthPrefixed, Sim>| builder.servers("10.0.0.1:1");
    let plain = scenario(Fixture::build(servers));
    let sheet = Sheet::default();
    let sink = sheet.clone();
    let recorded = scenario(Fixture::build(|builder| servers(builder).record(sink)));
    assert_eq!(plain, recorded);

    let text = sheet.0.lock().unwrap();
    let run = replay(&**text).expect("it goes as recorded");
    let snapshot = format!("{:?}", run.cluster.snapshot());
    assert!(recorded.ends_with(&snapshot), "{recorded}\n{snapshot}");
    assert_eq!(run.cluster.stats().requests, 3);
}

/// Lists, failures and word of a change are facts like others.
#[test]
fn what_a_source_says_is_recorded() {
    let (desk, sheet) = (Desk::default(), Sheet::default());
    let (source, sink) = (desk.clone(), sheet.clone());
    let f = Fixture::build(|builder| builder.source(source).record(sink));
    desk.answer(A);
    f.run();
    for answer in [Err(SourceError::other("away")), Ok(list(B))] {
        f.sim.advance(Duration::from_secs(2));
        desk.change(|papers| {
            papers.changed = true;
            papers.answer = Some(answer);
        });
        f.run();
    }
    f.sim.advance(Duration::from_secs(100));
    f.run();
    assert_eq!((servers(&f), desk.begun()), (vec![B.to_string()], 4));
    drop(f.client);
    f.sim.drop_driver();
    let text = sheet.0.lock().unwrap();
    let run = replay(&**text).expect("it goes as recorded");
    assert_eq!(run.cluster.stats().refreshes, 4);
    assert!(String::from_utf8_lossy(&text).contains("SourceChanged"));
}

#[test]
fn a_client_that_cannot_be_recorded_is_not_built() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let builder = Handle::builder(LengthPrefixed::new()).runtime(Sim::default());
    let error = builder.record(Full).build().err();
    let expected = RecordError::Io(io::ErrorKind::StorageFull);
    assert_eq!(error, Some(BuildError::Record(expected)));
}
