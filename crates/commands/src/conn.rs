//! The current request: ns_conn.

use synopsis::commands;

commands! { TABLE(call):
}
