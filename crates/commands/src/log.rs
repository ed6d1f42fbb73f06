//! The system log: ns_log, ns_logctl, ns_asynclogfile.

use synopsis::commands;

commands! { TABLE(call):
}
