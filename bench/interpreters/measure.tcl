# See run. Threads wait for a semaphore, so that their memory is seen while all are there.
proc rss {} {
    set f [open /proc/self/status]
    set text [read $f]
    close $f
    regexp {VmRSS:\s+(\d+)} $text -> kb
    return $kb
}
proc ms {micros} {format %.2f [expr {$micros / 1000.0}]}

# Time: best of many, since others may use the machine.
proc best {script n} {
    set best 1e12
    for {set i 0} {$i < $n} {incr i} {
        set t [lindex [time {ns_thread wait [ns_thread create $script]}] 0]
        if {$t < $best} {set best $t}
    }
    return $best
}
proc memory {script n} {
    set ready [ns_sema create 0]
    set go [ns_sema create 0]
    set before [rss]
    set ids {}
    for {set i 0} {$i < $n} {incr i} {
        lappend ids [ns_thread create "$script; ns_sema release $ready; ns_sema wait $go"]
        ns_sema wait $ready
    }
    set after [rss]
    ns_sema release $go $n
    foreach id $ids {ns_thread wait $id}
    return [expr {($after - $before) / double($n) / 1024}]
}
set none {set x 1}
set some {for {set i 0} {$i < 5000} {incr i 25} {::app::part[expr {$i % 50}]::p$i a 6 1 2}}
set all {for {set i 0} {$i < $::env(PROCS)} {incr i} {::app::part[expr {$i % 50}]::p$i a 6 1 2}}
memory $none 4
foreach {name script n} [list "none called" $none 30 "200 called" $some 10 "all called" $all 5] {
    puts [format "Tcl %s, %d procedures, %-12s %8s ms %8.2f MB per thread" \
        [info patchlevel] $::env(PROCS) $name: [ms [best $script $n]] [memory $script $n]]
}
