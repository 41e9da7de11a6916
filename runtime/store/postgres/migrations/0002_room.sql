-- G4: a message changes twice, when its attempt begins and when it ends: with room beside it the first change touches no index.
ALTER TABLE lockstep.lockstep_messages SET (fillfactor = 75);
