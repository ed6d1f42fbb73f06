//! ADP: pages of text with scripts in them, and the ns_adp_* commands.

use synopsis::commands;

commands! { TABLE(call):
}
