-- no-transaction
-- Those who signed up or paid are listed; who only clicked is not.
CREATE INDEX CONCURRENTLY customers_of_program ON customers (program_id, id) WHERE status <> 'click';
