//! A file with a server list.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use redial::{
    ConnectString, DynamicConfig, NodeSpec, ParseError, Servers,
    driver::{Changed, Retrieval, ServerList, ServerSource, SourceError},
};
use tokio::{sync::watch, task::spawn_blocking};

/// The largest file that is read, in bytes: 1 MiB.
const MAX_BYTES: usize = 1 << 20;

/// A file with a server list, for [`Builder::source`](redial::driver::Builder::source). Feature
/// `file`.
///
/// It is read when it changes and at the client's times
/// ([`refresh_interval`](redial::Config::refresh_interval)). Its directory is watched, so it may be
/// replaced by renaming another file over it, which is how it should be written: one that is written
/// in place may be read half-way, and half a list is a list. Where the system cannot watch, as on some
/// network file systems, or while there is no such directory, only the times count.
///
/// The form is told by the first line that is neither blank nor a comment:
///
/// - With a `=` that no slash precedes it is ZooKeeper's dynamic configuration, as [`DynamicConfig`]
///   reads it, with keys, and with a version if it gives one.
/// - Else each line is a [`ConnectString`]: one server, or several with commas between them. Blank
///   lines and lines that begin with `#` are passed over, and so is a path after the servers. A server
///   without port gets the [default port](Self::default_port).
///
/// A file that cannot be read, is larger than 1 MiB or holds no list changes nothing; an event says
/// why ([`SourceFailed`](redial::driver::ClientEvent::SourceFailed)), with the path, the line and the
/// column. So does `dns-srv://`, which names no servers but where to ask for them: that is for
/// `SrvSource`, of the feature `dns`.
///
/// A clone is the same file, with the same watcher. It is read on tokio's blocking threads, so it must
/// be used inside of a tokio runtime. One that can hang, as on a network file system, costs one of
/// these threads for each retrieval that has timed out.
///
/// ```
/// use redial_tokio::FileSource;
///
/// let source = FileSource::new("/etc/orders/servers").default_port(9092);
/// # let _ = source;
/// ```
#[derive(Clone, Debug)]
pub struct FileSource {
    path: PathBuf,
    default_port: u16,
    watched: Arc<Watched>,
}

impl FileSource {
    /// The file at this path, which need not exist yet. A relative one is looked up in the directory
    /// that is current when it is read.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            default_port: 0,
            watched: Arc::default(),
        }
    }

    /// The port of servers that are given without one. Default: 0, which means that each needs its
    /// own. Dynamic configurations always give their ports.
    #[must_use]
    pub const fn default_port(mut self, port: u16) -> Self {
        self.default_port = port;
        self
    }
}

impl ServerSource for FileSource {
    fn retrieve(&self) -> Retrieval {
        let file = self.clone();
        Box::pin(async move {
            let read = spawn_blocking(move || {
                file.watched.watch(&file.path);
                read(&file.path, file.default_port)
            });
            read.await.map_err(SourceError::other)?
        })
    }

    fn changed(&self) -> Changed {
        let mut changes = self.watched.changes.subscribe();
        Box::pin(async move {
            if changes.changed().await.is_err() {
                // The source is gone.
                std::future::pending::<()>().await;
            }
        })
    }
}

/// The watcher, and who is told.
#[derive(Default, Debug)]
struct Watched {
    changes: Arc<watch::Sender<()>>,
    watcher: Mutex<Option<RecommendedWatcher>>,
    /// The directory is gone, so the watcher sees nothing any more.
    lost: Arc<AtomicBool>,
}

impl Watched {
    /// Watches the file's directory, unless it does already; where that is not possible the next
    /// retrieval tries again.
    fn watch(&self, path: &Path) {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lost.swap(false, Ordering::SeqCst) {
            *watcher = None;
        }
        if watcher.is_none() {
            *watcher = self.new_watcher(path).ok();
        }
    }

    fn new_watcher(&self, path: &Path) -> notify::Result<RecommendedWatcher> {
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let (changes, lost) = (Arc::clone(&self.changes), Arc::clone(&self.lost));
        let (file, of_directory) = (path.to_owned(), directory.to_owned());
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if let Ok(event) = &event
                && !concerns(event, &file)
            {
                let gone = matches!(event.kind, EventKind::Remove(_));
                if !gone || !event.paths.contains(&of_directory) {
                    return;
                }
                lost.store(true, Ordering::SeqCst);
            }
            changes.send_replace(());
        })?;
        watcher.watch(directory, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    }
}

/// Whether the file may be another after this event in its directory. That it is read does not
/// count, or reading it would lead to reading it. Where it is a link, what it leads to may be
/// another link in the directory.
fn concerns(event: &Event, file: &Path) -> bool {
    let is_change = match event.kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    };
    let names_it = |path: &PathBuf| path.file_name() == file.file_name();
    is_change
        && (event.need_rescan()
            || event.paths.iter().any(names_it)
            || fs::symlink_metadata(file).is_ok_and(|data| data.is_symlink()))
}

fn read(path: &Path, default_port: u16) -> Result<ServerList, SourceError> {
    let place = || path.display().to_string();
    let io_error = |error| SourceError::io(path.display(), &error);
    let malformed = |error| SourceError::Malformed {
        place: place(),
        error,
    };
    let bytes = read_bytes(path).map_err(io_error)?;
    if bytes.len() > MAX_BYTES {
        return Err(SourceError::TooLarge {
            place: place(),
            max: MAX_BYTES,
        });
    }
    let text = str::from_utf8(&bytes)
        .map_err(|error| io_error(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    if is_dynamic(text) {
        let config = DynamicConfig::parse(text).map_err(malformed)?;
        let mut list = ServerList::new(config.nodes());
        list.version = config.version.and_then(|version| version.try_into().ok());
        return Ok(list);
    }
    let nodes = list(text, default_port).map_err(malformed)?;
    nodes
        .map(ServerList::new)
        .ok_or_else(|| SourceError::Indirect { place: place() })
}

/// At most a byte more than is allowed.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    // To open a pipe could wait for ever.
    if !fs::metadata(path)?.is_file() {
        let error = "it is not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
    }
    let mut bytes = Vec::new();
    let limit = MAX_BYTES as u64 + 1;
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_dynamic(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', '!']));
    let mark = first.and_then(|line| line.chars().find(|c| matches!(c, '=' | '/')));
    mark == Some('=')
}

/// The servers of all lines, each once; none if a line names where to ask for them.
fn list(text: &str, default_port: u16) -> Result<Option<Vec<NodeSpec>>, ParseError> {
    let (mut nodes, mut known) = (Vec::new(), BTreeSet::new());
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let parsed = ConnectString::parse(line, default_port);
        let parsed = parsed.map_err(|error| ParseError {
            line: number,
            ..error
        })?;
        let Servers::Listed(servers) = parsed.servers else {
            return Ok(None);
        };
        for server in servers {
            if known.insert(server.clone()) {
                nodes.push(NodeSpec::new(server));
            }
        }
    }
    if nodes.is_empty() {
        // Says what is missing.
        ConnectString::parse("", default_port)?;
    }
    Ok(Some(nodes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(text: &str) -> Result<Vec<String>, (u32, u32)> {
        match list(text, 7) {
            Ok(nodes) => Ok(nodes
                .unwrap_or_default()
                .iter()
                .map(|node| node.endpoint.to_string())
                .collect()),
            Err(error) => Err((error.line, error.column)),
        }
    }

    #[test]
    fn lines_and_commas_separate_servers_and_errors_have_their_place() {
        for (text, expected) in [
            ("a:1", Ok(vec!["a:1"])),
            ("a:1,b\n", Ok(vec!["a:1", "b:7"])),
            ("# ours\r\n\r\n a:1 \r\nb:2\r\na:1", Ok(vec!["a:1", "b:2"])),
            ("a:1/app=x", Ok(vec!["a:1"])),
            ("dns-srv://x", Ok(vec![])),
            ("", Err((1, 1))),
            ("# none\n", Err((1, 1))),
            ("a:1\n\nb:2,c d", Err((3, 5))),
        ] {
            let expected = expected.map(|list: Vec<_>| list.into_iter().map(Into::into).collect());
            assert_eq!(endpoints(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_assignment_makes_a_dynamic_configuration() {
        for (text, expected) in [
            ("server.1=a:2888:3888;2181", true),
            ("\n# a comment\n! another\nversion = 1f", true),
            ("a:1", false),
            ("a:1/x=y", false),
            ("# version=1\na:1", false),
            ("", false),
        ] {
            assert_eq!(is_dynamic(text), expected, "{text:?}");
        }
    }
}
