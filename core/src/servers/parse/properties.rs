//! The lines of a file of Java properties: keys and values, with comments, escapes and lines that
//! go on.

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::ops::Range;

use super::{Expected, Fault, Piece};

/// Keys and values without escapes.
pub(super) struct Properties {
    /// All of them, each with a line feed behind it, which stands for its end.
    text: String,
    /// For each byte of `text` its offset in the file.
    origins: Vec<u32>,
    pairs: Vec<(Range<usize>, Range<usize>)>,
}

impl Properties {
    /// Reads a text as the documentation of `java.util.Properties.load` says.
    pub(super) fn read(text: &str) -> Result<Self, Fault> {
        let mut lines = Lines { text, at: 0 };
        let mut read = Self {
            text: String::with_capacity(text.len()),
            origins: Vec::with_capacity(text.len()),
            pairs: Vec::new(),
        };
        while lines.begin() {
            let mut next = lines.next()?;
            if next.is_none() {
                continue; // Nothing but a line that goes on with an empty one.
            }
            let key = read.text.len();
            while let Some(c) = next.filter(|c| !c.is_blank() && !c.is_separator()) {
                read.push(c.value, c.at);
                next = lines.next()?;
            }
            let key = read.end(key, next.map_or(lines.at, |c| c.at));
            while next.is_some_and(Char::is_blank) {
                next = lines.next()?;
            }
            if next.is_some_and(Char::is_separator) {
                next = lines.next()?;
                while next.is_some_and(Char::is_blank) {
                    next = lines.next()?;
                }
            }
            let value = read.text.len();
            while let Some(c) = next {
                read.push(c.value, c.at);
                next = lines.next()?;
            }
            let value = read.end(value, lines.at);
            read.pairs.push((key, value));
        }
        Ok(read)
    }

    /// Keys and values in the order of the text; of equal keys the last.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Piece<'_>, Piece<'_>)> {
        let pairs = || self.pairs.iter().enumerate();
        let last: BTreeMap<&str, usize> = pairs()
            .map(|(i, (key, _))| (&self.text[key.clone()], i))
            .collect();
        pairs().filter_map(move |(i, (key, value))| {
            let is_last = last.get(&self.text[key.clone()]) == Some(&i);
            is_last.then(|| (self.piece(key), self.piece(value)))
        })
    }

    /// The same fault, at its place in the file.
    pub(super) fn in_file(&self, fault: Fault) -> Fault {
        let at = self.origins.get(fault.at);
        Fault {
            at: at.map_or(usize::MAX, |&at| at as usize),
            ..fault
        }
    }

    fn piece(&self, range: &Range<usize>) -> Piece<'_> {
        Piece {
            text: &self.text[range.clone()],
            at: range.start,
        }
    }

    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        self.origins.resize(self.text.len(), at as u32);
    }

    fn end(&mut self, start: usize, at: usize) -> Range<usize> {
        let end = self.text.len();
        self.push('\n', at);
        start..end
    }
}

struct Lines<'a> {
    text: &'a str,
    at: usize,
}

/// A character of a line, with the offset where it, or its escape, begins.
#[derive(Clone, Copy)]
struct Char {
    value: char,
    escaped: bool,
    at: usize,
}

impl Char {
    const fn is_blank(self) -> bool {
        !self.escaped && is_blank(self.value)
    }

    const fn is_separator(self) -> bool {
        !self.escaped && matches!(self.value, '=' | ':')
    }
}

impl Lines<'_> {
    /// Goes to the beginning of the next line that is neither empty nor a comment; false if there
    /// is none.
    fn begin(&mut self) -> bool {
        loop {
            self.skip(|c| is_blank(c) || is_line_end(c));
            match self.peek() {
                Some('#' | '!') => self.skip(|c| !is_line_end(c)),
                first => return first.is_some(),
            }
        }
    }

    /// The next character of the line, also where it goes on in the next.
    fn next(&mut self) -> Result<Option<Char>, Fault> {
        loop {
            let at = self.at;
            let Some(first) = self.peek().filter(|&c| !is_line_end(c)) else {
                return Ok(None);
            };
            self.bump();
            let escaped = first == '\\';
            let value = match (escaped, self.peek()) {
                (false, _) => first,
                (true, None) => return Ok(None),
                (true, Some(c)) => {
                    self.bump();
                    match c {
                        '\r' | '\n' => {
                            if c == '\r' && self.peek() == Some('\n') {
                                self.bump();
                            }
                            self.skip(is_blank);
                            continue;
                        }
                        'u' => self.unicode()?,
                        't' => '\t',
                        'n' => '\n',
                        'r' => '\r',
                        'f' => '\x0c',
                        c => c,
                    }
                }
            };
            return Ok(Some(Char { value, escaped, at }));
        }
    }

    /// The character whose four hexadecimal digits follow. (Half of a surrogate pair is none: it
    /// could stand nowhere in what is read from here.)
    fn unicode(&mut self) -> Result<char, Fault> {
        let at = self.at;
        let expected = Expected::Escape;
        let digits = self.text.get(at..at + 4).unwrap_or_default();
        self.at += digits.len();
        // A sign would be read as part of the number.
        let all_digits = digits.bytes().all(|c| c.is_ascii_hexdigit());
        let code = u32::from_str_radix(digits, 16).ok().filter(|_| all_digits);
        code.and_then(char::from_u32).ok_or(Fault { at, expected })
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        self.at = self.text.len() - self.text[self.at..].trim_start_matches(skipped).len();
    }
}

const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\x0c')
}

const fn is_line_end(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        let read = Properties::read(text).unwrap_or_else(|_| panic!("{text:?} is not read"));
        read.pairs()
            .map(|(key, value)| (key.text.to_string(), value.text.to_string()))
            .collect()
    }

    #[test]
    fn keys_and_values_are_separated_as_java_does() {
        for (text, key, value) in [
            ("a=b", "a", "b"),
            ("a:b", "a", "b"),
            ("a b", "a", "b"),
            ("a\t\x0c b", "a", "b"),
            (" \t\x0ca = b", "a", "b"),
            ("a : b", "a", "b"),
            ("a==b", "a", "=b"),
            ("a=:b", "a", ":b"),
            ("a b=c", "a", "b=c"),
            ("a = = b", "a", "= b"),
            ("a=b ", "a", "b "),
            ("a=b#c!", "a", "b#c!"),
            ("a#=b", "a#", "b"),
            ("a", "a", ""),
            ("a=", "a", ""),
            ("=b", "", "b"),
            ("ü=€", "ü", "€"),
        ] {
            assert_eq!(pairs(text), [(key.into(), value.into())], "{text:?}");
        }
    }

    #[test]
    fn a_backslash_escapes() {
        for (text, key, value) in [
            (r"a\=b=c", "a=b", "c"),
            (r"a\:b\ c d", "a:b c", "d"),
            (r"a=\ b", "a", " b"),
            (r"a=\t\n\r\f|", "a", "\t\n\r\x0c|"),
            (r"a=\b\q\\\#", "a", r"bq\#"),
            (r"a=\u0062\u20aC\u00fc", "a", "b€ü"),
            (r"\u003d\#=b", "=#", "b"),
            (r"\#a=b", "#a", "b"),
        ] {
            assert_eq!(pairs(text), [(key.into(), value.into())], "{text}");
        }
    }

    #[test]
    fn a_line_that_ends_with_a_backslash_goes_on_without_blanks() {
        for (text, key, value) in [
            ("a=b\\\n \t c", "a", "bc"),
            ("a=b\\\r\nc", "a", "bc"),
            ("a=b\\\rc", "a", "bc"),
            ("a=b \\\n#c", "a", "b #c"),
            ("a\\\n  b=c", "ab", "c"),
            ("a \\\n = \\\n b", "a", "b"),
            ("\\\n\\\n a=b", "a", "b"),
            ("a=b\\", "a", "b"),
            ("a=b\\\n", "a", "b"),
            ("a=b\\\n\n", "a", "b"),
        ] {
            assert_eq!(pairs(text), [(key.into(), value.into())], "{text:?}");
        }
        let evenly = "a=b\\\\\nc=d";
        assert_eq!(pairs(evenly).len(), 2, "an escaped backslash ends no line");
    }

    #[test]
    fn comments_and_empty_lines_are_passed_over() {
        for text in [
            "",
            "\n \n\t\r\n",
            "#a=b",
            "  ! a=b\\\n",
            "# a\r! b\r\n#",
            "\\\n\n",
            "\\",
        ] {
            assert_eq!(pairs(text), [], "{text:?}");
        }
        let comment = "# goes not on\\\na=b\n#\nc=d";
        assert_eq!(pairs(comment).len(), 2);
    }

    #[test]
    fn of_equal_keys_the_last_counts_where_it_stands() {
        let expected = [("b", "2"), ("a", "3"), ("c", "4")];
        let expected = expected.map(|(key, value)| (key.into(), value.into()));
        assert_eq!(pairs("a=1\nb=2\n\\u0061=3\nc=4"), expected);
    }

    #[test]
    fn what_follows_a_u_is_four_hexadecimal_digits_of_a_character() {
        for (text, at) in [
            (r"a=\u", 4),
            (r"a=\u12", 4),
            (r"a=\u12g4", 4),
            (r"a=\u+123", 4),
            (r"a=\ud83d\ude00", 4),
            (r"a=b\u€", 5),
        ] {
            let fault = Properties::read(text).err();
            assert_eq!(fault.map(|fault| fault.at), Some(at), "{text}");
        }
    }

    #[test]
    fn every_piece_knows_where_it_stands_in_the_file() {
        let text = "# c\na\\u0062\\\r\n  c = \\td\\=\nz";
        let read = Properties::read(text).ok().unwrap();
        let (key, value) = read.pairs().next().unwrap();
        let at = |at| {
            let fault = Fault {
                at,
                expected: Expected::Key,
            };
            &text[read.in_file(fault).at..]
        };
        assert_eq!((key.text, value.text), ("abc", "\td="));
        assert!(at(key.at).starts_with("a\\u0062"));
        assert!(at(key.at + 1).starts_with("\\u0062"));
        assert!(at(key.at + 2).starts_with("c ="));
        assert!(at(key.end().at).starts_with(" ="));
        assert!(at(value.at).starts_with("\\td"));
        assert!(at(value.at + 1).starts_with("d\\="));
        assert!(at(value.end().at).starts_with("\nz"));
    }
}
