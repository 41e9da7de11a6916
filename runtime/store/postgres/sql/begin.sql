-- G7: each statement sees what was committed before it began, whatever the connection's default is.
BEGIN ISOLATION LEVEL READ COMMITTED
