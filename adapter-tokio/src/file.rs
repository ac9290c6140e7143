//! A file with a server list.

use std::{
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
    event::{AccessKind, AccessMode, ModifyKind},
};
use redial::driver::{Changed, Retrieval, ServerList, ServerSource, SourceError};
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
/// network file systems, or while there is no such directory, only the times count; so they do for a
/// link on the way to the directory that is made to lead elsewhere, after which that is watched.
///
/// The form is that of [`ServerList::parse`]: ZooKeeper's dynamic configuration, or servers, one or
/// several a line.
///
/// A file that cannot be read, is larger than 1 MiB or holds no list changes nothing; an event says
/// why ([`SourceFailed`](redial::driver::ClientEvent::SourceFailed)), with the path, the line and the
/// column. So does `dns-srv://`, which names no servers but where to ask for them: that is for
/// `SrvSource`, of the feature `dns`.
///
/// A clone is the same file, with the same watcher; another source, even of the same file, has another,
/// with a thread of its own. Linux allows a user 128 of them by default (`max_user_instances` of
/// inotify), and beyond that only the times count: give many clients clones, or a
/// [`SharedSource`](redial::driver::SharedSource). A file is read on tokio's blocking threads, so it must
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
    watching: Mutex<Option<Watching>>,
    /// The directory is gone, so the watcher sees nothing any more.
    lost: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Watching {
    /// Where the path's links lead: of them the watcher sees nothing.
    directory: PathBuf,
    _watcher: RecommendedWatcher,
}

impl Watched {
    /// Watches the file's directory, unless it does already; where that is not possible the next
    /// retrieval tries again.
    fn watch(&self, path: &Path) {
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = fs::canonicalize(directory(path)).ok();
        let is_lost = self.lost.swap(false, Ordering::SeqCst);
        watching.take_if(|watching| is_lost || directory.as_ref() != Some(&watching.directory));
        if watching.is_none()
            && let Some(directory) = directory
            && let Ok(watcher) = self.new_watcher(path)
        {
            *watching = Some(Watching {
                directory,
                _watcher: watcher,
            });
        }
    }

    fn new_watcher(&self, path: &Path) -> notify::Result<RecommendedWatcher> {
        let directory = directory(path);
        let (changes, lost) = (Arc::clone(&self.changes), Arc::clone(&self.lost));
        let (file, of_directory) = (path.to_owned(), directory.to_owned());
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if let Ok(event) = &event
                && !concerns(event, &file)
            {
                // Removed, or moved away; then the watcher would go with it.
                let gone = matches!(
                    event.kind,
                    EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
                );
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

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
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
    let bytes = read_bytes(path).map_err(|error| SourceError::io(path.display(), &error))?;
    if bytes.len() > MAX_BYTES {
        return Err(SourceError::TooLarge {
            place: path.display().to_string(),
            max: MAX_BYTES,
        });
    }
    ServerList::parse(bytes, default_port, path.display())
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
