use redial::{ConnectString, Endpoint, Expected, Servers};

use super::{check_endpoints, check_place};

/// A connect string is read as by a second, slower reader, and what is printed reads as the same.
pub fn connect_string(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    let parsed = ConnectString::parse(text, 2181);
    let printed = parsed.as_ref().ok().map(ConnectString::to_string);
    assert_eq!(printed, slowly(text), "{parsed:?}");
    match &parsed {
        Ok(parsed) => {
            if let Servers::Listed(servers) = &parsed.servers {
                check_endpoints(servers.iter());
            }
            let printed = parsed.to_string();
            assert_eq!(ConnectString::parse(&printed, 0).as_ref(), Ok(parsed));
            match ConnectString::parse(text, 0) {
                Ok(every_port_is_there) => assert_eq!(every_port_is_there, *parsed),
                Err(error) => assert_eq!(error.expected, Expected::Port),
            }
        }
        Err(error) => check_place(text, *error),
    }
}

/// SEMANTICS 7.1 as simply as can be: the connect string as it is printed, if it is one.
fn slowly(text: &str) -> Option<String> {
    const BLANKS: [char; 6] = [' ', '\t', '\n', '\x0b', '\x0c', '\r'];
    if text.len() > 1 << 20 {
        return None;
    }
    let srv = text.trim_start_matches(BLANKS).strip_prefix("dns-srv://");
    let text = srv.unwrap_or(text);
    let (servers, path) = text.split_at(text.find('/').unwrap_or(text.len()));
    let path = if path == "/" { "" } else { path };
    let bad_element = |element: &str| ["", ".", ".."].contains(&element);
    let bad_character = |c: char| match u32::from(c) {
        c if c < 0x20 || (0x7f..0xa0).contains(&c) => true,
        c => (0xd800..0xf900).contains(&c) || c >= 0xfff0,
    };
    if path.split('/').skip(1).any(bad_element) || path.contains(bad_character) {
        return None;
    }
    if srv.is_some() {
        let name = servers.trim_end_matches(BLANKS);
        Endpoint::name(name, 1).ok()?;
        return Some(format!("dns-srv://{}{path}", name.to_lowercase()));
    }
    let mut list: Vec<String> = Vec::new();
    for entry in servers.split(',').map(|entry| entry.trim_matches(BLANKS)) {
        if entry.is_empty() {
            continue;
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((_, "")) if entry.starts_with('[') => return None,
            Some((host, "")) => (host, "2181"),
            // A colon within brackets.
            Some((_, rest)) if rest.ends_with(']') => (entry, "2181"),
            Some((host, port)) => (host, port),
            None => (entry, "2181"),
        };
        let endpoint: Endpoint = format!("{host}:{port}").parse().ok()?;
        let printed = endpoint.to_string();
        if !list.contains(&printed) {
            list.push(printed);
        }
    }
    let fits = (1..=10_000).contains(&list.len());
    fits.then(|| list.join(",") + path)
}
