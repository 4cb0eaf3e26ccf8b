-- How a program looks on its partners' pages.
SET LOCAL lock_timeout = '100ms';

-- As #rrggbb, in lower case.
ALTER TABLE programs ADD COLUMN color text;
