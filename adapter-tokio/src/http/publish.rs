//! Writing a list: the other end of the source.

use hyper::{
    StatusCode,
    header::{self, HeaderName, HeaderValue},
};
use redial::driver::{ServerList, SourceError};
use thiserror::Error;

use super::{HttpSource, transport::status_error};

/// When a list may be written.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Condition {
    /// Only if the list that is there has this tag: that of [`Fetched::etag`](super::Fetched::etag),
    /// which must be a strong one.
    Unchanged(String),
    /// Only if there is none.
    Absent,
    /// Whatever is there.
    Always,
}

/// Why a list was not written.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The condition does not hold. Nothing was written.
    #[error("{place}: it is not as expected any more; nothing was written")]
    Changed {
        /// Where it was to be written.
        place: String,
    },
    /// The server takes no lists there. Nothing was written.
    #[error("{place}: the server takes no lists there (status {status}); nothing was written")]
    NotAllowed {
        /// Where it was to be written.
        place: String,
        /// 405 or 501.
        status: u16,
    },
    /// The condition's tag is none, or is a weak one, which says nothing about equality. Nothing was
    /// written.
    #[error("no strong ETag, as \"…\"; nothing was written")]
    Tag,
    /// The text is no list, or too large for one. Nothing was written.
    #[error("{0}; nothing was written")]
    Malformed(SourceError),
    /// The server could not be reached, or refused it with another status. Nothing was written.
    #[error("{0}; nothing was written")]
    Failed(SourceError),
    /// No answer came, or one that does not say: whether it was written is not known.
    #[error("{0}; whether it was written is not known")]
    Unknown(SourceError),
}

impl HttpSource {
    /// Writes this list there, with `PUT`, after checking that it is one, and no larger than what is
    /// [read](super::HttpSourceBuilder::max_bytes). One that ends well is on the server.
    ///
    /// The condition goes along as `If-Match` or `If-None-Match`, and it is the server's to keep to it.
    /// Not all do: nginx's WebDAV module does not look at it.
    ///
    /// Redirects are not followed. Dropped early, it may or may not have written.
    ///
    /// # Errors
    ///
    /// [`PublishError`], which says whether something may have been written.
    pub async fn publish(
        &self,
        text: impl Into<Vec<u8>>,
        condition: &Condition,
    ) -> Result<(), PublishError> {
        let text = text.into();
        let transport = &self.shared.transport;
        let (place, max) = ("the new list", transport.max_bytes());
        if text.len() > max {
            let place = place.to_owned();
            return Err(PublishError::Malformed(SourceError::TooLarge {
                place,
                max,
            }));
        }
        ServerList::parse(&text, self.shared.default_port, place)
            .map_err(PublishError::Malformed)?;
        let status = transport.put(text, condition.header()?).await?;
        let place = self.place();
        match status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => Ok(()),
            StatusCode::PRECONDITION_FAILED => Err(PublishError::Changed { place }),
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => {
                let status = status.as_u16();
                Err(PublishError::NotAllowed { place, status })
            }
            // One that failed on the way, will do it later, or shows elsewhere what came of it.
            _ if status.is_server_error()
                || status.is_success()
                || status == StatusCode::SEE_OTHER =>
            {
                Err(PublishError::Unknown(status_error(transport.url(), status)))
            }
            _ => Err(PublishError::Failed(status_error(transport.url(), status))),
        }
    }
}

impl Condition {
    fn header(&self) -> Result<Option<(HeaderName, HeaderValue)>, PublishError> {
        Ok(match self {
            Self::Always => None,
            Self::Absent => Some((header::IF_NONE_MATCH, HeaderValue::from_static("*"))),
            Self::Unchanged(tag) => {
                let is_strong = tag.len() >= 2 && tag.starts_with('"') && tag.ends_with('"');
                let value = HeaderValue::from_str(tag).ok().filter(|_| is_strong);
                Some((header::IF_MATCH, value.ok_or(PublishError::Tag)?))
            }
        })
    }
}
