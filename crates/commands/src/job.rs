//! Queues of scripts and the threads that work them off: ns_job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use synopsis::{Call, Int, Interval, commands};
use tcl::{Exit, Obj, Outcome, TclError};

use crate::kinds::context;
use queue::{Job, Jobs, Queue, Settled, State};

mod queue;

commands! { TABLE(call):

    /// Removes a job; 1 when it runs already and cannot be stopped: it is removed when it is done.
    "ns_job cancel" (queue_id as "queueId": String, job_id as "jobId": String) => cancel(call, &queue_id, &job_id);

    /// Settings of the threads: a dictionary. Sets those that are given.
    "ns_job configure" [-jobsperthread: Option<Int<0>>, -logminduration: Option<Interval>, -timeout: Option<Interval>] ()
        => configure(call, jobsperthread, logminduration, timeout);

    /// Makes a queue whose jobs run on at most so many threads.
    "ns_job create" [-desc: Option<String>] (queue_id as "queueId": String, maxthreads: Int<1> = Int::new(4).expect("within the limits"))
        => create(call, queue_id, desc, maxthreads);

    /// Removes a queue, once its jobs are gone.
    "ns_job delete" (queue_id as "queueId": String) => with(call, &queue_id, |q| q.deleted = true);

    /// Whether there is such a job.
    "ns_job exists" (queue_id as "queueId": String, job_id as "jobId": String) => with(call, &queue_id, |q| q.find(&job_id).is_some());

    /// A name that no queue has.
    "ns_job genid" () => jobs(call).new_queue_name();

    /// The jobs of a queue: a dictionary for each.
    "ns_job joblist" (queue_id as "queueId": String) => with(call, &queue_id, |q| q.jobs.iter().map(described).collect::<Vec<Obj>>());

    /// Names of the jobs of a queue.
    "ns_job jobs" (queue_id as "queueId": String) => with(call, &queue_id, |q| q.jobs.iter().map(|j| j.id.clone()).collect::<Vec<String>>());

    /// Adds a script to a queue, and gives the name of the job. Nobody has to wait for a detached one.
    "ns_job queue" [-detached: bool, -head: bool, -jobid: Option<String>] (queue_id as "queueId": String, script: Obj)
        => add(call, &queue_id, &script, detached, head, jobid);

    /// The queues: a dictionary for each.
    "ns_job queuelist" () => jobs(call).lock().queues.iter().map(|(name, q)| queue_described(name, q)).collect::<Vec<Obj>>();

    /// Names of the queues.
    "ns_job queues" () => jobs(call).lock().queues.keys().cloned().collect::<Vec<String>>();

    /// What the threads do: a dictionary.
    "ns_job threadlist" () => threads_described(call);

    /// Waits for a job: the result of its script, or its error.
    "ns_job wait" [-timeout: Option<Interval>] (queue_id as "queueId": String, job_id as "jobId": String) => wait(call, &queue_id, &job_id, timeout);

    /// Waits until any job of a queue is done.
    "ns_job waitany" [-timeout: Option<Interval>] (queue_id as "queueId": String) => wait_any(call, &queue_id, timeout);
}

fn jobs(call: &Call<'_>) -> Arc<Jobs> {
    let context = context(call);
    let server = context.server();
    server.extensions.get_or(|| Jobs::new(server))
}

fn no_queue(name: &str) -> Exit {
    tcl::error(format!("no such queue: {name}"))
}

fn no_job(name: &str) -> Exit {
    tcl::error(format!("no such job: {name}"))
}

/// Works on a queue, and tells those who wait.
fn with<R>(call: &Call<'_>, name: &str, work: impl FnOnce(&mut Queue) -> R) -> Result<R, Exit> {
    let jobs = jobs(call);
    let mut state = jobs.lock();
    let queue = state.queues.get_mut(name).ok_or_else(|| no_queue(name))?;
    let result = work(queue);
    state.remove_deleted();
    jobs.changed();
    Ok(result)
}

fn create(call: &Call<'_>, name: String, desc: Option<String>, max: Int<1>) -> Outcome<String> {
    let jobs = jobs(call);
    let mut state = jobs.lock();
    if state.queues.contains_key(&name) {
        return Err(tcl::error(format!("queue already exists: {name}")));
    }
    state.queues.insert(
        name.clone(),
        Queue::new(desc.unwrap_or_default(), max.as_usize()),
    );
    Ok(name)
}

fn add(
    call: &Call<'_>,
    queue: &str,
    script: &Obj,
    detached: bool,
    head: bool,
    id: Option<String>,
) -> Outcome<String> {
    let jobs = jobs(call);
    let fresh = jobs.new_job_name();
    let id = {
        let mut state = jobs.lock();
        let queue = state.queues.get_mut(queue).ok_or_else(|| no_queue(queue))?;
        if queue.deleted {
            return Err(tcl::error("The specified queue is being deleted."));
        }
        let id = id.unwrap_or(fresh);
        if queue.find(&id).is_some() {
            return Err(tcl::error(format!("Job {id} already exists")));
        }
        let job = Job::new(id.clone(), script.text(), detached);
        if head {
            queue.jobs.push_front(job)
        } else {
            queue.jobs.push_back(job)
        }
        id
    };
    jobs.provide_thread()
        .map_err(|e| tcl::error(format!("cannot start a thread: {e}")))?;
    Ok(id)
}

fn cancel(call: &Call<'_>, queue: &str, id: &str) -> Outcome<bool> {
    with(call, queue, |queue| {
        let at = queue.find(id).ok_or_else(|| no_job(id))?;
        let job = &mut queue.jobs[at];
        if job.state == State::Running {
            job.cancelled = true;
            return Ok(true);
        }
        queue.jobs.remove(at);
        Ok(false)
    })?
}

fn deadline(timeout: Option<Interval>) -> Option<Instant> {
    // What lies beyond the clock's reach is for ever.
    timeout.and_then(|t| Instant::now().checked_add(t.0.to_duration()))
}

fn timed_out() -> Exit {
    TclError::new("Wait timed out.")
        .with_code(&["NS_TIMEOUT"])
        .into()
}

fn wait(call: &Call<'_>, queue_name: &str, id: &str, timeout: Option<Interval>) -> Outcome {
    let jobs = jobs(call);
    let deadline = deadline(timeout);
    let mut state = jobs.lock();
    let settled = loop {
        let queue = state
            .queues
            .get_mut(queue_name)
            .ok_or_else(|| no_queue(queue_name))?;
        let at = queue.find(id).ok_or_else(|| no_job(id))?;
        if queue.jobs[at].detached {
            return Err(tcl::error(format!("can't wait on a detached job: {id}")));
        }
        if queue.jobs[at].state == State::Done {
            let job = queue.jobs.remove(at);
            break job.and_then(|j| j.settled).unwrap_or_default();
        }
        queue.jobs[at].waited = true;
        if !jobs.wait(&mut state, deadline) {
            return Err(timed_out());
        }
    };
    state.remove_deleted();
    drop(state);
    outcome(call, settled)
}

/// The end of a job as that of `ns_job wait`, with the trace of the job in front of ours.
fn outcome(call: &Call<'_>, settled: Settled) -> Outcome {
    if settled.code != "TCL_ERROR" {
        return Ok(Obj::from(settled.result));
    }
    // One word, as the reference gives it, whatever the script's code was.
    let error_code = tcl::list_format(&[&settled.error_code]);
    let words = [
        "::return",
        "-level",
        "0",
        "-code",
        "error",
        "-errorcode",
        &error_code,
        "-errorinfo",
        &settled.error_info,
        &settled.result,
    ];
    call.interp.call(&words.map(Obj::from))
}

fn wait_any(call: &Call<'_>, queue_name: &str, timeout: Option<Interval>) -> Outcome<()> {
    let jobs = jobs(call);
    let deadline = deadline(timeout);
    let mut state = jobs.lock();
    loop {
        let queue = state
            .queues
            .get(queue_name)
            .ok_or_else(|| no_queue(queue_name))?;
        let mut mine = queue.jobs.iter().filter(|j| !j.detached).peekable();
        if mine.peek().is_none() || mine.any(|j| j.state == State::Done) {
            return Ok(());
        }
        if !jobs.wait(&mut state, deadline) {
            return Err(timed_out());
        }
    }
}

fn configure(
    call: &Call<'_>,
    per_thread: Option<Int<0>>,
    log_min: Option<Interval>,
    timeout: Option<Interval>,
) -> Vec<Obj> {
    let jobs = jobs(call);
    let mut state = jobs.lock();
    let limits = &mut state.limits;
    if let Some(n) = per_thread {
        limits.jobs_per_thread = n.as_usize();
    }
    if let Some(t) = log_min {
        limits.log_min_duration = t.0.to_duration();
    }
    if let Some(t) = timeout {
        limits.idle_timeout = t.0.to_duration();
    }
    dict([
        ("jobsperthread", Obj::from(limits.jobs_per_thread)),
        ("timeout", Obj::from(seconds(limits.idle_timeout))),
        (
            "logminduration",
            Obj::from(seconds(limits.log_min_duration)),
        ),
    ])
}

fn threads_described(call: &Call<'_>) -> Vec<Obj> {
    let jobs = jobs(call);
    let state = jobs.lock();
    let max: usize = state.queues.values().map(|q| q.max).sum();
    dict([
        ("maxthreads", Obj::from(max)),
        ("numthreads", Obj::from(state.threads)),
        ("numidle", Obj::from(state.idle)),
        (
            "req",
            Obj::from(if state.stopping { "stop" } else { "none" }),
        ),
    ])
}

fn queue_described(name: &str, q: &Queue) -> Obj {
    Obj::list(dict([
        ("name", Obj::from(name)),
        ("desc", Obj::from(&q.description)),
        ("maxthreads", Obj::from(q.max)),
        ("numrunning", Obj::from(q.running())),
        ("req", Obj::from(if q.deleted { "delete" } else { "none" })),
    ]))
}

fn described(job: &Job) -> Obj {
    let time = |t: Option<shared::time::Time>| {
        Obj::from(t.map_or_else(|| "0".to_owned(), shared::time::Time::decimal))
    };
    let state = match job.state {
        State::Scheduled => "scheduled",
        State::Running => "running",
        State::Done => "done",
    };
    let (results, code) = match &job.settled {
        Some(s) => (s.result.as_str(), s.code),
        None => (job.script.as_str(), "TCL_OK"),
    };
    let request = match (job.cancelled, job.waited) {
        (true, _) => "cancel",
        (_, true) => "wait",
        _ => "none",
    };
    Obj::list(dict([
        ("id", Obj::from(&job.id)),
        ("state", Obj::from(state)),
        ("results", Obj::from(results)),
        ("script", Obj::from(&job.script)),
        ("code", Obj::from(code)),
        (
            "type",
            Obj::from(if job.detached {
                "detached"
            } else {
                "nondetached"
            }),
        ),
        ("req", Obj::from(request)),
        ("thread", Obj::from(&job.thread)),
        ("starttime", time(job.started)),
        ("endtime", time(job.ended)),
        ("time", Obj::from(job.elapsed().as_secs_f64())),
    ]))
}

fn dict<const N: usize>(pairs: [(&str, Obj); N]) -> Vec<Obj> {
    pairs
        .into_iter()
        .flat_map(|(k, v)| [Obj::from(k), v])
        .collect()
}

fn seconds(span: Duration) -> String {
    shared::time::Time::from_micros(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)).decimal()
}
