-- Why the dense index of a generation could not be built as asked. Any server may try to build it, and all report it.
ALTER TABLE generations ADD index_failure text;
