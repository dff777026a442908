-- The lines of canonical text a chunk begins and ends on, counted from 1; NULL for chunks made before they were counted.
ALTER TABLE chunks ADD COLUMN line_first INTEGER;
ALTER TABLE chunks ADD COLUMN line_last INTEGER;
