//! Job queues: ns_job.

use synopsis::commands;

commands! { TABLE(call):
}
