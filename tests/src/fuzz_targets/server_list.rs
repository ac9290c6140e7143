use redial::driver::{ServerList, SourceError};

use super::{check_endpoints, check_place};

/// A server list means the same with blank lines before it and with every port said, and its servers, a
/// line each, read as the same.
pub fn server_list(data: &[u8]) {
    let read = |text: &[u8]| ServerList::parse(text, 2181, "here");
    let parsed = read(data);
    match &parsed {
        Ok(list) => {
            check_endpoints(list.nodes.iter().map(|node| &node.endpoint));
            let lines = list.nodes.iter().map(|node| format!("{}\n", node.endpoint));
            let again = ServerList::parse(lines.collect::<String>(), 0, "here");
            let endpoints = |list: &ServerList| {
                let endpoints = list.nodes.iter().map(|node| node.endpoint.clone());
                endpoints.collect::<Vec<_>>()
            };
            assert_eq!(again.as_ref().map(endpoints), Ok(endpoints(list)));
        }
        Err(SourceError::Malformed { error, .. }) => {
            let text = std::str::from_utf8(data).expect("it was read");
            // A lone one ends a line of a dynamic configuration only.
            if !text.replace("\r\n", "").contains('\r') {
                check_place(text, *error);
            }
        }
        Err(SourceError::Indirect { .. }) => {}
        Err(SourceError::Io { .. }) => assert!(std::str::from_utf8(data).is_err()),
        Err(error) => panic!("no text gives {error}"),
    }
    let below = read(&[b"\n \n", data].concat());
    assert_eq!(parsed.is_ok(), below.is_ok());
    if let (Ok(list), Ok(below)) = (parsed, below) {
        assert_eq!((list.version, list.nodes), (below.version, below.nodes));
    }
}
