//! Settings of the webhook consumer, one section per concern. Each setting is a flag and an environment
//! variable.

use clap::{Args, Parser};
use domain::processors::processor::WebhookSecret;
use runtime::config::{SecretParser, SecretsConfig, ServiceConfig};

use crate::stripe::metadata::MetadataPrefix;

/// Receives the events of payment processors, and publishes the pipeline's messages.
///
/// Events are larger than other requests and come from few senders: a body may have 1 MiB, and a lower limit of connections
/// bounds the memory that strangers can make us use.
#[derive(Debug, Clone, Parser)]
#[command(
    version,
    mut_arg("body_limit_bytes", |arg| arg.default_value("1048576")),
    mut_arg("max_connections", |arg| arg.default_value("512"))
)]
pub struct Config {
    #[command(flatten)]
    pub service: ServiceConfig,
    #[command(flatten)]
    pub secrets: SecretsConfig,
    #[command(flatten)]
    pub stripe: StripeConfig,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Payment processors")]
pub struct StripeConfig {
    /// Secrets of the platform's endpoint for connected accounts, comma-separated: several while one is
    /// replaced. Without one, that endpoint accepts nothing. The secret of a program's own endpoint is in its
    /// connection.
    #[arg(
        long,
        env = "STRIPE_DISTRIBUTOR_SECRETS",
        hide_env_values = true,
        value_delimiter = ',',
        value_parser = SecretParser::<WebhookSecret>::new()
    )]
    pub stripe_distributor_secrets: Vec<WebhookSecret>,
    /// Prefixes of metadata keys that are read like `tracker_`, comma-separated: an integration can keep the
    /// keys it already writes.
    #[arg(long, env = "METADATA_ALIASES", value_delimiter = ',')]
    pub metadata_aliases: Vec<MetadataPrefix>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(more: &[&str]) -> Result<Config, clap::Error> {
        let key = format!("--secrets-keys={}", "0f".repeat(32));
        let required = [
            "test",
            "--database-url=postgres://h/d",
            "--nats-url=nats://h",
            &key,
        ];
        Config::try_parse_from(required.iter().chain(more))
    }

    #[test]
    fn events_have_bounds_of_their_own() {
        let config = parse(&[]).unwrap();
        assert_eq!(config.service.http.body_limit_bytes, 1 << 20);
        assert_eq!(config.service.http.max_connections, 512);
        assert!(config.stripe.stripe_distributor_secrets.is_empty());
        let set = parse(&["--body-limit-bytes=10", "--metadata-aliases=a_,b_"]).unwrap();
        assert_eq!(set.service.http.body_limit_bytes, 10);
        assert_eq!(set.stripe.metadata_aliases.len(), 2);
    }

    #[test]
    fn a_mistyped_secret_is_not_quoted() {
        let error = parse(&["--stripe-distributor-secrets=whsec_of_the_platform,whsec_short"]);
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains("visible ASCII") && !message.contains("whsec_"),
            "{message}"
        );
        let config = parse(&["--stripe-distributor-secrets=whsec_of_the_platform"]).unwrap();
        assert!(!format!("{config:?}").contains("whsec_"));
    }
}
