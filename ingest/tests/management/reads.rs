mod dashboard;
mod event_stream;
mod partner_view;
mod reports;
