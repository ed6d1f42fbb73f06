//! Shared variables: nsv_*.

use synopsis::commands;

commands! { TABLE(call):
}
