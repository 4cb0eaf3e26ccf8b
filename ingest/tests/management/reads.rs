mod customer_timeline;
mod dashboard;
mod event_stream;
mod growing_lists;
mod partner_view;
mod program_events;
mod reports;
mod rows_read;
