//! Interpreters: ns_ictl, ns_eval, ns_parseargs.

use synopsis::commands;

commands! { TABLE(call):
}
