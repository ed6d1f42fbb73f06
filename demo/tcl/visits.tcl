# The logbook: listing arrivals, logging one by form or by JSON, casting off, the CSV file.

namespace eval ::harbour::visits {
    variable page_size 25
    # The fields of the form, in the order of the page.
    variable fields {ship berth arrived origin cargo tonnes remark}
}

# One page of the logbook, latest first. `state` is open, closed or empty for all.
proc ::harbour::visits::search {text state page} {
    variable page_size
    set where "1 = 1"
    if {$text ne ""} {
        set pattern "%[string map {\\ \\\\ % \\% _ \\_} $text]%"
        append where { and (s.name like :pattern escape '\' or v.origin like :pattern escape '\' or v.cargo like :pattern escape '\')}
    }
    switch -- $state {
        open   { append where " and v.departed is null" }
        closed { append where " and v.departed is not null" }
    }
    set total [::harbour::db::value "select count(*) from visit v join ship s on s.id = v.ship where $where"]
    set pages [expr {max(1, ($total + $page_size - 1) / $page_size)}]
    set page [expr {min($page, $pages)}]
    set offset [expr {($page - 1) * $page_size}]
    set rows [::harbour::db::rows "
        select v.*, s.name, b.code
          from visit v join ship s on s.id = v.ship join berth b on b.id = v.berth
         where $where order by v.arrived desc, v.id desc
         limit #page_size offset #offset"]
    return [dict create rows $rows total $total page $page pages $pages]
}

# Looks at what was sent. Returns two dictionaries: the values to store, and what is wrong.
proc ::harbour::visits::check {sent} {
    set problems {}
    foreach field $::harbour::visits::fields {
        set $field [expr {[dict exists $sent $field] ? [string trim [dict get $sent $field]] : ""}]
    }
    set ship_row [::harbour::ships::get $ship]
    if {$ship_row eq ""} {
        dict set problems ship "Choose a ship from the register."
    } elseif {[::harbour::db::row {select id from visit where ship = #ship and departed is null}] ne ""} {
        dict set problems ship "This ship is in port already. It has to cast off first."
    }
    set berth_row {}
    if {[::harbour::is_id $berth]} {
        set berth_row [::harbour::db::row {select * from berth where id = #berth}]
    }
    if {$berth_row eq ""} {
        dict set problems berth "Choose a berth."
    } elseif {[::harbour::db::row {select id from visit where berth = #berth and departed is null}] ne ""} {
        dict set problems berth "Another ship lies at this berth."
    } elseif {$ship_row ne ""} {
        if {[dict get $ship_row length] > [dict get $berth_row length]} {
            dict set problems berth "The ship is [dict get $ship_row length] m long, the berth only [dict get $berth_row length] m."
        } elseif {[dict get $ship_row draught] > [dict get $berth_row depth] - 0.2} {
            dict set problems berth "The ship draws [dict get $ship_row draught] m, the water is [dict get $berth_row depth] m deep."
        }
    }
    set seconds ""
    if {![regexp {^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?$} $arrived]
        || [catch {clock scan [string range $arrived 0 15] -format %Y-%m-%dT%H:%M} seconds]
        || [clock format $seconds -format %Y-%m-%dT%H:%M] ne [string range $arrived 0 15]} {
        dict set problems arrived "Give date and time, for example 2026-05-17T08:30."
    } elseif {$seconds > [clock seconds] + 600} {
        dict set problems arrived "The logbook records what has happened: this is in the future."
    } elseif {$seconds < [clock seconds] - 30 * 86400} {
        dict set problems arrived "More than 30 days ago: ask the harbour master."
    }
    if {$origin eq ""} {
        dict set problems origin "Where does the ship come from?"
    } elseif {[string length $origin] > 60} {
        dict set problems origin "At most 60 characters."
    }
    if {[string length $cargo] > 60} {
        dict set problems cargo "At most 60 characters."
    }
    if {$tonnes eq ""} { set tonnes 0 }
    if {![regexp {^[0-9]{1,6}$} $tonnes]} {
        dict set problems tonnes "A whole number of tonnes."
    } else {
        scan $tonnes %d tonnes
        if {$ship_row ne "" && $tonnes > 2 * [dict get $ship_row tonnage]} {
            dict set problems tonnes "More than this ship can carry."
        } elseif {$tonnes > 0 && $cargo eq ""} {
            dict set problems cargo "What are these tonnes of?"
        }
    }
    if {[string length $remark] > 500} {
        dict set problems remark "At most 500 characters, these are [string length $remark]."
    }
    set values [dict create]
    foreach field $::harbour::visits::fields { dict set values $field [set $field] }
    dict set values seconds $seconds
    return [list $values $problems]
}

# Checks and stores in one transaction: two people cannot give the same berth away.
# Returns the new visit's id or 0, and what is wrong.
proc ::harbour::visits::store {sent} {
    set id 0
    ::harbour::db::transaction {
        lassign [check $sent] values problems
        if {[dict size $problems] == 0} {
            dict with values {
                set id [::harbour::db::insert {
                    insert into visit (ship, berth, arrived, origin, cargo, tonnes, remark)
                    values (#ship, #berth, #seconds, :origin, :cargo, #tonnes, :remark)
                }]
            }
        }
    }
    return [list $id $problems]
}

# GET /visits/new, with ?ship=17 to begin with that ship
proc ::harbour::visits::form_page {} {
    set values [dict create ship [ns_queryget ship ""] arrived [ns_fmttime [ns_time] %Y-%m-%dT%H:%M]]
    ::harbour::render 200 visit-form [dict create values $values problems {}]
}

# POST /visits
proc ::harbour::visits::submit {} {
    variable fields
    set sent {}
    foreach field $fields { dict set sent $field [ns_queryget $field ""] }
    lassign [store $sent] id problems
    if {$id == 0} {
        ::harbour::render 422 visit-form [dict create values $sent problems $problems]
        return
    }
    ns_log notice "harbour: visit $id logged"
    ns_returnredirect /ships/[dict get $sent ship]?done=logged
}

# POST /visits/depart
proc ::harbour::visits::depart {} {
    set id [ns_queryget id ""]
    set visit {}
    if {[::harbour::is_id $id]} {
        set visit [::harbour::db::row {select ship, arrived from visit where id = #id and departed is null}]
    }
    if {$visit eq ""} {
        ::harbour::not_found
        return
    }
    set now [expr {max([ns_time], [dict get $visit arrived])}]
    ::harbour::db::run {update visit set departed = #now where id = #id and departed is null}
    ns_returnredirect /ships/[dict get $visit ship]?done=departed
}

# GET /visits.csv: written while the rows are read, however many there are.
proc ::harbour::visits::csv {} {
    ns_set update [ns_conn outputheaders] Content-Disposition {attachment; filename="logbook.csv"}
    ns_headers 200 "text/csv; charset=utf-8"
    ns_write "visit,ship,callsign,berth,arrived,departed,origin,cargo,tonnes\r\n"
    ::harbour::db::with db {
        set row [ns_db select $db "
            select v.id, s.name, s.callsign, b.code, v.arrived, v.departed, v.origin, v.cargo, v.tonnes
              from visit v join ship s on s.id = v.ship join berth b on b.id = v.berth
             order by v.arrived, v.id"]
        set lines ""
        while {[ns_db getrow $db $row]} {
            set cells {}
            for {set column 0} {$column < [ns_set size $row]} {incr column} {
                set text [ns_set value $row $column]
                if {$column in {4 5} && $text ne ""} { set text [ns_fmttime $text %Y-%m-%dT%H:%M] }
                lappend cells [csv_cell $text]
            }
            append lines [join $cells ,] \r\n
            if {[string length $lines] > 8000} {
                ns_write $lines
                set lines ""
            }
        }
        ns_write $lines
    }
}

# A cell of a CSV file (RFC 4180). A leading sign that spreadsheets take for a formula is disarmed.
proc ::harbour::visits::csv_cell {text} {
    if {[regexp {^[=+@\t-]} $text]} { set text "'$text" }
    if {[regexp {[",\r\n]} $text]} { return "\"[string map {\" \"\"} $text]\"" }
    return $text
}
