//! Authorization: ns_auth, ns_register_auth.

use synopsis::commands;

commands! { TABLE(call):
}
