//! ns_server and ns_driver.

use synopsis::commands;

commands! { TABLE(call):
}
