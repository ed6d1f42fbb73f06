//! Locks, conditions and semaphores for scripts.

use synopsis::commands;

commands! { TABLE(call):
}
