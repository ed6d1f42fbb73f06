# Invented data for an empty logbook: the same ships every time, visits up to the present.

namespace eval ::harbour::seed {
    variable state 20260401

    # kind, shortest, longest, least draught, most draught, cargoes
    variable kinds {
        {Freighter   70 165 3.8 8.4 {Timber Grain Steel "Paper rolls" Fertiliser}}
        {Tanker      85 180 4.5 9.2 {"Fuel oil" Methanol "Rapeseed oil"}}
        {Ferry       60 150 3.2 6.2 {Passengers "Cars and lorries"}}
        {Trawler     18  62 2.4 5.6 {Herring Cod Mackerel Prawns}}
        {"Sail trader" 24 58 2.2 4.4 {Coffee Olive\u00a0oil Wine "Sea salt"}}
        {Tug         16  38 2.1 4.8 {}}
        {Survey      30  92 2.8 6.1 {Instruments}}
    }
    variable first {
        Amber Bright Clear Distant Eastern Gentle Grey Little Lively Northern Patient Quiet Red
        Restless Silver Steady Summer Western White Winter
    }
    variable second {
        Albatross Anchor Cormorant Dolphin Eider Gale Gannet Harbour Heron Horizon Lantern
        Mermaid Osprey Pilot Puffin Seal Skerry Star Tern Tide
    }
    variable special {
        "Sj\u00f8stjerna" "Bj\u00f8rnen" "\u00c5se Marie" "Vega" "Solveig" "Na\u00efade" "R\u00edo Negro"
        "Pearl & Sons" "O'Malley's Pride" "Str\u00f6mling" "\u0395\u03bb\u03c0\u03af\u03b4\u03b1" "Gda\u0144sk Trader"
    }
    variable flags {Norway Sweden Denmark Finland Germany Netherlands Poland Estonia Iceland Ireland Greece Portugal}
    variable ports {
        Bergen Gothenburg Aarhus Turku Hamburg Rotterdam "Gda\u0144sk" Tallinn "Reykjav\u00edk" Cork Piraeus Porto
        Stavanger "Troms\u00f8" Esbjerg Kiel Antwerp Riga
    }
    # code, quay, length in metres, depth in metres
    variable berths {
        {N1 "North Quay" 210 10.5} {N2 "North Quay" 190 10.0} {N3 "North Quay" 175 9.0} {N4 "North Quay" 160 8.5}
        {S1 "South Quay" 150 8.0}  {S2 "South Quay" 130 7.5}  {S3 "South Quay" 110 7.0} {S4 "South Quay" 95 6.5}
        {P1 "Fish Pier" 70 6.0}    {P2 "Fish Pier" 60 5.5}    {P3 "Fish Pier" 45 5.0}   {P4 "Fish Pier" 35 4.5}
    }
}

# A number from 0 up to below `limit`. Own arithmetic, so that every run invents the same.
proc ::harbour::seed::dice {limit} {
    variable state
    set state [expr {($state * 1103515245 + 12345) & 0x7fffffff}]
    return [expr {int(double($state) / 0x80000000 * $limit)}]
}

proc ::harbour::seed::pick {list} { return [lindex $list [dice [llength $list]]] }

proc ::harbour::seed::fill {} {
    variable state 20260401
    variable berths
    foreach berth $berths {
        lassign $berth code quay length depth
        ::harbour::db::run {
            insert into berth (code, quay, length, depth) values (:code, :quay, #length, :depth)
        }
    }
    set ships [ships]
    set visits [visits $ships]
    ns_log notice "harbour: [llength $ships] ships and $visits visits invented"
}

# Inserts the ships; returns {id length draught kind} of each.
proc ::harbour::seed::ships {} {
    variable kinds
    variable first
    variable second
    variable special
    variable flags
    variable ports
    set names $special
    while {[llength $names] < 160} {
        set name "[pick $first] [pick $second]"
        if {$name ni $names} { lappend names $name }
    }
    set ships {}
    set number 0
    foreach name $names {
        incr number
        lassign [pick $kinds] kind shortest longest shallow deep
        set length [expr {$shortest + [dice [expr {$longest - $shortest + 1}]]}]
        set share [expr {double($length - $shortest) / ($longest - $shortest)}]
        set draught [format %.1f [expr {$shallow + ($deep - $shallow) * $share}]]
        set tonnage [expr {int($length * $length * $draught / 14.0)}]
        set flag [pick $flags]
        set home [pick $ports]
        set built [expr {1962 + [dice 62]}]
        # 37 and 401 have no common factor: no call sign comes twice.
        set code [expr {$number * 37 % 401}]
        set callsign [string toupper [string range $flag 0 1]][format %c%03d [expr {65 + $number % 26}] $code]
        set id [::harbour::db::insert {
            insert into ship (name, callsign, flag, kind, length, draught, tonnage, built, home)
            values (:name, :callsign, :flag, :kind, #length, :draught, #tonnage, #built, :home)
        }]
        lappend ships [list $id $length $draught $kind $tonnage]
    }
    return $ships
}

# Six weeks of coming and going at every berth; returns how many visits.
proc ::harbour::seed::visits {ships} {
    variable kinds
    variable ports
    set now [clock seconds]
    set begin [expr {$now / 3600 * 3600 - 42 * 86400}]
    foreach kind $kinds { set cargoes([lindex $kind 0]) [lindex $kind 5] }
    set events {}
    foreach berth [::harbour::db::rows {select id, length, depth from berth order by id}] {
        set at [expr {$begin + [dice 172800]}]
        while {$at < $now - 1800} {
            set stay [expr {6 * 3600 + [dice 180000] / 300 * 300}]
            # A ship that fits and is nowhere else meanwhile; give up after some tries.
            for {set try 0} {$try < 60} {incr try} {
                lassign [pick $ships] id length draught kind tonnage
                if {$length > [dict get $berth length] - 8 || $length * 3 < [dict get $berth length]} { continue }
                if {$draught > [dict get $berth depth] - 0.4} { continue }
                if {[info exists busy($id)] && [overlaps $busy($id) $at [expr {$at + $stay}]]} { continue }
                lappend busy($id) [list $at [expr {$at + $stay}]]
                lappend events [list $at [expr {$at + $stay}] $id [dict get $berth id] $kind $tonnage]
                break
            }
            set at [expr {$at + $stay + 3600 + [dice 100000] / 300 * 300}]
        }
    }
    # In the order of arrival, so that the numbers in the logbook rise with time.
    foreach event [lsort -integer -index 0 $events] {
        lassign $event arrived departed ship berth kind tonnage
        if {$departed > $now} { set departed "" }
        set origin [pick $ports]
        set cargo [pick $cargoes($kind)]
        set tonnes 0
        if {$cargo ni {"" Passengers Instruments}} { set tonnes [expr {int($tonnage * (20 + [dice 60]) / 100.0)}] }
        set remark ""
        if {[dice 7] == 0} {
            set remark [pick {"Pilot on board." "Fresh water ordered." "Two crew signed off." "Waiting for a spare part." "Night arrival, lights checked."}]
        }
        ::harbour::db::run {
            insert into visit (ship, berth, arrived, departed, origin, cargo, tonnes, remark)
            values (#ship, #berth, #arrived, :departed, :origin, :cargo, #tonnes, :remark)
        }
    }
    return [llength $events]
}

proc ::harbour::seed::overlaps {times from to} {
    foreach time $times {
        if {$from < [lindex $time 1] && $to > [lindex $time 0]} { return 1 }
    }
    return 0
}

# Last in this file: everything above and before it is known now.
::harbour::schema::prepare
