//! `/api/tracking/{performance,status,events,live}/…`, `…/report`, `…/events`, `…/customers` and
//! `…/sales/{sale_id}`: the dashboard's reports and lists of a program's events, by session only.

mod customer_timeline;
mod customers;
pub mod dates;
mod event_file;
mod event_lines;
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
        performance::performance => performance::examples();
        program_report::report => program_report::examples();
        report_breakdown::breakdown => report_breakdown::examples();
        report_cohorts::cohorts => report_cohorts::examples();
        program_events::list::list => program_events::list::examples();
        program_events::export::export => program_events::export::examples();
        customers::list => customers::examples();
        customer_timeline::read => customer_timeline::examples();
        customer_timeline::read_sale => customer_timeline::sale_examples();
        status::status => status::examples();
        events::list => events::examples();
        export::export => export::examples();
        live::live => live::examples();
    }
}
