//! HTML and plain text.

use synopsis::commands;

commands! { TABLE(call):
}
