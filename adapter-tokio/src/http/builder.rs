//! What an [`HttpSource`] is made of, checked in one place.

use std::{fmt, sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use thiserror::Error;
use url::{Host, Url};

use super::{HttpSource, Shared, transport::Transport};

/// Builds an [`HttpSource`]: [`HttpSource::builder`].
#[derive(Clone)]
#[must_use]
pub struct HttpSourceBuilder {
    url: String,
    credentials: Option<Credentials>,
    clear_credentials: bool,
    default_port: u16,
    timeout: Duration,
    max_bytes: usize,
    max_redirects: u32,
    roots: Vec<Vec<u8>>,
}

#[derive(Clone)]
enum Credentials {
    Basic { user: Vec<u8>, password: Vec<u8> },
    Bearer(String),
}

/// Why there is no [`HttpSource`]: what was said wrongly. None of it repeats what was said.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum HttpError {
    /// It is no URL.
    #[error("not a URL: {0}")]
    Url(String),
    /// It is a URL of something else.
    #[error("the URL's scheme is neither http nor https")]
    Scheme,
    /// Anybody on the way could read the credentials.
    #[error("credentials over plain http to another machine: use https, or allow it")]
    ClearCredentials,
    /// There are some in the URL, and others beside it.
    #[error("there are credentials both in the URL and apart")]
    TwoCredentials,
    /// A token with characters that no header can hold, or a user with a colon in the name.
    #[error("the credentials have characters that they cannot have")]
    Credentials,
    /// A root certificate that cannot be read.
    #[error("not a root certificate in PEM form: {0}")]
    Certificate(String),
}

impl HttpSourceBuilder {
    pub(super) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            credentials: None,
            clear_credentials: false,
            default_port: 0,
            timeout: Duration::from_secs(5),
            max_bytes: 1 << 20,
            max_redirects: 3,
            roots: Vec::new(),
        }
    }

    /// Basic credentials, as they are, not encoded. Replaces earlier ones; together with credentials
    /// in the URL the build fails.
    pub fn basic(mut self, user: &str, password: &str) -> Self {
        self.credentials = Some(Credentials::Basic {
            user: user.into(),
            password: password.into(),
        });
        self
    }

    /// A bearer token. Replaces earlier credentials; together with credentials in the URL the build
    /// fails.
    pub fn bearer(mut self, token: &str) -> Self {
        self.credentials = Some(Credentials::Bearer(token.to_owned()));
        self
    }

    /// Sends credentials over plain `http` also to another machine, where anybody on the way can read
    /// them. Default: only to `localhost` and loopback addresses, or the build fails.
    pub const fn allow_clear_credentials(mut self) -> Self {
        self.clear_credentials = true;
        self
    }

    /// The port of servers that are given without one. Default: 0, which means that each needs its
    /// own. Dynamic configurations always give their ports.
    pub const fn default_port(mut self, port: u16) -> Self {
        self.default_port = port;
        self
    }

    /// How long all of a retrieval may take, with its redirects. Default: 5 s, which is less than the
    /// client's own [`refresh_timeout`](redial::Config::refresh_timeout), so that the event says what
    /// hung. The sooner of both counts.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The largest body, in bytes. Default: 1 MiB. Dynamic configurations are limited to that anyway.
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// How many redirects are followed in a row. Default: 3; with 0 none is.
    pub const fn max_redirects(mut self, redirects: u32) -> Self {
        self.max_redirects = redirects;
        self
    }

    /// Root certificates to trust besides the system's, in PEM form: of a private authority.
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// [`HttpError`], for what was said wrongly; never for a reason of the network.
    pub fn build(self) -> Result<HttpSource, HttpError> {
        let mut url = Url::parse(&self.url).map_err(|error| HttpError::Url(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(HttpError::Scheme);
        }
        let credentials = match (take_credentials(&mut url), self.credentials) {
            (Some(_), Some(_)) => return Err(HttpError::TwoCredentials),
            (in_url, apart) => in_url.or(apart),
        };
        let is_private = url.scheme() == "https" || is_local(&url) || self.clear_credentials;
        if credentials.is_some() && !is_private {
            return Err(HttpError::ClearCredentials);
        }
        let transport = Transport::new(
            url,
            credentials.map(authorization).transpose()?,
            tls(&self.roots)?,
            self.timeout,
            self.max_bytes,
            self.max_redirects,
        )?;
        Ok(HttpSource {
            shared: Arc::new(Shared {
                transport,
                default_port: self.default_port,
                last: None.into(),
            }),
        })
    }
}

impl fmt::Debug for HttpSourceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is no URL yet may have a secret anywhere.
        f.debug_struct("HttpSourceBuilder").finish_non_exhaustive()
    }
}

/// Those in the URL, which has none from then on.
fn take_credentials(url: &mut Url) -> Option<Credentials> {
    let decode = |text: &str| percent_decode_str(text).collect();
    let (user, password) = (url.username(), url.password());
    let credentials = (!user.is_empty() || password.is_some()).then(|| Credentials::Basic {
        user: decode(user),
        password: decode(password.unwrap_or_default()),
    });
    super::transport::strip_user(url);
    credentials
}

fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn authorization(credentials: Credentials) -> Result<HeaderValue, HttpError> {
    let text = match credentials {
        Credentials::Bearer(token) => format!("Bearer {token}"),
        Credentials::Basic { user, .. } if user.contains(&b':') => {
            return Err(HttpError::Credentials);
        }
        Credentials::Basic { user, password } => {
            let pair = [&user[..], b":", &password[..]].concat();
            format!("Basic {}", BASE64_STANDARD.encode(pair))
        }
    };
    let mut header = HeaderValue::from_str(&text).map_err(|_| HttpError::Credentials)?;
    header.set_sensitive(true);
    Ok(header)
}

fn tls(added: &[Vec<u8>]) -> Result<ClientConfig, HttpError> {
    let mut roots = RootCertStore::empty();
    // Where there are none, a handshake will say so; plain http needs none.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for pem in added {
        let mut some = false;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|e| HttpError::Certificate(e.to_string()))?;
            let added = roots.add(certificate);
            added.map_err(|error| HttpError::Certificate(error.to_string()))?;
            some = true;
        }
        if !some {
            return Err(HttpError::Certificate("there is none".to_owned()));
        }
    }
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the suites of both versions");
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}
