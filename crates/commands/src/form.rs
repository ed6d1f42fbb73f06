//! Queries and forms.

use synopsis::commands;

commands! { TABLE(call):
}
