-- Indexes that had seen changes which the database does not have: it lost them, or an older copy of it was put back.
-- Told by `verify` until somebody repairs.
CREATE TABLE losses (
    user_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    leg TEXT NOT NULL,
    seen INTEGER NOT NULL,
    had INTEGER NOT NULL,
    PRIMARY KEY (user_id, generation, leg)
) STRICT, WITHOUT ROWID;
