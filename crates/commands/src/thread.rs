//! Threads of scripts: ns_thread.

use synopsis::commands;

commands! { TABLE(call):
}
