//! Times and dates.

use synopsis::commands;

commands! { TABLE(call):
}
