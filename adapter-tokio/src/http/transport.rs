//! One request and what comes of it: redirects, limits, errors.

use std::{error::Error, io, time::Duration};

use http_body_util::{BodyExt, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::{Body, Bytes, Incoming},
    header::{self, HeaderName, HeaderValue},
};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{self, Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use redial::driver::{RedirectError, SourceError};
use rustls::ClientConfig;
use url::Url;

use super::{HttpError, PublishError};

/// How to ask, and whom.
pub(super) struct Transport {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: Url,
    authorization: Option<HeaderValue>,
    timeout: Duration,
    max_bytes: usize,
    max_redirects: u32,
}

/// What is there.
pub(super) struct Document {
    /// Where it was in the end.
    pub(super) url: Url,
    pub(super) etag: Option<HeaderValue>,
    /// The text is as new as the answer: within the same second another one may get the same tag,
    /// where tags are made of times.
    pub(super) may_share_tag: bool,
    pub(super) bytes: Vec<u8>,
}

impl Transport {
    pub(super) fn new(
        mut url: Url,
        authorization: Option<HeaderValue>,
        tls: ClientConfig,
        timeout: Duration,
        max_bytes: usize,
        max_redirects: u32,
    ) -> Result<Self, HttpError> {
        url.set_fragment(None);
        to_uri(&url).ok_or_else(|| HttpError::Url("too long".to_owned()))?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // A minute between requests: a connection that is kept would mostly be found dead.
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .retry_canceled_requests(false)
            .build(HttpsConnector::from((tcp, tls)));
        Ok(Self {
            client,
            url,
            authorization,
            timeout,
            max_bytes,
            max_redirects,
        })
    }

    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    pub(super) const fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Asks for what is there; none if it is what is known by the tag of that URL.
    pub(super) async fn get(
        &self,
        known: Option<(&Url, &HeaderValue)>,
    ) -> Result<Option<Document>, SourceError> {
        self.in_time(self.follow(known)).await?
    }

    /// Puts this there. Redirects are not followed.
    pub(super) async fn put(
        &self,
        text: Vec<u8>,
        condition: Option<(HeaderName, HeaderValue)>,
    ) -> Result<StatusCode, PublishError> {
        let mut headers = HeaderMap::from_iter(condition);
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, plain);
        let send = self.send(Method::PUT, &self.url, true, headers, text.into());
        let sent = self.in_time(send).await.map_err(PublishError::Unknown)?;
        let response = sent.map_err(|error| match error.is_connect() {
            true => PublishError::Failed(failure(&self.url, &error)),
            false => PublishError::Unknown(failure(&self.url, &error)),
        })?;
        Ok(response.status())
    }

    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, SourceError> {
        let done = tokio::time::timeout(self.timeout, work).await;
        done.map_err(|_| {
            let text = format!("no answer within {:?}", self.timeout);
            let error = io::Error::new(io::ErrorKind::TimedOut, text);
            SourceError::io(place(&self.url), &error)
        })
    }

    async fn follow(
        &self,
        known: Option<(&Url, &HeaderValue)>,
    ) -> Result<Option<Document>, SourceError> {
        let mut url = self.url.clone();
        // Who has sent us elsewhere cannot send our credentials back to where they are good.
        let mut at_home = true;
        let mut redirects = 0;
        loop {
            let mut headers = HeaderMap::new();
            let etag = known.filter(|(of, _)| **of == url).map(|(_, etag)| etag);
            if let Some(etag) = etag {
                headers.insert(header::IF_NONE_MATCH, etag.clone());
            }
            let sent = self.send(Method::GET, &url, at_home, headers, Bytes::new());
            let response = sent.await.map_err(|error| failure(&url, &error))?;
            match response.status() {
                StatusCode::OK => return Ok(Some(self.read(url, response).await?)),
                StatusCode::NOT_MODIFIED if etag.is_some() => return Ok(None),
                StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::SEE_OTHER
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT => {
                    let next = match redirects < self.max_redirects {
                        true => next(&url, response.headers()),
                        false => Err(RedirectError::TooMany {
                            max: self.max_redirects,
                        }),
                    };
                    url = next.map_err(|error| SourceError::Redirect {
                        place: place(&url),
                        error,
                    })?;
                    at_home &= url.origin() == self.url.origin();
                    redirects += 1;
                }
                status => return Err(status_error(&url, status)),
            }
        }
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        at_home: bool,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, legacy::Error> {
        let agent = concat!("redial-tokio/", env!("CARGO_PKG_VERSION"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
        let plain = HeaderValue::from_static("identity");
        headers.insert(header::ACCEPT_ENCODING, plain);
        if let Some(authorization) = self.authorization.as_ref().filter(|_| at_home) {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = to_uri(url).expect("it was checked when it came up");
        *request.headers_mut() = headers;
        self.client.request(request).await
    }

    async fn read(&self, url: Url, response: Response<Incoming>) -> Result<Document, SourceError> {
        let headers = response.headers();
        let says_its_end = response.body().size_hint().exact().is_some() || is_chunked(headers);
        if !says_its_end {
            let text = "the answer does not say where it ends";
            let error = io::Error::new(io::ErrorKind::UnexpectedEof, text);
            return Err(SourceError::io(place(&url), &error));
        }
        let etag = headers.get(header::ETAG).cloned();
        let changed = headers.get(header::LAST_MODIFIED);
        let may_share_tag = changed.is_some() && changed == headers.get(header::DATE);
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        let too_large = || SourceError::TooLarge {
            place: place(&url),
            max: self.max_bytes,
        };
        if body.size_hint().lower() > self.max_bytes as u64 {
            return Err(too_large());
        }
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| failure(&url, &error))?;
            // What is no data is trailers.
            let data = frame.into_data().unwrap_or_default();
            if data.len() > self.max_bytes - bytes.len() {
                return Err(too_large());
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Document {
            url,
            etag,
            may_share_tag,
            bytes,
        })
    }
}

/// Other codings than chunks go on to the end of the connection, whatever length is said as well.
fn is_chunked(headers: &HeaderMap) -> bool {
    let codings = headers
        .get_all(header::TRANSFER_ENCODING)
        .iter()
        .next_back();
    let codings = codings.and_then(|codings| codings.to_str().ok());
    let last = codings.and_then(|codings| codings.rsplit(',').next());
    last.is_some_and(|coding| coding.trim().eq_ignore_ascii_case("chunked"))
}

/// Where this answer sends us.
fn next(url: &Url, headers: &HeaderMap) -> Result<Url, RedirectError> {
    let location = headers.get(header::LOCATION);
    let location = location.and_then(|location| str::from_utf8(location.as_bytes()).ok());
    let next = location.and_then(|location| url.join(location).ok());
    let mut next = next.ok_or(RedirectError::Unusable)?;
    match (url.scheme(), next.scheme()) {
        ("https", "http") => return Err(RedirectError::Insecure),
        (_, "http" | "https") => strip_user(&mut next),
        _ => return Err(RedirectError::Unusable),
    }
    next.set_fragment(None);
    to_uri(&next).ok_or(RedirectError::Unusable)?;
    Ok(next)
}

pub(super) fn strip_user(url: &mut Url) {
    // These fail for URLs without a host, which have no user either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

/// A URL as texts may show it.
pub(super) fn place(url: &Url) -> String {
    let mut url = url.clone();
    strip_user(&mut url);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

fn to_uri(url: &Url) -> Option<Uri> {
    url.as_str().parse().ok()
}

pub(super) fn status_error(url: &Url, status: StatusCode) -> SourceError {
    let (place, code) = (place(url), status.as_u16());
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => SourceError::AccessDenied {
            place,
            status: code,
        },
        _ => SourceError::Status {
            place,
            status: code,
        },
    }
}

/// The innermost cause says what happened; the others only where in the library.
fn failure(url: &Url, error: &(dyn Error + 'static)) -> SourceError {
    let mut kind = io::ErrorKind::Other;
    let mut cause = error;
    loop {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            kind = error.kind();
        } else if let Some(error) = cause.downcast_ref::<hyper::Error>() {
            if error.is_incomplete_message() {
                kind = io::ErrorKind::UnexpectedEof;
            } else if error.is_parse() {
                kind = io::ErrorKind::InvalidData;
            }
        }
        match cause.source() {
            Some(source) => cause = source,
            None => break,
        }
    }
    SourceError::io(place(url), &io::Error::new(kind, cause.to_string()))
}
