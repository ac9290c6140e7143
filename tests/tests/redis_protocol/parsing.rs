//! Frames and the values in them.

use std::{
    slice,
    time::{Duration, Instant},
};

use proptest::prelude::*;
use redial_tests::redis::{
    command,
    resp::{Redis, Value},
    string,
};

use crate::rig::{Rig, Seen};

/// A frame, and the value in it.
fn frames() -> Vec<(&'static [u8], Value)> {
    use Value::{Array, Boolean, Double, Error, Integer, Map, Null, Status};
    vec![
        (b"+OK\r\n", Status("OK".into())),
        (b"+\r\n", Status("".into())),
        (b"-ERR no\r\n", Error("ERR no".into())),
        (b":-12\r\n", Integer(-12)),
        (b":9223372036854775807\r\n", Integer(i64::MAX)),
        (b"$5\r\nhello\r\n", string("hello")),
        (b"$0\r\n\r\n", string("")),
        (b"$4\r\n\r\n+\n\r\n", string("\r\n+\n")),
        (b"$-1\r\n", Null),
        (b"*-1\r\n", Null),
        (b"_\r\n", Null),
        (b",1.5\r\n", Double(1.5)),
        (b",-inf\r\n", Double(f64::NEG_INFINITY)),
        (b",1e+20\r\n", Double(1e20)),
        (b"#t\r\n", Boolean(true)),
        (b"#f\r\n", Boolean(false)),
        (b"(12345678901234567890\r\n", string("12345678901234567890")),
        (b"!6\r\nERR no\r\n", Error("ERR no".into())),
        (b"=8\r\ntxt:some\r\n", string("some")),
        (b"*0\r\n", Array(vec![])),
        (
            b"*3\r\n:1\r\n$-1\r\n*1\r\n+x\r\n",
            Array(vec![Integer(1), Null, Array(vec![Status("x".into())])]),
        ),
        (b"~1\r\n#t\r\n", Array(vec![Boolean(true)])),
        (b"%0\r\n", Map(vec![])),
        (
            b"%2\r\n+a\r\n*2\r\n:1\r\n:2\r\n$1\r\nb\r\n%1\r\n_\r\n#f\r\n",
            Map(vec![
                (Status("a".into()), Array(vec![Integer(1), Integer(2)])),
                (string("b"), Map(vec![(Null, Boolean(false))])),
            ]),
        ),
        // Attributes comment on the value behind them.
        (b"|1\r\n+ttl\r\n*1\r\n:5\r\n:7\r\n", Integer(7)),
        (
            b"|0\r\n|1\r\n|1\r\n+a\r\n+b\r\n+c\r\n$1\r\nd\r\n:8\r\n",
            Integer(8),
        ),
        (
            b"*1\r\n|1\r\n+a\r\n$1\r\nb\r\n:9\r\n",
            Array(vec![Integer(9)]),
        ),
    ]
}

/// Bytes that are no frame, and why.
const GARBAGE: [(&[u8], &str); 22] = [
    (b"HTTP/1.1 400 Bad Request\r\n", "unknown kind of value"),
    (b"\r\n", "a line that is empty or ends without CR"),
    (b"\n", "a line that is empty or ends without CR"),
    (b"+OK\n", "a line that is empty or ends without CR"),
    (b":\r\n", "not a number"),
    (b":1.5\r\n", "not a number"),
    (b":9223372036854775808\r\n", "not a number"),
    (b",one\r\n", "not a number"),
    (b"#x\r\n", "not a boolean or a null"),
    (b"_x\r\n", "not a boolean or a null"),
    (b"$\r\n", "not a length"),
    (b"$-2\r\n", "not a length"),
    (b"*one\r\n", "not a length"),
    (b"%-1\r\n", "not a length"),
    (b"$?\r\n", "not a length"),
    (b"$1\r\nab\r\n", "a string that does not end where it says"),
    (b"=3\r\ntxt\r\n", "a verbatim string without its format"),
    (b"=4\r\ntext\r\n", "a verbatim string without its format"),
    (b"*1\r\n>1\r\n+a\r\n", "a push inside of a value"),
    (b"$18446744073709551615\r\n", "frame over the limit"),
    (b"*18446744073709551615\r\n", "frame over the limit"),
    (b"%9223372036854775808\r\n", "frame over the limit"),
];

/// The reply that these pieces give to a command.
fn reply(pieces: &[&[u8]]) -> Vec<Value> {
    let mut rig = Rig::resp3();
    let id = rig.send(command("PING"));
    let value = |seen| match seen {
        Seen::Reply(request, value) if request == id => value,
        other => panic!("{other:?}"),
    };
    pieces
        .iter()
        .flat_map(|piece| rig.read(piece))
        .map(value)
        .collect()
}

#[test]
fn each_kind_of_value_is_read() {
    for (bytes, expected) in frames() {
        assert_eq!(reply(&[bytes]), [expected], "{:?}", bytes.escape_ascii());
    }
}

#[test]
fn values_are_the_same_however_their_bytes_are_split() {
    for (bytes, expected) in frames() {
        for split in 0..=bytes.len() {
            let (first, second) = bytes.split_at(split);
            assert_eq!(reply(&[first, second]), slice::from_ref(&expected));
        }
        let single: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(reply(&single), [expected]);
    }
}

#[test]
fn garbage_ends_the_connection_however_it_is_split() {
    for (bytes, reason) in GARBAGE {
        for split in 0..bytes.len() {
            let mut rig = Rig::resp3();
            rig.send(command("PING"));
            let (first, second) = bytes.split_at(split);
            let mut seen = rig.read(first);
            seen.extend(rig.read(second));
            assert_eq!(
                seen.first(),
                Some(&Seen::Malformed(reason)),
                "{:?} at {split}",
                bytes.escape_ascii()
            );
        }
    }
}

/// A string, a line, an array and an attribute of so many bytes.
fn of_size(size: usize) -> [Vec<u8>; 4] {
    let string = |length: usize| format!("${length}\r\n{}\r\n", "x".repeat(length));
    let line = format!("+{}\r\n", "x".repeat(size - 3));
    let array = format!("*10\r\n{}{}", "_\r\n".repeat(9), string(size - 32 - 6 - 2));
    let attribute = format!("|1\r\n_\r\n{}_\r\n", string(size - 4 - 3 - 3 - 6 - 2 + 3));
    [
        string(size - 7).into_bytes(),
        line.into_bytes(),
        array.into_bytes(),
        attribute.into_bytes(),
    ]
}

#[test]
fn a_frame_may_have_as_many_bytes_as_the_limit_and_no_more() {
    for frame in of_size(100) {
        let read = |limit: usize| {
            let mut rig = Rig::ready(Redis::new().max_frame(limit), b"%0\r\n");
            rig.send(command("PING"));
            rig.read(&frame)
        };
        let fits = read(frame.len());
        assert!(matches!(fits[..], [Seen::Reply(..)]), "{fits:?}");
        let over = read(frame.len() - 1);
        assert_eq!(over[0], Seen::Malformed("frame over the limit"));
    }
}

#[test]
fn a_frame_over_the_limit_is_refused_when_it_is_announced() {
    let announcements: [&[u8]; 5] = [
        b"$100\r\n",
        b"*40\r\n",
        b"%20\r\n",
        b"|20\r\n",
        b"*20\r\n*20\r\n",
    ];
    for announcement in announcements {
        let mut rig = Rig::ready(Redis::new().max_frame(100), b"%0\r\n");
        rig.send(command("PING"));
        let seen = rig.read(announcement);
        assert_eq!(seen[0], Seen::Malformed("frame over the limit"));
    }
    let mut rig = Rig::ready(Redis::new().max_frame(100), b"%0\r\n");
    rig.send(command("PING"));
    assert_eq!(rig.read(&[b'+'; 100]), []);
    assert_eq!(rig.read(b"+")[0], Seen::Malformed("frame over the limit"));
}

#[test]
fn what_is_wrong_with_a_line_over_the_limit_does_not_depend_on_how_much_of_it_is_there() {
    let line = [&[b'+'; 150][..], b"\n"].concat();
    for piece in [1, 99, 100, 101, 150, 151] {
        let mut rig = Rig::ready(Redis::new().max_frame(100), b"%0\r\n");
        let seen: Vec<_> = line
            .chunks(piece)
            .flat_map(|piece| rig.read(piece))
            .collect();
        assert_eq!(seen[0], Seen::Malformed("frame over the limit"), "{piece}");
    }
}

#[test]
fn values_nest_64_deep_and_no_deeper() {
    let nested = |levels: usize| format!("{}_\r\n", "*1\r\n".repeat(levels)).into_bytes();
    assert_eq!(reply(&[&nested(64)]).len(), 1);

    let mut rig = Rig::resp3();
    rig.send(command("PING"));
    assert_eq!(
        rig.read(&nested(65))[0],
        Seen::Malformed("nested too deeply")
    );
}

#[test]
fn attributes_of_attributes_take_no_stack() {
    let bytes = format!("{}{}", "|1\r\n".repeat(100_000), "_\r\n".repeat(200_001));
    assert_eq!(reply(&[bytes.as_bytes()]), [Value::Null]);
}

/// If each piece had what came before looked at anew, this would take hours.
#[test]
fn long_replies_in_small_pieces_take_linear_time() {
    let elements = 1_000_000;
    let array = format!("*{elements}\r\n{}", "$1\r\nx\r\n".repeat(elements));
    let line = "x".repeat(16_000_000);
    for (bytes, expected) in [
        (array, Value::Array(vec![string("x"); elements])),
        (format!("+{line}\r\n"), Value::Status(line.into())),
    ] {
        let start = Instant::now();
        let pieces: Vec<_> = bytes.as_bytes().chunks(64).collect();
        assert!(reply(&pieces) == [expected]);
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}

/// Bytes that often look like frames.
fn almost_frames() -> impl Strategy<Value = Vec<u8>> {
    let whole = prop::sample::select(frames()).prop_map(|(bytes, _)| bytes.to_vec());
    let alphabet = b"+-:$*_,#!=(%~>|\r\n0123456789tfx ";
    let piece = prop_oneof![
        4 => whole,
        1 => Just(b">2\r\n+a\r\n:1\r\n".to_vec()),
        1 => prop::collection::vec(prop::sample::select(alphabet.to_vec()), 0..8),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_comes_means_the_same_however_it_is_split(
        bytes in almost_frames(),
        sizes in prop::collection::vec(1_usize..6, 1..40),
        resp2 in any::<bool>(),
    ) {
        let start = || {
            let mut rig = if resp2 { Rig::resp2() } else { Rig::resp3() };
            for line in ["PING", "SUBSCRIBE a b", "ECHO x", "GET y", "PING", "PING"] {
                rig.send(command(line));
            }
            rig
        };
        let whole = start().read(&bytes);

        let mut rig = start();
        let mut rest = &bytes[..];
        let mut split = Vec::new();
        for size in sizes.into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, more) = rest.split_at(size.min(rest.len()));
            split.extend(rig.read(piece));
            rest = more;
        }
        prop_assert_eq!(format!("{:?}", whole), format!("{:?}", split));
    }
}
