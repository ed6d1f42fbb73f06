//! Life hooks (ns_at*) and the end (ns_shutdown).

use synopsis::commands;

commands! { TABLE(call):
}
