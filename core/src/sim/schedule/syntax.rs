//! What a schedule's text should have had, and the words of a line.

use thiserror::Error;

/// A text that is no schedule: the first place where it cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("line {line}, column {column}: expected {expected}")]
pub struct ScheduleError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What should have stood there.
    pub expected: Expected,
}

/// What a schedule's text should have had at a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[non_exhaustive]
pub enum Expected {
    /// The first word of a line.
    #[error("`seed`, `servers`, `lasts` or `at`")]
    Line,
    /// The text ends, and this line was missing.
    #[error("a line that begins with `{0}`")]
    Setting(&'static str),
    /// This line comes a second time.
    #[error("`{0}` only once")]
    Once(&'static str),
    /// A seed.
    #[error("a whole number below 2^64")]
    Number64,
    /// A number of servers, of a server, or of bytes a second.
    #[error("a whole number below 2^32")]
    Number32,
    /// A duration.
    #[error("a duration of whole nanoseconds, such as `1h30m`, `12.5s` or `200ms`")]
    Duration,
    /// When a fault begins.
    #[error("a duration of whole nanoseconds, such as `1h30m` or `12.5s`, under 584 years")]
    Time,
    /// After the time of a fault that is not instant.
    #[error("`for` and a duration")]
    For,
    /// Whom a fault strikes.
    #[error("`all`, or `server` and its number")]
    Target,
    /// A fault.
    #[error("the name of a fault, such as `crash`")]
    Fault,
    /// A direction.
    #[error("`to-server`, `to-client` or `both`")]
    Way,
    /// This very word.
    #[error("`{0}`")]
    Word(&'static str),
    /// More stands there.
    #[error("the end of the line")]
    End,
}

/// The words of a line, one after the other.
pub(super) struct Words<'a> {
    /// From 1.
    line: usize,
    text: &'a str,
    /// Where in the text the next word begins, or its end.
    at: usize,
}

impl<'a> Words<'a> {
    /// The line may have a comment.
    pub(super) fn new(line: usize, text: &'a str) -> Self {
        let end = text.find('#').unwrap_or(text.len());
        let text = text[..end].trim_end();
        let mut words = Self { line, text, at: 0 };
        words.skip_blanks();
        words
    }

    /// The next word, which stays; empty at the end.
    pub(super) fn peek(&self) -> &'a str {
        let rest = &self.text[self.at..];
        rest.split(char::is_whitespace).next().unwrap_or(rest)
    }

    fn advance(&mut self) {
        self.at += self.peek().len();
        self.skip_blanks();
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
    }

    /// Something else should have stood where the next word begins.
    pub(super) fn wrong(&self, expected: Expected) -> ScheduleError {
        ScheduleError {
            line: self.line,
            column: self.text[..self.at].chars().count() + 1,
            expected,
        }
    }

    /// The next word as something, if it is that.
    pub(super) fn read<T>(
        &mut self,
        expected: Expected,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, ScheduleError> {
        let value = parse(self.peek()).ok_or_else(|| self.wrong(expected))?;
        self.advance();
        Ok(value)
    }

    /// Goes past the next word if it is this one.
    pub(super) fn skip(&mut self, word: &str) -> bool {
        let is_next = self.peek() == word;
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn expect(&mut self, word: &'static str) -> Result<(), ScheduleError> {
        match self.skip(word) {
            true => Ok(()),
            false => Err(self.wrong(Expected::Word(word))),
        }
    }

    pub(super) fn end(&self) -> Result<(), ScheduleError> {
        match self.peek().is_empty() {
            true => Ok(()),
            false => Err(self.wrong(Expected::End)),
        }
    }
}
