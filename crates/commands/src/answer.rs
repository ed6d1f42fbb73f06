//! Answers: ns_return, ns_respond, ns_write and their relatives.

use synopsis::commands;

commands! { TABLE(call):
}
