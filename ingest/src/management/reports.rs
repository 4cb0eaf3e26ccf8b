//! `/api/tracking/{performance,status,events,live}/…`, `…/report`, `…/events`, `…/customers` and
//! `…/sales/{sale_id}`: the dashboard's reports and lists of a program's events, by session only.

mod customer_timeline;
mod customers;
pub mod dates;
mod event_file;
mod event_view;
mod events;
mod export;
mod live;
pub mod performance;
mod program_events;
pub mod program_report;
mod report_breakdown;
mod report_cohorts;
mod status;

use crate::http::endpoint::{Endpoint, SESSION, managed};

pub fn endpoints() -> Vec<Endpoint> {
    managed! { "reports", SESSION;
        performance::performance;
        program_report::report_on_program;
        report_breakdown::break_report_down;
        report_cohorts::report_on_cohorts;
        program_events::list::list_program_events;
        program_events::export::export_program_events;
        customers::list_customers;
        customer_timeline::read_customer;
        customer_timeline::read_sale;
        status::tracking_status;
        events::list_events;
        export::export_events;
        live::live_events;
    }
}
