-- no-transaction
-- Those who signed up or paid are listed, the latest first; who only clicked is not.
CREATE INDEX CONCURRENTLY customers_of_program ON customers (program_id, least(signup_date, first_purchase_date), id) WHERE status <> 'click';
