# The harbour as JSON: GET /api/ships, /api/ships/17, /api/berths, /api/status; POST /api/visits.

namespace eval ::harbour::api {}

proc ::harbour::api::answer {status json} {
    ns_set update [ns_conn outputheaders] Cache-Control no-store
    ns_return $status "application/json; charset=utf-8" "$json\n"
}

proc ::harbour::api::problem {status message {fields {}}} {
    set pairs {}
    dict for {field text} $fields { lappend pairs $field [::harbour::json::string $text] }
    answer $status [::harbour::json::object \
        error [::harbour::json::string $message] fields [::harbour::json::object {*}$pairs]]
}

proc ::harbour::api::unknown {} { problem 404 "there is nothing at [ns_conn url]" }

proc ::harbour::api::ship_json {ship} {
    set pairs {}
    foreach key {id length draught tonnage built visits} {
        if {[dict exists $ship $key]} { lappend pairs $key [::harbour::json::number [dict get $ship $key]] }
    }
    foreach key {name callsign flag kind home berth} {
        if {[dict exists $ship $key]} {
            set text [dict get $ship $key]
            lappend pairs $key [expr {$text eq "" ? "null" : [::harbour::json::string $text]}]
        }
    }
    return [::harbour::json::object {*}$pairs]
}

# GET /api/ships?q=&kind=&sort=&order=&page=&limit=
proc ::harbour::api::ships {} {
    set found [::harbour::ships::search [string trim [ns_queryget q ""]] [ns_queryget kind ""] \
        [ns_queryget sort name] [ns_queryget order asc] \
        [::harbour::within [ns_queryget page 1] 1 100000 1] [::harbour::within [ns_queryget limit 20] 1 100 20]]
    set members {}
    foreach row [dict get $found rows] { lappend members [ship_json $row] }
    answer 200 [::harbour::json::object \
        total [dict get $found total] page [dict get $found page] pages [dict get $found pages] \
        ships [::harbour::json::array $members]]
}

# GET /api/ships/17
proc ::harbour::api::ship {} {
    set ship {}
    if {[ns_conn urlc] == 3} { set ship [::harbour::ships::get [ns_conn urlv 2]] }
    if {$ship eq ""} {
        problem 404 "no such ship"
    } else {
        answer 200 [ship_json $ship]
    }
}

# GET /api/berths
proc ::harbour::api::berths {} {
    set members {}
    foreach berth [::harbour::ships::berths] {
        set ship null
        if {[dict get $berth ship] ne ""} {
            set ship [::harbour::json::object \
                id [dict get $berth ship] \
                name [::harbour::json::string [dict get $berth name]] \
                since [::harbour::json::number [dict get $berth arrived]]]
        }
        lappend members [::harbour::json::object \
            id [dict get $berth id] \
            code [::harbour::json::string [dict get $berth code]] \
            quay [::harbour::json::string [dict get $berth quay]] \
            length [::harbour::json::number [dict get $berth length]] \
            depth [::harbour::json::number [dict get $berth depth]] \
            ship $ship]
    }
    answer 200 [::harbour::json::array $members]
}

# GET /api/status: what the status page refreshes itself with
proc ::harbour::api::status {} {
    set status [::harbour::status::collect]
    set watch [dict get $status watch]
    set pairs {}
    foreach key {uptime memory requests active waiting connthreads idle scheduled pid} {
        lappend pairs $key [::harbour::json::number [dict get $status $key]]
    }
    foreach key {name version tcl} {
        lappend pairs $key [::harbour::json::string [dict get $status $key]]
    }
    lappend pairs threads [llength [dict get $status threads]]
    lappend pairs uptimetext [::harbour::json::string [::harbour::duration [dict get $status uptime]]]
    lappend pairs memorytext [::harbour::json::string [::harbour::bytes [dict get $status memory]]]
    lappend pairs watch [::harbour::json::object \
        rounds [::harbour::json::number [dict get $watch rounds]] \
        at [::harbour::json::number [dict get $watch at]] \
        text [::harbour::json::string [::harbour::moment [dict get $watch at]]]]
    answer 200 [::harbour::json::object {*}$pairs]
}

# POST /api/visits with an object of the form's fields. 201 and the visit's number, or 422 and
# what is wrong with which field.
proc ::harbour::api::log_visit {} {
    if {[catch {::harbour::json::parse [ns_conn content]} value options]} {
        if {[lrange [dict get $options -errorcode] 0 1] ne {HARBOUR JSON}} {
            return -options $options $value
        }
        problem 400 $value
        return
    }
    lassign $value type members
    if {$type ne "object"} {
        problem 400 "an object is expected"
        return
    }
    set sent {}
    dict for {key member} $members {
        # Text and numbers are what the form's fields can hold; anything else counts as missing.
        if {[lindex $member 0] in {string number}} { dict set sent $key [lindex $member 1] }
    }
    lassign [::harbour::visits::store $sent] id problems
    if {$id == 0} {
        problem 422 "the visit cannot be logged" $problems
        return
    }
    set ship [dict get $sent ship]
    ns_set update [ns_conn outputheaders] Location /ships/$ship
    answer 201 [::harbour::json::object id $id ship [::harbour::json::number $ship]]
}
