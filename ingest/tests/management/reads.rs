mod dashboard;
mod partner_view;
mod reports;
