# Describes what the start-up interpreter holds beyond a pristine one, as one list that blueprint.rs reads:
#   procs {name args body ...} variables {name scalar value | name array list ...} namespaces {name ...}
#   exports {ns patterns ...} paths {ns list ...} unknowns {ns script ...} imports {name origin ...}
#   ensembles {name options ...} aliases {name words ...} loaded {file prefix ...} packages {name version ...}
#   ifneeded {name version script ...} autopath list classes script objects script
# `known` is a dictionary whose keys are the commands of a pristine interpreter, with the bodies of its procedures and
# the options of its ensembles. Commands of Tcl that we have wrapped are called by their real names: the wrappers would
# tell of procedures that are not made yet.
namespace eval ::navis {}

# Namespaces of the language itself: of them only procedures and ensembles are taken, except of dates and of Tcl modules,
# which are made on first use.
proc ::navis::is_core {ns} {
    expr {$ns eq "::tcl" || [string match ::tcl::* $ns] || $ns eq "::oo" || [string match ::oo::* $ns]}
}

# A namespace whose content somebody else describes.
proc ::navis::is_foreign {ns nsf} {
    if {$ns in {::zipfs}} {return 1}
    if {[string match ::oo::Obj\[0-9\]* $ns]} {return 1}
    if {$nsf && ($ns in {::nsf ::nx ::xotcl ::xotcl2} || [::nsf::object::exists $ns])} {return 1}
    return 0
}

proc ::navis::quoted {ns} {
    set q [expr {$ns eq "::" ? "::" : "${ns}::"}]
    string map {* \\* ? \\? [ \\[ ] \\] \\ \\\\} $q
}

proc ::navis::capture {known} {
    foreach k {procs variables namespaces exports paths unknowns imports ensembles aliases loaded packages ifneeded} {
        set $k {}
    }
    set nsf [expr {[llength [::tcl::info::commands ::nsf::object::exists]] > 0}]
    set todo [list ::]
    while {[llength $todo]} {
        set todo [lassign $todo ns]
        foreach child [namespace children $ns] {
            if {![is_foreign $child $nsf]} {lappend todo $child}
        }
        set escaped [quoted $ns]
        set core [is_core $ns]
        if {$ns ne "::"} {
            lappend namespaces $ns
            if {!$core} {
                set e [namespace eval $ns {::namespace export}]
                if {[llength $e]} {lappend exports $ns $e}
                set p [namespace eval $ns {::namespace path}]
                if {[llength $p]} {lappend paths $ns $p}
                set u [namespace eval $ns {::namespace unknown}]
                if {$u ni {{} ::unknown}} {lappend unknowns $ns $u}
            }
        } else {
            set u [namespace unknown]
            if {$u ni {{} ::unknown}} {lappend unknowns :: $u}
        }
        set isproc {}
        foreach p [::tcl::info::procs ${escaped}*] {dict set isproc $p 1}
        foreach c [::tcl::info::commands ${escaped}*] {
            set origin [namespace origin $c]
            if {$origin ne $c} {
                if {![dict exists $known $c] && ![string match ::nsf::* $origin]} {lappend imports $c $origin}
            } elseif {[dict exists $isproc $c]} {
                if {[dict exists $known $c] && [dict get $known $c] eq [info body $c]} continue
                set args {}
                foreach a [info args $c] {
                    if {[info default $c $a d]} {lappend args [list $a $d]} else {lappend args [list $a]}
                }
                lappend procs $c $args [info body $c]
            } elseif {[namespace ensemble exists $c]} {
                if {$c in {::info ::namespace}} continue
                set o [namespace ensemble configure $c]
                if {[dict exists $known $c] && [dict get $known $c] eq $o} continue
                lappend ensembles $c $o
            }
        }
        if {$ns eq "::" || ($core && $ns ni {::tcl::clock ::tcl::tm})} continue
        foreach v [::tcl::info::vars ${escaped}*] {
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
        set present [expr {![catch {package present $p} v]}]
        if {$present && $p ni {Tcl tcl TclOO tcl::oo zlib tcl::zlib} && ![of_nsf $p]} {lappend packages $p $v}
        foreach v [package versions $p] {lappend ifneeded $p $v [package ifneeded $p $v]}
    }
    lassign [classes $known] classes objects
    if {$nsf} {append objects [nsf_objects]}
    set result {}
    foreach k {
        procs variables namespaces exports paths unknowns imports ensembles aliases loaded packages ifneeded
        classes objects
    } {
        lappend result $k [set $k]
    }
    lappend result autopath $::auto_path
    return $result
}

# The commands of a pristine interpreter: bodies of procedures, options of ensembles, nothing for others.
proc ::navis::known {} {
    set known {}
    set todo ::
    while {[llength $todo]} {
        set todo [lassign $todo ns]
        lappend todo {*}[namespace children $ns]
        set escaped [quoted $ns]
        foreach c [::tcl::info::commands ${escaped}*] {
            dict set known $c [expr {[namespace ensemble exists $c] ? [namespace ensemble configure $c] : ""}]
        }
        foreach p [::tcl::info::procs ${escaped}*] {dict set known $p [info body $p]}
    }
    set todo ::oo::object
    while {[llength $todo]} {
        set todo [lassign $todo class]
        lappend todo {*}[info class subclasses $class]
        dict set known $class [extensions $class]
    }
    return $known
}

# Classes and objects of TclOO: a script that makes the classes and one that makes the objects. They are made without
# their constructors, in their own namespaces, and then filled: what a constructor did has been done. Both scripts may
# be evaluated where some of it exists.
proc ::navis::classes {known} {
    set classes {}
    set objects {}
    set todo ::oo::object
    set seen {}
    while {[llength $todo]} {
        set todo [lassign $todo class]
        if {[dict exists $seen $class]} continue
        dict set seen $class 1
        lappend todo {*}[info class subclasses $class]
    }
    set all [dict keys $seen]
    foreach class $all {
        if {![dict exists $known $class]} {
            append classes [list ::navis::make ::oo::class $class [info object namespace $class]] \n
        }
    }
    foreach class $all {
        if {[dict exists $known $class]} continue
        append classes [list ::oo::define $class [class_parts $class]] \n
        append classes [object_parts $class ::oo::class]
    }
    # Classes of the language that a package has extended, last, since it may change how classes are made.
    foreach class $all {
        if {[dict exists $known $class] && [dict get $known $class] ne [extensions $class]} {
            append classes [extensions $class]
        }
    }
    foreach class $all {
        foreach object [info class instances $class] {
            if {[dict exists $known $object] || [info object isa class $object]} continue
            append objects [list ::navis::make ::oo::object $object [info object namespace $object]] \n
            append objects [object_parts $object ::oo::object]
        }
    }
    list $classes $objects
}

# What a class of the language has beyond its native methods.
proc ::navis::extensions {class} {
    return "[list ::oo::define $class [class_parts $class]]\n[object_parts $class ::oo::class]"
}

proc ::navis::class_parts {class} {
    set script {}
    set supers [info class superclasses $class]
    if {$supers ni {{} ::oo::object}} {append script [list superclass {*}$supers] \n}
    foreach {what word} {mixins mixin variables variable filters filter} {
        set list [info class $what $class]
        if {[llength $list]} {append script [list $word {*}$list] \n}
    }
    # Those of the language are native and have no text.
    if {[catch {info class constructor $class} constructor]} {set constructor {}}
    if {[catch {info class destructor $class} destructor]} {set destructor {}}
    if {[llength $constructor]} {append script [list constructor {*}$constructor] \n}
    if {$destructor ne ""} {append script [list destructor $destructor] \n}
    append script [methods class $class]
}

proc ::navis::object_parts {object default} {
    set script {}
    foreach {what word} {mixins mixin variables variable filters filter} {
        set list [info object $what $object]
        if {[llength $list]} {append script [list $word {*}$list] \n}
    }
    append script [methods object $object]
    set class [info object class $object]
    if {$class ne $default} {set script "[list class $class]\n$script"}
    if {$script ne ""} {set script "[list ::oo::objdefine $object $script]\n"}
    set ns [info object namespace $object]
    foreach v [::tcl::info::vars [quoted $ns]*] {
        set tail [namespace tail $v]
        if {[array exists $v]} {
            append script [list ::navis::fill $object $tail array [array get $v]] \n
        } elseif {[info exists $v]} {
            append script [list ::navis::fill $object $tail scalar [set $v]] \n
        }
    }
    return $script
}

# The methods of a class, or those that an object has for itself.
proc ::navis::methods {kind of} {
    set script {}
    set exported [info $kind methods $of]
    set hidden {}
    foreach m [info $kind methods $of -private] {
        if {$m ni $exported} {lappend hidden $m}
        if {[catch {info $kind methodtype $of $m} type]} continue
        if {$type eq "forward"} {
            append script [list forward $m {*}[info $kind forward $of $m]] \n
        } elseif {![catch {info $kind definition $of $m} definition]} {
            # Native methods have no definition.
            append script [list method $m {*}$definition] \n
        }
    }
    if {[llength $exported]} {append script [list export {*}$exported] \n}
    if {[llength $hidden]} {append script [list unexport {*}$hidden] \n}
    return $script
}

# Objects and classes of nsf, as its own serializer describes them.
proc ::navis::nsf_objects {} {
    if {[catch {
        package require nx::serializer
        set script [::Serializer all]
        # The serializer leaves out what packages of its own namespaces define: they are loaded again.
        foreach p [package names] {
            if {[of_nsf $p] && ![catch {package present $p}] && $p ni {nsf nx XOTcl nx::serializer xotcl::serializer}} {
                append script \n [list ::package require $p]
            }
        }
    } problem]} {
        puts stderr "blueprint: objects of nsf are not copied to new interpreters: $problem"
        return ""
    }
    return $script
}

proc ::navis::of_nsf {package} {
    expr {$package in {nsf nx XOTcl} || [string match nx::* $package] || [string match xotcl::* $package]}
}
