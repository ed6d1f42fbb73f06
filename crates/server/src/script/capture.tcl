# Describes what the start-up interpreter holds beyond a pristine one, as one list that blueprint.rs reads:
#   procs {name args body ...} variables {name scalar value | name array list ...} namespaces {name ...}
#   exports {ns patterns ...} paths {ns list ...} unknowns {ns script ...} imports {name origin ...}
#   ensembles {name options ...} aliases {name words ...} loaded {file prefix ...} packages {name version ...}
#   ifneeded {name version script ...} autopath list tmpath list objects script
# `known` is a dictionary whose keys are the commands of a pristine interpreter.
namespace eval ::navis {}

proc ::navis::capture {known} {
    foreach k {procs variables namespaces exports paths unknowns imports ensembles aliases loaded packages ifneeded} {
        set $k {}
    }
    set objects ""
    set nsf [expr {[llength [info commands ::nsf::object::exists]] > 0}]
    set todo [list ::]
    while {[llength $todo]} {
        set todo [lassign $todo ns]
        foreach child [namespace children $ns] {
            if {$child in {::navis ::oo ::zipfs}} continue
            if {$nsf && $child in {::nsf ::nx ::xotcl}} continue
            if {$nsf && [::nsf::object::exists $child]} continue
            lappend todo $child
        }
        set q [expr {$ns eq "::" ? "::" : "${ns}::"}]
        set escaped [string map {* \\* ? \\? [ \\[ ] \\] \\ \\\\} $q]
        set core [expr {$ns eq "::tcl" || [string match ::tcl::* $ns]}]
        if {$core && $ns ni {::tcl::mathfunc ::tcl::mathop}} continue
        if {$ns ne "::"} {
            lappend namespaces $ns
            if {!$core} {
                set e [namespace eval $ns {namespace export}]
                if {[llength $e]} {lappend exports $ns $e}
                set p [namespace eval $ns {namespace path}]
                if {[llength $p]} {lappend paths $ns $p}
                set u [namespace eval $ns {namespace unknown}]
                if {$u ni {{} ::unknown}} {lappend unknowns $ns $u}
            }
        } else {
            set u [namespace unknown]
            if {$u ni {{} ::unknown}} {lappend unknowns :: $u}
        }
        set isproc {}
        foreach p [info procs ${escaped}*] {dict set isproc $p 1}
        foreach c [info commands ${escaped}*] {
            if {[dict exists $known $c] && ![dict exists $isproc $c]} continue
            set origin [namespace origin $c]
            if {$origin ne $c} {
                if {![dict exists $known $c]} {lappend imports $c $origin}
                continue
            }
            if {[dict exists $isproc $c]} {
                if {[dict exists $known $c] && [dict get $known $c] eq [info body $c]} continue
                set args {}
                foreach a [info args $c] {
                    if {[info default $c $a d]} {lappend args [list $a $d]} else {lappend args [list $a]}
                }
                lappend procs $c $args [info body $c]
            } elseif {[namespace ensemble exists $c]} {
                set o [namespace ensemble configure $c]
                lappend ensembles $c $o
            }
        }
        if {$ns eq "::" || $core} continue
        foreach v [info vars ${escaped}*] {
            if {[array exists $v]} {
                lappend variables $v array [array get $v]
            } elseif {[info exists $v]} {
                lappend variables $v scalar [set $v]
            }
        }
    }
    foreach a [interp aliases {}] {
        if {![dict exists $known $a] && ![dict exists $known ::$a]} {
            catch {lappend aliases $a [interp alias {} $a]}
        }
    }
    foreach l [lreverse [info loaded {}]] {
        lassign $l file prefix
        lappend loaded $file $prefix
    }
    foreach p [package names] {
        if {![catch {package present $p} v] && $p ni {Tcl tcl TclOO tcl::oo zlib tcl::zlib}} {lappend packages $p $v}
        foreach v [package versions $p] {lappend ifneeded $p $v [package ifneeded $p $v]}
    }
    if {$nsf} {
        catch {
            package require nx::serializer
            set objects [::Serializer all]
        }
    }
    set result {}
    foreach k {procs variables namespaces exports paths unknowns imports ensembles aliases loaded packages ifneeded objects} {
        lappend result $k [set $k]
    }
    lappend result autopath $::auto_path tmpath [::tcl::tm::path list]
    return $result
}

# The commands of a pristine interpreter, with the bodies of its procedures.
proc ::navis::known {} {
    set known {}
    set todo ::
    while {[llength $todo]} {
        set todo [lassign $todo ns]
        lappend todo {*}[namespace children $ns]
        set q [expr {$ns eq "::" ? "::" : "${ns}::"}]
        foreach c [info commands ${q}*] {dict set known $c ""}
        foreach p [info procs ${q}*] {dict set known $p [info body $p]}
    }
    return $known
}
