-- no-transaction
-- A text is looked for anywhere in a name, among the program's partners.
DROP INDEX CONCURRENTLY partners_by_name;
