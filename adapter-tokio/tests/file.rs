//! A server list in a real file: replaced, rewritten, spoilt, deleted.

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use redial::{
    Config,
    client::length_prefixed::LengthPrefixed,
    driver::{Changed, ClientEvent, Events, Retrieval, ServerSource, SharedSource, SourceError},
};
use redial_tokio::{Client, FileSource};
use tokio::time::{sleep, timeout};

/// Far more than anything here needs.
const LONG: Duration = Duration::from_secs(20);

/// A file in a directory of its own, which goes with it.
struct Place {
    directory: PathBuf,
    file: PathBuf,
}

impl Place {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("redial-file-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).expect("it can be created");
        let file = directory.join("servers");
        Self { directory, file }
    }

    fn with(text: &str) -> Self {
        let place = Self::new();
        place.write(text);
        place
    }

    fn write(&self, text: impl AsRef<[u8]>) {
        fs::write(&self.file, text).expect("it can be written");
    }

    /// As it should be done.
    fn replace(&self, text: &str) {
        let new = self.directory.join("new");
        fs::write(&new, text).expect("it can be written");
        fs::rename(new, &self.file).expect("it can be renamed");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A client that asks its source at least so often, and at a change soon.
struct Rig {
    client: Client<LengthPrefixed>,
    events: Events,
}

impl Rig {
    fn new(source: impl ServerSource, interval: Duration) -> Self {
        let config = Config::builder()
            .refresh_interval(interval)
            .refresh_jitter(Duration::ZERO)
            .refresh_min_interval(Duration::from_millis(10))
            .build()
            .expect("it makes sense");
        let builder = Client::builder(LengthPrefixed::new()).config(config);
        let client = builder.source(source).build().expect("it makes sense");
        let events = client.events();
        Self { client, events }
    }

    /// Only the watcher can be quick enough.
    fn watching(place: &Place) -> Self {
        Self::new(FileSource::new(&place.file), Duration::from_secs(3600))
    }

    /// In alphabetical order.
    fn servers(&self) -> Vec<String> {
        let nodes = self.client.nodes();
        let servers = nodes.iter().map(|node| node.spec.endpoint.to_string());
        servers.collect::<BTreeSet<_>>().into_iter().collect()
    }

    async fn until(&self, expected: &[&str]) {
        let wait = async {
            while self.servers() != expected {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = timeout(LONG, wait).await;
        waited.unwrap_or_else(|_| panic!("{:?}, not {expected:?}", self.servers()));
    }

    /// The next failure that `is_it`.
    async fn failure(&mut self, is_it: impl Fn(&SourceError) -> bool) -> SourceError {
        let wait = async {
            loop {
                let record = self.events.next().await.expect("the client goes on");
                if let ClientEvent::SourceFailed { error, .. } = record.event
                    && is_it(&error)
                {
                    return error;
                }
            }
        };
        timeout(LONG, wait).await.expect("it is told")
    }
}

#[tokio::test]
async fn a_file_that_is_replaced_is_read_again() {
    let place = Place::with("a:1");
    let rig = Rig::watching(&place);
    rig.until(&["a:1"]).await;
    for text in ["b:1\nc:1", "a:1\nc:1", "d:1"] {
        place.replace(text);
        let expected: Vec<_> = text.lines().collect();
        rig.until(&expected).await;
    }
}

#[tokio::test]
async fn a_file_that_is_written_in_place_is_read_again() {
    let place = Place::with("a:1");
    let rig = Rig::watching(&place);
    rig.until(&["a:1"]).await;
    place.write("b:1");
    rig.until(&["b:1"]).await;
    place.write("c:1");
    rig.until(&["c:1"]).await;
}

#[tokio::test]
async fn a_file_without_servers_changes_nothing_and_the_place_is_told() {
    let place = Place::with("a:1");
    let mut rig = Rig::watching(&place);
    rig.until(&["a:1"]).await;
    for (text, line, column) in [("", 1, 1), ("b:1\nno port\n", 2, 1)] {
        place.replace(text);
        let is_it = |error: &SourceError| {
            matches!(error, SourceError::Malformed { error, .. }
                if (error.line, error.column) == (line, column))
        };
        let error = rig.failure(is_it).await.to_string();
        assert!(error.contains(&*place.file.to_string_lossy()), "{error}");
        assert_eq!(rig.servers(), ["a:1"]);
    }
    place.replace("b:1");
    rig.until(&["b:1"]).await;
}

#[tokio::test]
async fn bytes_that_are_no_text_and_a_huge_file_change_nothing() {
    let place = Place::with("a:1");
    let mut rig = Rig::watching(&place);
    rig.until(&["a:1"]).await;
    place.write([b'b', 0xff, b':', b'1']);
    rig.failure(
        |error| matches!(error, SourceError::Io { kind, .. } if *kind == std::io::ErrorKind::InvalidData),
    )
    .await;
    place.write("b:1\n".repeat(300_000));
    let too_large = |error: &SourceError| matches!(error, SourceError::TooLarge { .. });
    rig.failure(too_large).await;
    assert_eq!(rig.servers(), ["a:1"]);
}

#[tokio::test]
async fn a_file_that_is_deleted_changes_nothing_until_it_is_there_again() {
    let place = Place::with("a:1");
    let mut rig = Rig::watching(&place);
    rig.until(&["a:1"]).await;
    fs::remove_file(&place.file).expect("it is there");
    rig.failure(
        |error| matches!(error, SourceError::Io { kind, .. } if *kind == std::io::ErrorKind::NotFound),
    )
    .await;
    assert_eq!(rig.servers(), ["a:1"]);
    place.write("b:1");
    rig.until(&["b:1"]).await;
}

#[tokio::test]
async fn a_directory_that_is_made_anew_is_watched_again() {
    let place = Place::with("a:1");
    let rig = Rig::watching(&place);
    rig.until(&["a:1"]).await;
    fs::remove_dir_all(&place.directory).expect("it is there");
    sleep(Duration::from_millis(50)).await;
    fs::create_dir(&place.directory).expect("it is gone");
    // Found by a retry; what comes then, by the watcher alone.
    place.replace("b:1");
    rig.until(&["b:1"]).await;
    place.replace("c:1");
    rig.until(&["c:1"]).await;
}

/// As a release that is unpacked beside it and then takes its name.
#[tokio::test]
async fn a_directory_that_another_takes_the_place_of_is_watched_again() {
    let (place, new) = (Place::with("a:1"), Place::with("b:1"));
    let rig = Rig::watching(&place);
    rig.until(&["a:1"]).await;
    let old = Place::new();
    fs::rename(&place.directory, old.directory.join("old")).expect("it can be moved");
    fs::rename(&new.directory, &place.directory).expect("it can be moved");
    rig.until(&["b:1"]).await;
    place.replace("c:1");
    rig.until(&["c:1"]).await;
}

#[tokio::test]
async fn a_file_that_comes_later_is_read_when_it_comes() {
    let place = Place::new();
    let mut rig = Rig::watching(&place);
    rig.failure(|_| true).await;
    place.replace("a:1");
    rig.until(&["a:1"]).await;
}

/// What the watcher cannot see, the period finds: here the link leads out of the directory.
#[cfg(unix)]
#[tokio::test]
async fn a_change_that_cannot_be_watched_is_found_by_period() {
    let (place, other) = (Place::new(), Place::with("a:1"));
    std::os::unix::fs::symlink(&other.file, &place.file).expect("it can be linked");
    let rig = Rig::new(FileSource::new(&place.file), Duration::from_millis(50));
    rig.until(&["a:1"]).await;
    other.replace("b:1");
    rig.until(&["b:1"]).await;
}

/// As Kubernetes does: the file is a link by way of a link, and the latter is replaced.
#[cfg(unix)]
#[tokio::test]
async fn a_link_in_the_directory_that_is_replaced_is_noticed() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let version = |name: &str, text: &str| {
        let directory = place.directory.join(name);
        fs::create_dir(&directory).expect("it can be created");
        fs::write(directory.join("servers"), text).expect("it can be written");
        symlink(name, place.directory.join("new")).expect("it can be linked");
        let data = place.directory.join("data");
        fs::rename(place.directory.join("new"), data).expect("it can be renamed");
    };
    version("1", "a:1");
    symlink("data/servers", &place.file).expect("it can be linked");
    let rig = Rig::watching(&place);
    rig.until(&["a:1"]).await;
    version("2", "b:1");
    rig.until(&["b:1"]).await;
}

/// As a release that is switched on by a link; the watcher would go on watching the old one.
#[cfg(unix)]
#[tokio::test]
async fn where_a_link_leads_to_another_directory_that_is_watched_from_the_next_look_on() {
    use std::os::unix::fs::symlink;
    let (links, old, new) = (Place::new(), Place::with("a:1"), Place::with("b:1"));
    let current = links.directory.join("current");
    symlink(&old.directory, &current).expect("it can be linked");
    let source = FileSource::new(current.join("servers"));
    source.retrieve().await.expect("it is a list");
    fs::remove_file(&current).expect("it is there");
    symlink(&new.directory, &current).expect("it can be linked");
    let changed = source.changed();
    source.retrieve().await.expect("it is a list");
    new.replace("c:1");
    timeout(LONG, changed).await.expect("it is noticed");
}

/// With keys, by which a server that moves stays the same node.
#[tokio::test]
async fn zookeepers_dynamic_configuration_is_recognised() {
    let place = Place::with("server.1=a:2888:3888;2181\nserver.2=b:2888:3888;2181\nversion=2\n");
    let rig = Rig::watching(&place);
    rig.until(&["a:2181", "b:2181"]).await;
    assert!(rig.client.find_key("2").is_some());
    place.replace("server.1=c:2888:3888;2181\nversion=1\n");
    sleep(Duration::from_millis(100)).await;
    assert_eq!(rig.servers(), ["a:2181", "b:2181"], "it is older");
    place.replace("server.1=a:2888:3888;2181\nversion=3\n");
    rig.until(&["a:2181"]).await;
}

/// A hundred drivers on several threads, and not one that misses the news or asks on its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_clients_share_one_reader() {
    struct Counted(FileSource, Arc<AtomicU32>);
    impl ServerSource for Counted {
        fn retrieve(&self) -> Retrieval {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.retrieve()
        }
        fn changed(&self) -> Changed {
            self.0.changed()
        }
    }
    let (place, count) = (Place::with("a:1"), Arc::new(AtomicU32::new(0)));
    let counted = Counted(FileSource::new(&place.file), Arc::clone(&count));
    let shared = SharedSource::new(counted);
    let hour = Duration::from_secs(3600);
    let rigs: Vec<_> = (0..100).map(|_| Rig::new(shared.clone(), hour)).collect();
    for server in ["a:1", "b:1", "c:1", "d:1", "e:1"] {
        place.replace(server);
        for rig in &rigs {
            rig.until(&[server]).await;
        }
    }
    let count = count.load(Ordering::Relaxed);
    assert!(count <= 50, "{count}; on their own they would need 500");
}

/// Else reading it would lead to reading it.
#[tokio::test]
async fn a_file_that_nobody_changes_is_read_once() {
    let place = Place::with("a:1");
    let rig = Rig::watching(&place);
    rig.until(&["a:1"]).await;
    let _ = fs::read(&place.file);
    fs::write(place.directory.join("another"), "x").expect("it can be written");
    sleep(Duration::from_millis(200)).await;
    assert_eq!(rig.client.stats().refreshes, 1);
}

#[tokio::test]
async fn what_is_no_regular_file_is_refused() {
    let place = Place::new();
    let mut rig = Rig::new(FileSource::new(&place.directory), LONG);
    let error = rig.failure(|_| true).await;
    assert!(
        matches!(error, SourceError::Io { kind, .. } if kind == std::io::ErrorKind::InvalidInput)
    );
}
