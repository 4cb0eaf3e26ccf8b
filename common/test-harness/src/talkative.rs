//! The services with their logs at the most talkative, for tests of what must not stand there.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;

use testing::{Process, free_address, unique_name};

use crate::edge::Edge;
use crate::stack::Stack;

/// The services as processes of their own, whose logs can be read.
#[derive(Debug)]
pub struct Talkative {
    /// Where the webhook consumer listens.
    pub webhooks: SocketAddr,
    logs: Vec<PathBuf>,
    processes: Vec<Process>,
}

impl Talkative {
    /// A worker, an ingest and a webhook consumer; requests of the stack go to this ingest.
    pub async fn start(stack: &mut Stack) -> Self {
        let mut talkative = Self {
            webhooks: free_address(),
            logs: Vec::new(),
            processes: Vec::new(),
        };
        for name in ["worker", "webhook-consumer", "ingest"] {
            let address = if name == "webhook-consumer" {
                talkative.webhooks
            } else {
                free_address()
            };
            let mut settings = stack.environment(address);
            settings.push(("LOG", "trace".to_owned()));
            let log = std::env::temp_dir().join(format!("{}-{name}.log", unique_name()));
            let file = File::create(&log).unwrap();
            talkative
                .processes
                .push(Process::start_logging(name, &settings, file.into()));
            talkative.logs.push(log);
            stack.use_ingest(address);
        }
        stack.ready().await;
        Edge::at(talkative.webhooks).ready(stack).await;
        talkative
    }

    /// What they have said so far.
    pub fn said(&self) -> String {
        let text = |log| String::from_utf8_lossy(&std::fs::read(log).unwrap()).into_owned();
        self.logs.iter().map(text).collect()
    }

    /// Ends them, and returns what they said.
    pub fn end(mut self) -> String {
        self.processes.iter_mut().for_each(Process::kill);
        let said = self.said();
        for log in &self.logs {
            std::fs::remove_file(log).unwrap();
        }
        said
    }
}
