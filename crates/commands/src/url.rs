//! URLs: encoding, parsing, joining.

use synopsis::commands;

commands! { TABLE(call):
}
