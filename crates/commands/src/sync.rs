//! Locks for scripts: ns_mutex, ns_rwlock, ns_cond, ns_event, ns_sema, ns_critsec.
//!
//! Handles are names. Locks are made when a name is used for the first time; conditions and semaphores must be created,
//! since waiting for one that nobody else knows would never end.

use std::sync::Arc;
use std::time::Duration;

use shared::sync::{CondVar, CritSec, Misuse, Mutex, Names, RwLock, Semaphore};
use synopsis::{Call, Time, commands};
use tcl::{Exit, Obj, Outcome};

use crate::kinds::context;

commands! { TABLE(call):

    /// Makes a mutex and gives its handle; the name is for `ns_info locks`.
    "ns_mutex create" (name: Option<String>) => create_mutex(call, name);

    /// Forgets the handle of a mutex.
    "ns_mutex destroy" (mutex_id as "mutexId": String) => locks(call).mutexes.remove(&mutex_id).map(|_| ());

    /// Evaluates a script with the mutex locked, whatever way the script ends.
    "ns_mutex eval" (mutex_id as "mutexId": String, script: Obj) => eval_locked(call, &mutex_id, &script);

    /// Waits for the mutex and locks it.
    "ns_mutex lock" (mutex_id as "mutexId": String) => told(call, &mutex_id, mutex(call, &mutex_id).lock());

    /// Locks the mutex if it is free: 0 when it was, -1 when somebody has it.
    "ns_mutex trylock" (mutex_id as "mutexId": String) => if mutex(call, &mutex_id).try_lock() { 0 } else { -1 };

    /// Gives the mutex back.
    "ns_mutex unlock" (mutex_id as "mutexId": String) => told(call, &mutex_id, mutex(call, &mutex_id).unlock());

    /// Makes a lock for many readers or one writer.
    "ns_rwlock create" () => locks(call).rwlocks.add("ns:rwlock:tcl:", |name| RwLock::new(name)).0;

    /// Forgets the handle of a lock.
    "ns_rwlock destroy" (rwlockid: String) => locks(call).rwlocks.remove(&rwlockid).map(|_| ());

    /// Evaluates a script with the lock held for reading.
    "ns_rwlock readeval" (rwlockid: String, script: Obj) => eval_reading(call, &rwlockid, &script);

    /// Waits until nobody writes, and reads.
    "ns_rwlock readlock" (rwlockid: String) => told(call, &rwlockid, rwlock(call, &rwlockid).read_lock());

    /// Ends reading.
    "ns_rwlock readunlock" (rwlockid: String) => told(call, &rwlockid, rwlock(call, &rwlockid).unlock());

    /// Ends reading or writing.
    "ns_rwlock unlock" (rwlockid: String) => told(call, &rwlockid, rwlock(call, &rwlockid).unlock());

    /// Evaluates a script with the lock held for writing.
    "ns_rwlock writeeval" (rwlockid: String, script: Obj) => eval_writing(call, &rwlockid, &script);

    /// Waits until nobody reads or writes, and writes.
    "ns_rwlock writelock" (rwlockid: String) => told(call, &rwlockid, rwlock(call, &rwlockid).write_lock());

    /// Ends writing.
    "ns_rwlock writeunlock" (rwlockid: String) => told(call, &rwlockid, rwlock(call, &rwlockid).unlock());

    /// Waits for a condition until a point in time: 1 when it came, 0 when the time did. The mutex must be locked.
    "ns_cond abswait" (cond_id as "condId": String, mutex_id as "mutexId": String, epoch: Option<Time>)
        => wait(call, &cond_id, &mutex_id, epoch.map(until));

    /// Wakes all threads that wait.
    "ns_cond broadcast" (cond_id as "condId": String) => condition(call, &cond_id).map(|c| c.broadcast());

    /// Makes a condition.
    "ns_cond create" () => locks(call).conditions.add("ns:cond:tcl:", |_| CondVar::default()).0;

    /// Forgets the handle of a condition.
    "ns_cond destroy" (cond_id as "condId": String) => destroy_condition(call, &cond_id);

    /// Wakes the thread that has waited longest.
    "ns_cond set" (cond_id as "condId": String) => condition(call, &cond_id).map(|c| c.signal());

    /// Wakes the thread that has waited longest.
    "ns_cond signal" (cond_id as "condId": String) => condition(call, &cond_id).map(|c| c.signal());

    /// Waits for a condition for some time: 1 when it came, 0 when it did not. The mutex must be locked.
    "ns_cond wait" (cond_id as "condId": String, mutex_id as "mutexId": String, timeout: Option<Time>)
        => wait(call, &cond_id, &mutex_id, timeout.map(Time::to_duration));

    /// Older name of `ns_cond abswait`.
    "ns_event abswait" (cond_id as "condId": String, mutex_id as "mutexId": String, epoch: Option<Time>)
        => wait(call, &cond_id, &mutex_id, epoch.map(until));

    /// Older name of `ns_cond broadcast`.
    "ns_event broadcast" (cond_id as "condId": String) => condition(call, &cond_id).map(|c| c.broadcast());

    /// Older name of `ns_cond create`.
    "ns_event create" () => locks(call).conditions.add("ns:cond:tcl:", |_| CondVar::default()).0;

    /// Older name of `ns_cond destroy`.
    "ns_event destroy" (cond_id as "condId": String) => destroy_condition(call, &cond_id);

    /// Older name of `ns_cond set`.
    "ns_event set" (cond_id as "condId": String) => condition(call, &cond_id).map(|c| c.signal());

    /// Older name of `ns_cond signal`.
    "ns_event signal" (cond_id as "condId": String) => condition(call, &cond_id).map(|c| c.signal());

    /// Older name of `ns_cond wait`.
    "ns_event wait" (cond_id as "condId": String, mutex_id as "mutexId": String, timeout: Option<Time>)
        => wait(call, &cond_id, &mutex_id, timeout.map(Time::to_duration));

    /// Makes a semaphore with a count to begin with.
    "ns_sema create" (count: i64 = 0) => locks(call).semaphores.add("ns:semaphore:tcl:", |_| Semaphore::new(count)).0;

    /// Forgets the handle of a semaphore.
    "ns_sema destroy" (handle: String) => destroy_semaphore(call, &handle);

    /// Raises the count.
    "ns_sema release" (handle: String, count: i64 = 1) => semaphore(call, &handle).map(|s| s.release(count));

    /// Waits until the count is above zero, and lowers it.
    "ns_sema wait" (handle: String) => semaphore(call, &handle).map(|s| s.wait());

    /// Makes a critical section: a lock its owner may take again.
    "ns_critsec create" () => locks(call).sections.add("ns:critsec:tcl:", |name| CritSec::new(name)).0;

    /// Forgets the handle of a critical section.
    "ns_critsec destroy" (csid: String) => locks(call).sections.remove(&csid).map(|_| ());

    /// Waits for the critical section and enters it.
    "ns_critsec enter" (csid: String) => section(call, &csid).enter();

    /// Evaluates a script in the critical section.
    "ns_critsec eval" (csid: String, script: Obj) => eval_in_section(call, &csid, &script);

    /// Leaves the critical section.
    "ns_critsec leave" (csid: String) => told(call, &csid, section(call, &csid).leave());
}

/// The locks of a server by their handles. An extension of the server.
#[derive(Default)]
struct Locks {
    mutexes: Names<Mutex>,
    rwlocks: Names<RwLock>,
    conditions: Names<CondVar>,
    semaphores: Names<Semaphore>,
    sections: Names<CritSec>,
}

fn locks(call: &Call<'_>) -> Arc<Locks> {
    context(call).server().extensions.get()
}

fn create_mutex(call: &Call<'_>, name: Option<String>) -> String {
    locks(call)
        .mutexes
        .add("ns:mutex:tcl:", |handle| {
            Mutex::new(name.as_deref().unwrap_or(handle))
        })
        .0
}

fn mutex(call: &Call<'_>, name: &str) -> Arc<Mutex> {
    locks(call).mutexes.get_or_make(name, || Mutex::new(name))
}

fn rwlock(call: &Call<'_>, name: &str) -> Arc<RwLock> {
    locks(call).rwlocks.get_or_make(name, || RwLock::new(name))
}

fn section(call: &Call<'_>, name: &str) -> Arc<CritSec> {
    locks(call)
        .sections
        .get_or_make(name, || CritSec::new(name))
}

fn condition(call: &Call<'_>, name: &str) -> Result<Arc<CondVar>, Exit> {
    locks(call)
        .conditions
        .get(name)
        .ok_or_else(|| unknown(call, name, "condition"))
}

fn semaphore(call: &Call<'_>, name: &str) -> Result<Arc<Semaphore>, Exit> {
    locks(call)
        .semaphores
        .get(name)
        .ok_or_else(|| unknown(call, name, "semaphore"))
}

fn destroy_condition(call: &Call<'_>, name: &str) -> Outcome<()> {
    locks(call)
        .conditions
        .remove(name)
        .map(|_| ())
        .ok_or_else(|| unknown(call, name, "condition"))
}

fn destroy_semaphore(call: &Call<'_>, name: &str) -> Outcome<()> {
    locks(call)
        .semaphores
        .remove(name)
        .map(|_| ())
        .ok_or_else(|| unknown(call, name, "semaphore"))
}

fn unknown(call: &Call<'_>, name: &str, what: &str) -> Exit {
    let command = call.words.first().map(Obj::text).unwrap_or_default();
    tcl::error(format!(
        "{command}: could not convert '{name}' to {what} object"
    ))
}

/// Wakes as the time comes; a point that has passed is no wait at all.
fn until(epoch: Time) -> Duration {
    let left = epoch.micros().saturating_sub(Time::now().micros());
    Duration::from_micros(u64::try_from(left).unwrap_or(0))
}

fn wait(
    call: &Call<'_>,
    condition_name: &str,
    mutex_name: &str,
    limit: Option<Duration>,
) -> Outcome<bool> {
    let condition = condition(call, condition_name)?;
    let mutex = mutex(call, mutex_name);
    condition
        .wait(&mutex, limit)
        .map_err(|e| misuse(call, mutex_name, e))
}

fn told(call: &Call<'_>, name: &str, result: Result<(), Misuse>) -> Outcome<()> {
    result.map_err(|e| misuse(call, name, e))
}

fn misuse(call: &Call<'_>, name: &str, e: Misuse) -> Exit {
    tcl::error(format!("{} {name}: {e}", call.typed()))
}

fn eval_locked(call: &Call<'_>, name: &str, script: &Obj) -> Outcome {
    let mutex = mutex(call, name);
    told(call, name, mutex.lock())?;
    let result = call.interp.eval_obj(script);
    // The script may have unlocked it, which is its business.
    let _ = mutex.unlock();
    result
}

fn eval_reading(call: &Call<'_>, name: &str, script: &Obj) -> Outcome {
    let lock = rwlock(call, name);
    told(call, name, lock.read_lock())?;
    let result = call.interp.eval_obj(script);
    let _ = lock.unlock();
    result
}

fn eval_writing(call: &Call<'_>, name: &str, script: &Obj) -> Outcome {
    let lock = rwlock(call, name);
    told(call, name, lock.write_lock())?;
    let result = call.interp.eval_obj(script);
    let _ = lock.unlock();
    result
}

fn eval_in_section(call: &Call<'_>, name: &str, script: &Obj) -> Outcome {
    let section = section(call, name);
    section.enter();
    let result = call.interp.eval_obj(script);
    let _ = section.leave();
    result
}
