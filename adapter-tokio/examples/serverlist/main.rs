//! Looks after a server list behind a URL: shows it, replaces it, and says how a client takes its
//! changes.
//!
//! ```text
//! alias serverlist='cargo run -q -p redial-tokio --example serverlist --features http --'
//! export REDIAL_USER=operator REDIAL_PASSWORD=…
//! serverlist get https://config.example/servers > servers    # its ETag is told on stderr
//! serverlist put https://config.example/servers servers      # unless somebody else is quicker
//! serverlist watch https://config.example/servers --interval 5
//! ```
//!
//! `put` writes only what a client could read, and only on a condition: that the list is still the one
//! that it has just read, or the one with the ETag that `get` has shown (`--if-match`), or that there
//! is none (`--create`), unless it is to be replaced whatever it is (`--force`). It looks itself, and
//! has the server look once more in the same moment as it writes; not all servers do: nginx's WebDAV
//! module does not, so with it two that write at the same time may both be let through.
//!
//! Credentials are taken from the URL or from the environment, so that they need not be on the command
//! line, where others can see them. The exit code is 0 if all went well.

mod put;
mod watch;

use std::{env, error::Error, fs, io, io::Write, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use redial_tokio::HttpSource;

/// Shows, replaces or watches a server list behind a URL.
///
/// Credentials: in the URL, or REDIAL_USER and REDIAL_PASSWORD in the environment, or a token in the
/// variable that --bearer-env names.
#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints the list as it is, and on stderr its ETag and version.
    Get {
        #[command(flatten)]
        server: Server,
    },
    /// Replaces the list by a file, if it is unchanged.
    Put(put::Put),
    /// Prints each change as a client takes it.
    Watch(watch::Watch),
}

/// Where the list is, and how to get there.
#[derive(Args)]
struct Server {
    /// The list's URL, http or https.
    url: String,
    /// The environment variable that holds a bearer token.
    #[arg(long, value_name = "VARIABLE")]
    bearer_env: Option<String>,
    /// Root certificates to trust besides the system's, in a PEM file.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Send credentials over plain http also to another machine.
    #[arg(long)]
    allow_clear_credentials: bool,
    /// The port of servers that are given without one.
    #[arg(long, default_value_t = 0)]
    default_port: u16,
    /// How many seconds an answer may take.
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    timeout: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::try_parse().unwrap_or_else(|error| exit(&error));
    let done = match options.command {
        Command::Get { server } => get(&server).await,
        Command::Put(put) => put.run().await,
        Command::Watch(watch) => watch.run().await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Says what is wrong with the command line, or what it asked to know; but does not repeat a URL of
/// it, which may have a password.
fn exit(error: &clap::Error) -> ! {
    let text = error.to_string();
    if error.use_stderr() && (text.contains(['@', '?']) || text.contains("://")) {
        eprintln!("error: {}; see --help", error.kind());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

async fn get(server: &Server) -> Result<(), Box<dyn Error>> {
    let fetched = server.source()?.fetch().await?;
    let list = fetched.list?;
    io::stdout().write_all(&fetched.text)?;
    let version = list.version.map_or("none".to_owned(), |v| format!("{v:x}"));
    let etag = fetched.etag.as_deref().unwrap_or("none");
    eprintln!("{} servers", list.nodes.len());
    eprintln!("version: {version}");
    eprintln!("ETag: {etag}");
    Ok(())
}

impl Server {
    fn source(&self) -> Result<HttpSource, Box<dyn Error>> {
        let mut builder = HttpSource::builder(&self.url)
            .default_port(self.default_port)
            .timeout(Duration::from_secs_f64(self.timeout));
        if let Some(name) = &self.bearer_env {
            // The error of the standard library would repeat what is no text.
            let token = env::var(name).map_err(|_| format!("{name} is not set, or is no text"))?;
            builder = builder.bearer(&token);
        } else if let Ok(user) = env::var("REDIAL_USER") {
            let password = env::var("REDIAL_PASSWORD");
            let password = password.map_err(|_| "REDIAL_USER is set, REDIAL_PASSWORD is not")?;
            builder = builder.basic(&user, &password);
        }
        if let Some(path) = &self.ca {
            let pem = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            builder = builder.root_certificate(pem);
        }
        if self.allow_clear_credentials {
            builder = builder.allow_clear_credentials();
        }
        Ok(builder.build()?)
    }
}

/// A length of time that makes sense here: from a millisecond to a day.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds @ 0.001..=86_400.0) => Ok(seconds),
        _ => Err("seconds, from 0.001 to 86400".to_owned()),
    }
}
