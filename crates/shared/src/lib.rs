//! What all threads share.
