//! How commands and parameters are declared.
