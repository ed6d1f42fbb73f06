# The tide table: a real computation, long enough to be worth a cache.

namespace eval ::harbour::tides {
    # Name, amplitude in metres, speed in degrees an hour, phase in degrees. The speeds are the
    # tides' own, the rest belongs to this invented harbour.
    variable constituents {
        M2 1.12 28.9841042  41
        S2 0.38 30.0000000  83
        N2 0.23 28.4397295  17
        K2 0.11 30.0821373  85
        K1 0.09 15.0410686 172
        O1 0.07 13.9430356  12
        M4 0.08 57.9682084 214
    }
    variable mean 1.9
}

# One entry per length of table; a table is good until the hour it begins with is over.
ns_cache_create -expires 1h -- harbour_tides 1MB

# The water's height in metres above chart datum, at `hours` since 1970.
proc ::harbour::tides::height {hours} {
    variable constituents
    variable mean
    set height $mean
    foreach {name amplitude speed phase} $constituents {
        set height [expr {$height + $amplitude * cos(($speed * $hours - $phase) * 0.017453292519943295)}]
    }
    return $height
}

# Computes minute by minute. Returns a dictionary: curve (pairs of seconds and metres), turns
# (high|low, seconds, metres), milliseconds it took, when it was made, evaluations.
proc ::harbour::tides::compute {begin days} {
    set started [clock microseconds]
    set curve {}
    set turns {}
    set end [expr {$begin + $days * 86400}]
    set step [expr {$days * 600}]
    set before [height [expr {($begin - 120) / 3600.0}]]
    set middle [height [expr {($begin - 60) / 3600.0}]]
    set evaluations 2
    for {set at $begin} {$at <= $end} {incr at 60} {
        set now [height [expr {$at / 3600.0}]]
        incr evaluations
        if {$middle > $before && $middle >= $now} {
            lappend turns [list high [expr {$at - 60}] [format %.2f $middle]]
        } elseif {$middle < $before && $middle <= $now} {
            lappend turns [list low [expr {$at - 60}] [format %.2f $middle]]
        }
        if {($at - $begin) % $step == 0} { lappend curve $at [format %.2f $now] }
        set before $middle
        set middle $now
    }
    set took [expr {([clock microseconds] - $started) / 1000.0}]
    return [dict create curve $curve turns $turns took [format %.1f $took] \
        made $started evaluations $evaluations begin $begin days $days]
}

# The table from the hour that has begun, out of the cache or computed now. Adds to the table:
# cached (1 when it was there already) and waited (milliseconds until it was at hand).
proc ::harbour::tides::table {days} {
    set asked [clock microseconds]
    set begin [expr {$asked / 1000000 / 3600 * 3600}]
    set table [ns_cache_eval -- harbour_tides $begin/$days [list ::harbour::tides::compute $begin $days]]
    set waited [expr {([clock microseconds] - $asked) / 1000.0}]
    dict set table cached [expr {[dict get $table made] < $asked}]
    dict set table waited [format %.2f $waited]
    return $table
}

# The next time the water turns after now: {high|low seconds metres}, for the home page.
proc ::harbour::tides::next {} {
    set now [clock seconds]
    foreach turn [dict get [table 1] turns] {
        if {[lindex $turn 1] > $now} { return $turn }
    }
    return {}
}

# The curve as a drawing, 1000 by 300 units.
proc ::harbour::tides::drawing {table} {
    set begin [dict get $table begin]
    set span [expr {[dict get $table days] * 86400.0}]
    set points {}
    foreach {at height} [dict get $table curve] {
        lappend points [format "%.1f %.1f" [expr {($at - $begin) / $span * 1000}] [expr {280 - $height * 65}]]
    }
    set line "M[join $points " L"]"
    set svg "<svg class=\"tide\" viewBox=\"0 0 1000 300\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Height of the water over the next days\">"
    foreach metres {0 1 2 3 4} {
        set y [expr {280 - $metres * 65}]
        append svg "<path class=\"grid\" d=\"M0 $y H1000\"/>"
    }
    append svg "<path class=\"area\" d=\"$line L1000 300 L0 300 Z\"/><path class=\"line\" d=\"$line\"/></svg>"
    return $svg
}

# POST /tides/forget
proc ::harbour::tides::forget {} {
    ns_cache_flush harbour_tides
    ns_returnredirect /tides?done=computed[expr {[ns_queryget days ""] in {1 3 7 14} ? "&days=[ns_queryget days]" : ""}]
}
