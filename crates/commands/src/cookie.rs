//! Cookies.

use synopsis::commands;

commands! { TABLE(call):
}
