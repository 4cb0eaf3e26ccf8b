//! The services with logs at level `trace`, for tests of what must not be logged.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;

use testing::{Folder, Process, free_address};

use crate::edge::Edge;
use crate::stack::Stack;

/// The services as separate processes with readable logs.
#[derive(Debug)]
pub struct LoggedServices {
    /// The address of the webhook consumer.
    pub webhooks: SocketAddr,
    logs: Folder,
    processes: Vec<Process>,
}

impl LoggedServices {
    /// Starts workers of both roles, an ingest and a webhook consumer. The stack sends its requests to this
    /// ingest.
    pub async fn start(stack: &mut Stack) -> Self {
        let mut services = Self {
            webhooks: free_address(),
            logs: Folder::create(),
            processes: Vec::new(),
        };
        for (name, role) in [
            ("worker", "pipeline"),
            ("worker", "delivery"),
            ("webhook-consumer", ""),
            ("ingest", ""),
        ] {
            let address = if name == "webhook-consumer" {
                services.webhooks
            } else {
                free_address()
            };
            let mut settings = stack.environment(address);
            settings.push(("LOG", "trace".to_owned()));
            if !role.is_empty() {
                settings.push(("WORKER_ROLE", role.to_owned()));
            }
            let file = File::create(services.logs.join(format!("{name}-{role}"))).unwrap();
            services
                .processes
                .push(Process::start_logging(name, &settings, file.into()));
            stack.use_ingest(address);
        }
        stack.ready().await;
        Edge::at(services.webhooks).ready(stack).await;
        services
    }

    /// Everything logged so far.
    pub fn logged(&self) -> String {
        let logs = std::fs::read_dir(&*self.logs).unwrap();
        let text = |log: PathBuf| String::from_utf8_lossy(&std::fs::read(log).unwrap()).into_owned();
        logs.map(|log| text(log.unwrap().path())).collect()
    }

    /// Ends the services and returns everything they logged.
    pub fn end(mut self) -> String {
        self.processes.iter_mut().for_each(Process::kill);
        self.logged()
    }
}
