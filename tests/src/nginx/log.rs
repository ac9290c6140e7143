//! What nginx has written about its requests.

/// A request that has ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Logged {
    /// When it ended, in seconds of nginx's clock, to the millisecond.
    pub end: f64,
    /// How long it took, in seconds.
    pub took: f64,
    /// The status; 499 if the client had left before.
    pub status: u16,
    /// The method.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// The header of this name, or `-`.
    pub authorization: String,
    /// The header of this name, or `-`.
    pub if_none_match: String,
}

/// In nginx's words.
pub(super) const FORMAT: &str = "$msec\t$request_time\t$status\t$request_method\t$request_uri\t\
    $http_authorization\t$http_if_none_match";

impl Logged {
    /// When it began.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.end - self.took
    }

    pub(super) fn parse(line: &str) -> Self {
        let fields: Vec<_> = line.split('\t').collect();
        let [
            end,
            took,
            status,
            method,
            target,
            authorization,
            if_none_match,
        ] = fields[..]
        else {
            panic!("{line}");
        };
        Self {
            end: end.parse().expect("seconds"),
            took: took.parse().expect("seconds"),
            status: status.parse().expect("a status"),
            method: method.to_owned(),
            target: target.to_owned(),
            authorization: authorization.to_owned(),
            if_none_match: if_none_match.to_owned(),
        }
    }
}
