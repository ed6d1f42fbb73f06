//! Addresses, hosts, sockets.

use synopsis::commands;

commands! { TABLE(call):
}
