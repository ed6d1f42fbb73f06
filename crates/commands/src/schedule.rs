//! Scripts at a later time: ns_schedule_proc, ns_schedule_daily, ns_schedule_weekly, ns_after and what stops them.

use std::sync::Arc;

use ::server::schedule::{EventId, EventOptions, Job, Scheduler};
use synopsis::{Call, Int, Interval, Rest, commands};
use tcl::Obj;

use crate::kinds::context;
use crate::later::Later;

commands! { TABLE(call):

    /// Evaluates a script once, after some time.
    "ns_after" (interval: Interval, script: Obj, arg: Option<Rest>)
        => after(call, interval, &script, arg);

    /// Forgets a scheduled script; whether there was one.
    "ns_cancel" (id: i64) => known(id).is_some_and(|id| scheduler(call).cancel(id));

    /// Keeps a scheduled script from running until `ns_resume`; whether it was not paused before.
    "ns_pause" (id: i64) => known(id).is_some_and(|id| scheduler(call).pause(id));

    /// Lets a paused script run again.
    "ns_resume" (id: i64) => known(id).is_some_and(|id| scheduler(call).resume(id));

    /// Evaluates a script each day at an hour and minute of local time.
    "ns_schedule_daily" [-once: bool, -thread: bool, --]
        (hour: Int<0, 23>, minute: Int<0, 59>, script: Obj, arg: Option<Rest>)
        => daily(call, EventOptions { once, thread }, hour, minute, &script, arg);

    /// Evaluates a script again and again.
    "ns_schedule_proc" [-once: bool, -thread: bool, --] (interval: Interval, script: Obj, arg: Option<Rest>)
        => every(call, EventOptions { once, thread }, interval, &script, arg);

    /// Evaluates a script each week; day 0 is Sunday.
    "ns_schedule_weekly" [-once: bool, -thread: bool, --]
        (day: Int<0, 6>, hour: Int<0, 23>, minute: Int<0, 59>, script: Obj, arg: Option<Rest>)
        => weekly(call, EventOptions { once, thread }, day, hour, minute, &script, arg);

    /// Forgets a scheduled script; whether there was one.
    "ns_unschedule_proc" (id: i64) => known(id).is_some_and(|id| scheduler(call).cancel(id));
}

fn scheduler(call: &Call<'_>) -> Scheduler {
    context(call).process.scheduler().clone()
}

fn known(id: i64) -> Option<EventId> {
    EventId::try_from(id).ok()
}

fn job(call: &Call<'_>, script: &Obj, args: Option<Rest<'_>>) -> (String, Job) {
    let later = Later::new(call, script, args);
    (
        later.text(),
        Arc::new(move |info| later.run(&format!("schedule: event {}", info.id))),
    )
}

fn after(call: &Call<'_>, interval: Interval, script: &Obj, args: Option<Rest<'_>>) -> u64 {
    let (text, job) = job(call, script, args);
    scheduler(call).after(interval.0.to_duration(), &text, job)
}

fn every(
    call: &Call<'_>,
    options: EventOptions,
    interval: Interval,
    script: &Obj,
    args: Option<Rest<'_>>,
) -> u64 {
    let (text, job) = job(call, script, args);
    scheduler(call).every(interval.0.to_duration(), options, &text, job)
}

fn daily(
    call: &Call<'_>,
    options: EventOptions,
    hour: Int<0, 23>,
    minute: Int<0, 59>,
    script: &Obj,
    args: Option<Rest<'_>>,
) -> u64 {
    let (text, job) = job(call, script, args);
    scheduler(call).daily(small(*hour), small(*minute), options, &text, job)
}

fn weekly(
    call: &Call<'_>,
    options: EventOptions,
    day: Int<0, 6>,
    hour: Int<0, 23>,
    minute: Int<0, 59>,
    script: &Obj,
    args: Option<Rest<'_>>,
) -> u64 {
    let (text, job) = job(call, script, args);
    scheduler(call).weekly(
        small(*day),
        small(*hour),
        small(*minute),
        options,
        &text,
        job,
    )
}

/// Days, hours and minutes are below 60.
fn small(n: i64) -> u8 {
    u8::try_from(n).unwrap_or(0)
}
