-- Every writing transaction begins as one: there is no upgrade that SQLite could refuse.
BEGIN IMMEDIATE
