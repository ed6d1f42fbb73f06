//! Answers from files and channels: ns_returnfile, ns_returnfp, ns_writer.

use synopsis::commands;

commands! { TABLE(call):
}
