//! Replacing the list.

use std::{error::Error, fs, path::PathBuf};

use clap::Args;
use redial::driver::{ServerList, SourceError};
use redial_tokio::{Condition, HttpSource, PublishError};

use crate::Server;

#[derive(Args)]
pub(crate) struct Put {
    #[command(flatten)]
    server: Server,
    /// The file with the new list.
    file: PathBuf,
    /// Only if the list has this ETag, as `get` has shown it. Default: the one that it has now.
    #[arg(long, value_name = "ETAG", group = "condition")]
    if_match: Option<String>,
    /// Only if there is no list.
    #[arg(long, group = "condition")]
    create: bool,
    /// Whatever is there.
    #[arg(long, group = "condition")]
    force: bool,
}

impl Put {
    pub(crate) async fn run(self) -> Result<(), Box<dyn Error>> {
        let place = self.file.display();
        let text = fs::read(&self.file).map_err(|error| format!("{place}: {error}"))?;
        let list = ServerList::parse(&text, self.server.default_port, place)?;
        let source = self.server.source()?;
        let condition = self.condition(&source).await?;
        source.publish(text, &condition).await?;
        let (count, place) = (list.nodes.len(), source.place());
        println!("{place}: {count} servers are written");
        Ok(())
    }

    /// What the server is asked to keep to, if it holds now.
    async fn condition(&self, source: &HttpSource) -> Result<Condition, Box<dyn Error>> {
        if self.force {
            return Ok(Condition::Always);
        }
        let place = source.place();
        let fetched = match (source.fetch().await, self.create) {
            (Ok(_), true) => return Err(PublishError::Changed { place }.into()),
            (Err(SourceError::Status { status: 404, .. }), true) => return Ok(Condition::Absent),
            (Err(error), _) => return Err(PublishError::Failed(error).into()),
            (Ok(fetched), false) => fetched,
        };
        let Some(now) = fetched.etag else {
            let error = "the server gives no ETag to tell a change by; --force writes without";
            return Err(format!("{place}: {error}; nothing was written").into());
        };
        match &self.if_match {
            // Without the quotes it is easier to give to a shell.
            Some(tag) if now.trim_matches('"') != tag.trim_matches('"') => {
                Err(PublishError::Changed { place }.into())
            }
            _ => Ok(Condition::Unchanged(now)),
        }
    }
}
