-- What the table of jobs of an earlier version lacks.
ALTER TABLE jobs ADD COLUMN collection TEXT;
ALTER TABLE jobs ADD COLUMN source TEXT;
ALTER TABLE jobs ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN made_way INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN holder INTEGER;
ALTER TABLE jobs ADD COLUMN stage TEXT;
ALTER TABLE jobs ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN total INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN most_attempts INTEGER NOT NULL DEFAULT 5;
ALTER TABLE jobs ADD COLUMN is_cancelled INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET collection = request ->> 'collection', source = coalesce(request ->> 'source', request ->> 'url')
WHERE kind <> 'reindex';
