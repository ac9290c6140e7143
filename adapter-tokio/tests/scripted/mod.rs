//! An HTTP server that answers as it is told, right or wrong, on threads of its own.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// A request as it was sent.
#[derive(Clone)]
pub(crate) struct Request {
    /// From 0.
    pub(crate) number: usize,
    text: String,
    body: String,
}

/// A server, as long as the test's process lives. One request a connection.
pub(crate) struct Scripted {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Scripted {
    /// Answers with these bytes and closes; with those before `!hang`, and does not, if they end so.
    pub(crate) fn start(answer: impl Fn(&Request) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback works");
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let (answer, seen) = (Arc::new(answer), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                thread::spawn(move || serve(stream, &*answer, &seen));
            }
        });
        Self { address, requests }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no thread panics").clone()
    }
}

impl Request {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    pub(crate) fn path(&self) -> &str {
        self.target().split('?').next().expect("there is a first")
    }

    pub(crate) fn query(&self) -> Option<&str> {
        Some(self.target().split_once('?')?.1)
    }

    fn target(&self) -> &str {
        self.text.split(' ').nth(1).expect("a request line")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

fn serve(
    mut stream: TcpStream,
    answer: &dyn Fn(&Request) -> Vec<u8>,
    seen: &Mutex<Vec<Request>>,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") {
        if reader.read_line(&mut text)? == 0 {
            return Ok(());
        }
    }
    let (number, body) = (0, String::new());
    let mut request = Request { number, text, body };
    let length = request.header("content-length").map(str::parse);
    let mut body = vec![0; length.and_then(Result::ok).unwrap_or(0)];
    reader.read_exact(&mut body)?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    {
        let mut seen = seen.lock().expect("no thread panics");
        request.number = seen.len();
        seen.push(request.clone());
    }
    let answer = answer(&request);
    match answer.strip_suffix(b"!hang") {
        Some(answer) => {
            stream.write_all(answer)?;
            thread::sleep(Duration::from_secs(600));
            Ok(())
        }
        None => stream.write_all(&answer),
    }
}

/// An answer that says how long it is.
pub(crate) fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

pub(crate) fn list(text: &str) -> Vec<u8> {
    response("200 OK", "", text.as_bytes())
}

/// An answer in chunks, complete.
pub(crate) fn chunked(chunks: &[&[u8]]) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in chunks {
        bytes.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend([chunk, &b"\r\n"[..]].concat());
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

/// A URL at which nobody listens.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback works");
    let address = listener.local_addr().expect("it is bound");
    format!("http://{address}/")
}
