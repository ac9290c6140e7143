use std::fmt::Write;

use redial::{DynamicConfig, Expected};

use super::{check_endpoints, check_place};

/// A dynamic configuration means the same with other line ends and below a comment, and what it
/// says can be written plainly and reads as the same.
pub fn dynamic_config(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    let parsed = DynamicConfig::parse(text);
    match &parsed {
        Ok(config) => {
            check_endpoints(config.servers.iter().map(|server| &server.client_address));
            assert_eq!(DynamicConfig::parse(&plainly(config)).as_ref(), Ok(config));
        }
        Err(error) => check_place(text, *error),
    }

    let below_a_comment = DynamicConfig::parse(&format!("! c\\\n{text}"));
    let other_ends = DynamicConfig::parse(&text.replace("\r\n", "\n").replace('\n', "\r\n"));
    for (same, lines) in [(below_a_comment, 1), (other_ends, 0)] {
        match (&parsed, same) {
            (Err(error), Err(same)) if error.expected != Expected::FewerBytes => {
                assert_eq!((error.line + lines, error.column), (same.line, same.column));
                assert_eq!(error.expected, same.expected);
            }
            // The lines may have made the text too long.
            (_, Err(same)) => assert_eq!(same.expected, Expected::FewerBytes),
            (_, same) => assert_eq!(parsed, same),
        }
    }
}

fn plainly(config: &DynamicConfig) -> String {
    let mut text = String::new();
    for server in &config.servers {
        let (number, address) = (server.number, &server.client_address);
        // Its own host, so that an address that says none stays what it is.
        let host = address.to_string();
        let (host, _) = host.rsplit_once(':').expect("it has a port");
        let _ = writeln!(text, "server.{number}={host}:1:2;{address}");
    }
    if let Some(version) = config.version {
        let sign = if version < 0 { "-" } else { "" };
        let _ = writeln!(text, "version={sign}{:x}", version.unsigned_abs());
    }
    text
}
