//! What the process tells about itself: ns_info.

use synopsis::commands;

commands! { TABLE(call):
}
