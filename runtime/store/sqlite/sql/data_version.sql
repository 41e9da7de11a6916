-- Moves with the commits of other connections and never with one's own.
PRAGMA data_version
