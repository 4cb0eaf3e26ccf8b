//! Baselines as separate processes: (H) a handler that only parses, and (R).

use std::convert::Infallible;
use std::env;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use harness::interrupt::{Interrupt, PAUSE};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::baseline::{self, Click, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Parses a click, and answers a constant.
    Constant,
    /// One transaction a request.
    Baseline,
}

/// Serves on `LISTEN` until shutdown.
pub(super) fn serve(what: What, interrupt: &Interrupt) -> Result<()> {
    Runtime::new()?.block_on(async {
        let routes = match what {
            What::Constant => Router::new().route("/api/v1/track/click", post(constant)),
            What::Baseline => baseline::routes().await?,
        };
        let routes = routes.route("/readyz", get(|| async { "ready" }));
        let listener = TcpListener::bind(env::var("LISTEN").context("LISTEN is not set")?)
            .await?
            .tap_io(|stream| {
                // Without it an answer waits for the acknowledgement of the previous one. Cannot fail on
                // Linux.
                let _ = stream.set_nodelay(true);
            });
        let ended = async {
            while !interrupt.came() {
                tokio::time::sleep(PAUSE).await;
            }
        };
        // The load is over, so open requests may be dropped.
        tokio::select! {
            served = axum::serve(listener, routes) => Ok(served?),
            () = ended => Ok(()),
        }
    })
}

async fn constant(body: Bytes) -> Result<Response, Infallible> {
    Ok(match serde_json::from_slice::<Click>(&body) {
        Ok(click) if click.affiliate_url.contains("aff=") => json(
            r#"{"success":true,"click_id":"cust_4503599627370496_1767225600000","message":"Click tracked successfully"}"#,
        ),
        _ => StatusCode::BAD_REQUEST.into_response(),
    })
}
