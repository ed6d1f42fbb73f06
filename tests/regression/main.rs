//! Every bug that was found becomes a test here: one file per issue, `mod issue_12;`, one program for all.
