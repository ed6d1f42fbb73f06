//! Who answers what and when.
