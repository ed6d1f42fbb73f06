//! Files.

use synopsis::commands;

commands! { TABLE(call):
}
