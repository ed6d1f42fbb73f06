//! Users, limits, signals of the process.

use synopsis::commands;

commands! { TABLE(call):
}
