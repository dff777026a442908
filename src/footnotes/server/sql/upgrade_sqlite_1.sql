-- How large an upload is: what the table of jobs of an earlier version lacks.
ALTER TABLE jobs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
