//! Scheduled procedures.

use synopsis::commands;

commands! { TABLE(call):
}
