//! Digests and random values.

use synopsis::commands;

commands! { TABLE(call):
}
