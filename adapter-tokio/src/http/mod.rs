//! A server list behind a URL.

mod builder;
mod publish;
mod transport;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hyper::header::HeaderValue;
use redial::driver::{Retrieval, ServerList, ServerSource, SourceError};
use url::Url;

use self::transport::{Document, Transport, place};
pub use self::{
    builder::{HttpError, HttpSourceBuilder},
    publish::{Condition, PublishError},
};

/// A server list behind an HTTP or HTTPS URL, for
/// [`Builder::source`](redial::driver::Builder::source). Feature `http`.
///
/// It is asked for with `GET` at the client's times
/// ([`refresh_interval`](redial::Config::refresh_interval)); a server says nothing by itself. The form
/// of the text is that of [`ServerList::parse`], whose version, if it has one, is the list's.
///
/// ```
/// use std::time::Duration;
///
/// use redial_tokio::HttpSource;
///
/// # fn main() -> Result<(), redial_tokio::HttpError> {
/// let simple = HttpSource::new("https://user:password@config.example/orders/servers")?;
/// let source = HttpSource::builder("https://config.example/orders/servers")
///     .bearer("a token")
///     .default_port(9092)
///     .timeout(Duration::from_secs(3))
///     .build()?;
/// # Ok(())
/// # }
/// ```
///
/// # What it does, and what it does not
///
/// - **Credentials** go to the scheme, host and port of the URL and nowhere else, whatever a redirect
///   says; and over plain `http` only to this machine, unless that is
///   [allowed](HttpSourceBuilder::allow_clear_credentials). They are in no error, no event, no log and
///   no `Debug` text. Nor is the query of a URL, because presigned URLs carry their secret there; the
///   path is.
/// - **An `ETag`** is given back with `If-None-Match`. If the server then says that nothing has changed
///   (304), the last list is the answer again. The tag of a text that was changed in the very second of
///   the answer, by `Last-Modified` and `Date`, is not used: nginx makes tags of a file's length and its
///   time in whole seconds, so that another text of that second may have the same (RFC 9110 8.8.2.2).
/// - **Redirects** are followed, [three](HttpSourceBuilder::max_redirects) in a row, never from `https`
///   to `http`.
/// - **Half a list is none**: a body that ends early is an error, and so is one that does not say
///   where it ends, by `Content-Length` or chunks. One beyond
///   [1 MiB](HttpSourceBuilder::max_bytes) is given up at that point, whatever its length is said to be.
/// - **Nothing is hidden**: no proxy from the environment, no cookies, no compression (none is asked
///   for, and what comes compressed is no text), no connection that is kept, no retry. HTTP/1.1.
/// - **TLS** is rustls with the system's root certificates and those that are
///   [added](HttpSourceBuilder::root_certificate).
///
/// What fails changes nothing; an event says why
/// ([`SourceFailed`](redial::driver::ClientEvent::SourceFailed)).
///
/// A clone is the same source and knows the same last list. It must be used inside of a tokio runtime
/// with I/O and time.
#[derive(Clone)]
pub struct HttpSource {
    shared: Arc<Shared>,
}

struct Shared {
    transport: Transport,
    default_port: u16,
    last: Mutex<Option<Last>>,
}

/// The last list, if the server has tagged it.
#[derive(Clone)]
struct Last {
    /// Where it was in the end: another URL's tags mean something else.
    url: Url,
    etag: HeaderValue,
    list: ServerList,
}

/// What [`HttpSource::fetch`] finds.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Fetched {
    /// The list, or why it is none.
    pub list: Result<ServerList, SourceError>,
    /// The text as it is on the server.
    pub text: Vec<u8>,
    /// Its tag, as the server writes it.
    pub etag: Option<String>,
}

impl HttpSource {
    /// The list at this URL, with basic credentials if it has any (`https://user:password@host/…`,
    /// percent-encoded where need be). Reads the system's root certificates, which takes some
    /// milliseconds.
    ///
    /// # Errors
    ///
    /// [`HttpError`], for what was said wrongly; never for a reason of the network.
    pub fn new(url: &str) -> Result<Self, HttpError> {
        Self::builder(url).build()
    }

    /// The same with settings.
    pub fn builder(url: &str) -> HttpSourceBuilder {
        HttpSourceBuilder::new(url)
    }

    /// The URL, without credentials and query: as errors name it.
    #[must_use]
    pub fn place(&self) -> String {
        place(self.shared.transport.url())
    }

    /// What is there now, whatever was there before: for tools. A client asks by itself.
    ///
    /// # Errors
    ///
    /// As those of a retrieval. That the text is no list is none: it may be about to be replaced.
    pub async fn fetch(&self) -> Result<Fetched, SourceError> {
        let Shared { transport, .. } = &*self.shared;
        let document = transport.get(None).await?;
        let Document {
            url, etag, bytes, ..
        } = document.expect("nothing is known that it could be");
        Ok(Fetched {
            list: ServerList::parse(&bytes, self.shared.default_port, place(&url)),
            text: bytes,
            etag: etag.and_then(|etag| Some(etag.to_str().ok()?.to_owned())),
        })
    }
}

impl Shared {
    async fn retrieve(&self) -> Result<ServerList, SourceError> {
        let last = self.last().clone();
        let known = last.as_ref().map(|last| (&last.url, &last.etag));
        let Some(document) = self.transport.get(known).await? else {
            return Ok(last.expect("it is what was known").list);
        };
        let Document {
            url,
            etag,
            may_share_tag,
            bytes,
        } = document;
        let list = ServerList::parse(bytes, self.default_port, place(&url))?;
        *self.last() = etag.filter(|_| !may_share_tag).map(|etag| {
            let list = list.clone();
            Last { url, etag, list }
        });
        Ok(list)
    }

    fn last(&self) -> MutexGuard<'_, Option<Last>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerSource for HttpSource {
    fn retrieve(&self) -> Retrieval {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.retrieve().await })
    }
}

impl fmt::Debug for HttpSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSource")
            .field("place", &self.place())
            .finish_non_exhaustive()
    }
}
