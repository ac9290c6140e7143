//! Halves of surrogate pairs, which a string of Java may hold alone and one of Rust may not.

/// A line of JSON in which each lone half is U+FFFD, as wherever Rust reads UTF-16 with loss.
pub(super) fn replace_lone(line: &str) -> String {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        replaced.push_str(before);
        let pair = (code_unit(escape), escape.get(6..).and_then(code_unit));
        let (written, length) = match pair {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (&escape[..12], 12),
            (Some(0xd800..=0xdfff), _) => ("\\ufffd", 6),
            // Also `\\`, so that the second backslash begins nothing.
            _ => {
                let length = escape
                    .char_indices()
                    .nth(2)
                    .map_or(escape.len(), |(at, _)| at);
                (&escape[..length], length)
            }
        };
        replaced.push_str(written);
        rest = &escape[length..];
    }
    replaced + rest
}

/// The code unit of the escape, a backslash, `u` and four digits, that the text begins with.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_without_their_other_half_are_replaced() {
        for (line, expected) in [
            (r"plain é", r"plain é"),
            (r"\ud83d\ude00", r"\ud83d\ude00"),
            (r"a\ud800", r"a\ufffd"),
            (r"a\uDFFFb", r"a\ufffdb"),
            (r"\ud800\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\ude00\ud83d", r"\ufffd\ufffd"),
            (r"\ud800\u0041", r"\ufffd\u0041"),
            (r"\\ud800", r"\\ud800"),
            (r"\\\ud800", r"\\\ufffd"),
            (r#"\"\n\ud7ff\ue000"#, r#"\"\n\ud7ff\ue000"#),
            (r"\", r"\"),
            (r"\ud8", r"\ud8"),
            (r"\é", r"\é"),
        ] {
            assert_eq!(replace_lone(line), expected, "{line}");
        }
    }
}
