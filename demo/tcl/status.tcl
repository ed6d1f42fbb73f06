# What the server says about itself, for the status page and for GET /api/status.

namespace eval ::harbour::status {}

# Asks a command; the page shows what there is, and a server that cannot answer one question
# still answers the others.
proc ::harbour::status::ask {default args} {
    if {[catch {{*}$args} answer]} {
        ns_log debug "harbour: [lindex $args 0]: $answer"
        return $default
    }
    return $answer
}

# The process's resident memory in bytes, by Linux; 0 elsewhere.
proc ::harbour::status::memory {} {
    if {[catch {
        set channel [open /proc/self/status]
        set text [read $channel]
        close $channel
    }]} { return 0 }
    if {![regexp {VmRSS:\s+([0-9]+) kB} $text all kilobytes]} { return 0 }
    return [expr {$kilobytes * 1024}]
}

# Everything in one dictionary.
proc ::harbour::status::collect {} {
    set threads [ask {} ns_server threads]
    set requests 0
    foreach method [ask {} nsv_array names harbour_requests] {
        if {$method ne "count"} { incr requests [nsv_get harbour_requests $method] }
    }
    set names {}
    foreach thread [ask {} ns_info threads] { lappend names [lindex $thread 0] }
    set caches {}
    foreach cache [lsort [ask {} ns_cache_names]] {
        dict set caches $cache [ask {} ns_cache_stats $cache]
    }
    return [dict create \
        name     [ask - ns_info name] \
        version  [ask - ns_info patchlevel] \
        tcl      [info patchlevel] \
        host     [ask - ns_info hostname] \
        pid      [ask [pid] ns_info pid] \
        uptime   [ask 0 ns_info uptime] \
        memory   [memory] \
        requests $requests \
        active   [llength [ask {} ns_server active]] \
        waiting  [ask 0 ns_server waiting] \
        connthreads [expr {[dict exists $threads current] ? [dict get $threads current] : "-"}] \
        idle     [expr {[dict exists $threads idle] ? [dict get $threads idle] : "-"}] \
        maximum  [ask - ns_server maxthreads] \
        pools    [ask {} ns_server pools] \
        stats    [ask {} ns_server stats] \
        drivers  [ask {} ns_driver stats] \
        threads  $names \
        scheduled [llength [ask {} ns_info scheduled]] \
        caches   $caches \
        watch    [::harbour::watch::report]]
}

# Rows of a table of names and values.
proc ::harbour::status::pairs_table {pairs} {
    set out ""
    foreach {key value} $pairs {
        append out "<tr><th scope=\"row\">[::harbour::h $key]</th><td>[::harbour::h [::harbour::thousands $value]]</td></tr>"
    }
    return $out
}
