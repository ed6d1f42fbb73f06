# The harbour watch: a scheduled task that takes stock every minute and tidies up.

namespace eval ::harbour::watch {}

# One round. Runs in a thread of its own, without a request.
proc ::harbour::watch::round {why} {
    set started [clock microseconds]
    if {[catch {
        set now [clock seconds]
        set today [expr {$now - 86400}]
        set in_port [::harbour::db::value {select count(*) from visit where departed is null}]
        set berths [::harbour::db::value {select count(*) from berth}]
        set arrivals [::harbour::db::value {select count(*) from visit where arrived > #today}]
        set longest [::harbour::db::row {
            select s.id, s.name, v.arrived from visit v join ship s on s.id = v.ship
             where v.departed is null order by v.arrived limit 1
        }]
        set swept [::harbour::files::sweep]
        set taken [expr {[clock microseconds] - $started}]
        ::harbour::db::transaction {
            ::harbour::db::run {insert into round (at, taken, in_port, arrivals) values (#now, #taken, #in_port, #arrivals)}
            ::harbour::db::run {delete from round where rowid not in (select rowid from round order by at desc limit 240)}
        }
        nsv_array set harbour_watch [list \
            at $now taken $taken why $why in_port $in_port berths $berths arrivals $arrivals \
            longest $longest swept $swept error ""]
    } problem]} {
        ns_log error "harbour: the watch failed: $problem\n$::errorInfo"
        nsv_set harbour_watch error $problem
    }
    nsv_incr harbour_watch rounds
}

# What the last round saw: a dictionary, with rounds 0 before the first one.
proc ::harbour::watch::report {} {
    set report [dict create at "" taken 0 why "" in_port 0 berths 0 arrivals 0 longest {} swept 0 error "" rounds 0]
    if {[nsv_array exists harbour_watch]} {
        set report [dict merge $report [nsv_array get harbour_watch]]
    }
    return $report
}

# POST /watch/round: makes a round now.
proc ::harbour::watch::ask {} {
    round "asked for"
    ns_returnredirect /status?done=watched
}

ns_schedule_proc -thread -once 1 {::harbour::watch::round start}
ns_schedule_proc -thread [::harbour::setting watchseconds] {::harbour::watch::round timetable}
