mod cli_setup;
mod commission_policies;
mod partners;
mod processor_claims;
mod processor_connection;
mod program_status;
mod programs;
mod referral_links;
