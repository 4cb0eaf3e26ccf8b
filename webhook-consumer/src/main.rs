//! Receives payment-processor events. So far it only says that it is there: no event is accepted, and every
//! webhook path answers 404, so that a processor keeps its events and delivers them later.

use std::process::ExitCode;

use anyhow::Context;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use clap::Parser;
use common::runtime::config::HttpConfig;
use common::runtime::{http, lifecycle};
use tokio::net::TcpListener;

/// Turns payment-processor events into pipeline messages.
#[derive(Debug, Clone, Parser)]
#[command(version)]
struct Config {
    #[command(flatten)]
    http: HttpConfig,
}

fn main() -> ExitCode {
    let config = Config::parse();
    lifecycle::run("webhook-consumer", |lifecycle| async move {
        let listener = TcpListener::bind(config.http.listen)
            .await
            .context("binding the listen address")?;
        tracing::info!(listen = %listener.local_addr()?, "webhook-consumer is ready");
        let router = Router::new()
            .route("/livez", get(|| async { StatusCode::OK }))
            .route("/readyz", get(|| async { StatusCode::OK }));
        anyhow::Ok(http::serve(listener, router, &config.http, &lifecycle).await?)
    })
}
