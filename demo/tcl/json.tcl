# JSON (RFC 8259), written and read in Tcl. Tcl values carry no types, so writing names them:
#   json::object id [json::number 17] name [json::string Vega]
# and reading returns pairs of type and value.

namespace eval ::harbour::json {}

proc ::harbour::json::string {text} {
    set map {\\ \\\\ \" \\\" \b \\b \f \\f \n \\n \r \\r \t \\t < \\u003c \u2028 \\u2028 \u2029 \\u2029}
    set text [::string map $map $text]
    # The other control characters have no short form.
    while {[regexp -indices {[\x00-\x1f\x7f]} $text place]} {
        set at [lindex $place 0]
        scan [::string index $text $at] %c code
        set text [::string replace $text $at $at [format {\u%04x} $code]]
    }
    return "\"$text\""
}

# A number, or null for anything that is none.
proc ::harbour::json::number {value} {
    if {[regexp {^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$} $value]} { return $value }
    return null
}

proc ::harbour::json::boolean {value} { return [expr {$value ? "true" : "false"}] }

# Members are JSON already.
proc ::harbour::json::array {members} { return "\[[join $members ,]\]" }

proc ::harbour::json::object {args} {
    set parts {}
    foreach {key value} $args { lappend parts "[string $key]:$value" }
    return "{[join $parts ,]}"
}

# Reads one JSON text: {string x} {number 1} {boolean 1} {null {}} {array {pair ...}}
# {object {key pair ...}}. Errors carry the code HARBOUR JSON and the place.
proc ::harbour::json::parse {text} {
    set at 0
    set value [value $text at 0]
    space $text at
    if {$at < [::string length $text]} { fail $at "something follows the value" }
    return $value
}

proc ::harbour::json::fail {at message} {
    return -level 1 -code error -errorcode {HARBOUR JSON} "at character $at: $message"
}

proc ::harbour::json::space {text name} {
    upvar 1 $name at
    regexp -indices -start $at {\A[ \t\r\n]*} $text place
    set at [expr {[lindex $place 1] + 1}]
}

proc ::harbour::json::value {text name depth} {
    upvar 1 $name at
    if {$depth > 50} { fail $at "nested too deeply" }
    space $text at
    switch -- [::string index $text $at] {
        "\{" { return [list object [members $text at $depth]] }
        "\[" { return [list array [elements $text at $depth]] }
        "\"" { return [list string [characters $text at]] }
    }
    if {[regexp -indices -start $at {\A-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?} $text place]} {
        set number [::string range $text {*}$place]
        set at [expr {[lindex $place 1] + 1}]
        return [list number $number]
    }
    foreach {word pair} {true {boolean 1} false {boolean 0} null {null {}}} {
        set last [expr {$at + [::string length $word] - 1}]
        if {[::string range $text $at $last] eq $word} {
            set at [expr {$last + 1}]
            return $pair
        }
    }
    fail $at "a value is missing"
}

proc ::harbour::json::members {text name depth} {
    upvar 1 $name at
    set pairs {}
    incr at
    space $text at
    if {[::string index $text $at] eq "\}"} { incr at; return {} }
    while 1 {
        space $text at
        if {[::string index $text $at] ne "\""} { fail $at "a member's name is missing" }
        set key [characters $text at]
        space $text at
        if {[::string index $text $at] ne ":"} { fail $at "a colon is missing" }
        incr at
        dict set pairs $key [value $text at [expr {$depth + 1}]]
        space $text at
        set sign [::string index $text $at]
        incr at
        if {$sign eq "\}"} { return $pairs }
        if {$sign ne ","} { fail [expr {$at - 1}] "a comma or a closing brace is missing" }
    }
}

proc ::harbour::json::elements {text name depth} {
    upvar 1 $name at
    set list {}
    incr at
    space $text at
    if {[::string index $text $at] eq "\]"} { incr at; return {} }
    while 1 {
        lappend list [value $text at [expr {$depth + 1}]]
        space $text at
        set sign [::string index $text $at]
        incr at
        if {$sign eq "\]"} { return $list }
        if {$sign ne ","} { fail [expr {$at - 1}] "a comma or a closing bracket is missing" }
    }
}

proc ::harbour::json::characters {text name} {
    upvar 1 $name at
    incr at
    set out ""
    while 1 {
        regexp -indices -start $at {\A[^"\\\x00-\x1f]*} $text place
        append out [::string range $text {*}$place]
        set at [expr {[lindex $place 1] + 1}]
        set sign [::string index $text $at]
        if {$sign eq "\""} { incr at; return $out }
        if {$sign ne "\\"} { fail $at "a string does not end or holds a control character" }
        set sign [::string index $text $at+1]
        if {[regexp {^["\\/bfnrt]$} $sign]} {
            append out [::string map {b \b f \f n \n r \r t \t} $sign]
            incr at 2
        } elseif {[regexp -start $at {\A\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})} $text all high low]} {
            scan "$high $low" "%x %x" high low
            append out [format %c [expr {0x10000 + (($high & 0x3ff) << 10) + ($low & 0x3ff)}]]
            incr at 12
        } elseif {[regexp -start $at {\A\\u([0-9a-fA-F]{4})} $text all code]} {
            scan $code %x code
            # Half a pair alone is no character.
            if {($code & 0xf800) == 0xd800} { set code 0xfffd }
            append out [format %c $code]
            incr at 6
        } else {
            fail $at "an escape is not one of JSON's"
        }
    }
}
